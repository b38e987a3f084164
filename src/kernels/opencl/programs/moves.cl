// Elements of 8, 4 and 1 bytes that move. Indices were checked on the host.
static size_t row_of(const Parameters* c, global const uchar* indices, size_t at, size_t count) {
  const long index = c->extra[0] == 8 ? ((global const long*)indices)[at] : ((global const int*)indices)[at];
  return index < 0 ? (size_t)(index + (long)count) : (size_t)index;
}

// Where X of slot `x` has the element that stands at e of the indices' shape, slot 1, along the axis.
static size_t source_of(const Parameters* c, global const uchar* indices, uint x, size_t e) {
  size_t rest = e, source = 0, step = 1;
  for (uint dim = c->rank[x]; dim-- > 0;) {
    const size_t own = rest % c->dims[1][dim], whole = c->dims[x][dim];
    source += (dim == c->ints[0] ? row_of(c, indices, e, whole) : own) * step;
    rest /= c->dims[1][dim];
    step *= whole;
  }
  return source;
}

// Offset of the element e of the slice in slot `part`, in the whole that slot `whole` is; -1 for a whole that the slice lacks.
static long slice_source(const Parameters* c, uint part, uint whole, size_t e) {
  long at = 0;
  for (uint dim = c->rank[part]; dim-- > 0; e /= c->dims[part][dim]) {
    const long here = (long)(e % c->dims[part][dim]) * c->ints[2 * dim + 1] + c->ints[2 * dim];
    at += here * (long)extent(c, whole, dim + 1, c->rank[whole]);
  }
  return at;
}
static long slice_target(const Parameters* c, uint part, uint whole, size_t e) {
  long at = 0, step = 1;
  for (uint dim = c->rank[whole]; dim-- > 0; e /= c->dims[whole][dim]) {
    const long away = (long)(e % c->dims[whole][dim]) - c->ints[2 * dim], stride = c->ints[2 * dim + 1];
    const long here = stride != 0 ? away / stride : 0;
    if (here < 0 || here >= (long)c->dims[part][dim] || here * stride != away) return -1;
    at += here * step;
    step *= c->dims[part][dim];
  }
  return at;
}

#define MOVES(type)                                                                                                  \
  kernel void op_assign_##type(ARGS) {                                                                               \
    ITEM;                                                                                                            \
    OUT_OF(type, 0)[e] = IN_OF(type, 1)[e];                                                                          \
  }                                                                                                                  \
  kernel void op_transpose_##type(ARGS) {                                                                            \
    ITEM;                                                                                                            \
    size_t rest = e, from = 0;                                                                                       \
    for (uint dim = c.rank[kInputs]; dim-- > 0; rest /= c.dims[kInputs][dim])                                        \
      from += rest % c.dims[kInputs][dim] * extent(&c, 0, (uint)c.ints[dim] + 1, c.rank[0]);                         \
    OUT_OF(type, 0)[e] = IN_OF(type, 0)[from];                                                                       \
  }                                                                                                                  \
  /* extra: what of a row of the whole stands before the part, a row of the part, a row of the whole */              \
  kernel void op_concat_##type(ARGS) {                                                                               \
    ITEM;                                                                                                            \
    OUT_OF(type, 0)[e / c.extra[1] * c.extra[2] + c.extra[0] + e % c.extra[1]] = IN_OF(type, 0)[e];                  \
  }                                                                                                                  \
  kernel void op_split_##type(ARGS) {                                                                                \
    ITEM;                                                                                                            \
    OUT_OF(type, 0)[e] = IN_OF(type, 0)[e / c.extra[1] * c.extra[2] + c.extra[0] + e % c.extra[1]];                  \
  }                                                                                                                  \
  kernel void op_slice_##type(ARGS) {                                                                                \
    ITEM;                                                                                                            \
    OUT_OF(type, 0)[e] = IN_OF(type, 0)[slice_source(&c, kInputs, 0, e)];                                            \
  }                                                                                                                  \
  kernel void op_slice_grad_##type(ARGS) {                                                                           \
    ITEM;                                                                                                            \
    const long from = slice_target(&c, 0, kInputs, e);                                                               \
    OUT_OF(type, 0)[e] = from < 0 ? 0 : IN_OF(type, 0)[from];                                                        \
  }                                                                                                                  \
  kernel void op_gather_##type(ARGS) {                                                                               \
    ITEM;                                                                                                            \
    const size_t inner = extent(&c, 0, (uint)c.ints[0] + 1, c.rank[0]), count = elements(&c, 1);                     \
    const size_t whole = c.dims[0][c.ints[0]], position = e / inner % count;                                         \
    const size_t row = e / inner / count * whole + row_of(&c, IN_OF(uchar, 1), position, whole);                     \
    OUT_OF(type, 0)[e] = IN_OF(type, 0)[row * inner + e % inner];                                                    \
  }                                                                                                                  \
  kernel void op_gather_elements_##type(ARGS) {                                                                      \
    ITEM;                                                                                                            \
    OUT_OF(type, 0)[e] = IN_OF(type, 0)[source_of(&c, IN_OF(uchar, 1), 0, e)];                                       \
  }
MOVES(ulong)
MOVES(uint)
MOVES(uchar)

kernel void op_gather_grad(ARGS) {
  ITEM;
  const size_t inner = extent(&c, kInputs, (uint)c.ints[0] + 1, c.rank[kInputs]), count = elements(&c, 1);
  const size_t whole = c.dims[kInputs][c.ints[0]], row = e / inner % whole, outer = e / inner / whole;
  float sum = 0;
  for (size_t at = 0; at < count; ++at)
    if (row_of(&c, IN_OF(uchar, 1), at, whole) == row) sum += IN(0)[(outer * count + at) * inner + e % inner];
  OUT(0)[e] = sum;
}
kernel void op_gather_elements_grad(ARGS) {
  ITEM;
  const size_t count = elements(&c, 1);
  float sum = 0;
  for (size_t at = 0; at < count; ++at)
    if (source_of(&c, IN_OF(uchar, 1), kInputs, at) == e) sum += IN(0)[at];
  OUT(0)[e] = sum;
}
