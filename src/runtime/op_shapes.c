#include "runtime/op_shapes.h"

#include "kernels/portable/layout.h"
#include "runtime/window_shapes.h"

typedef int (*shape_rule)(const pt_op_view* view); /* 1: obeyed */

typedef enum dtype_rule {
  SAME,       /* all operands have one dtype */
  REAL,       /* and it is a floating-point one */
  ANY,        /* every operand its own (cast) */
  REAL_LABEL, /* REAL but for input 1, which is i64, i32 or u8 */
  SAME_INDEX, /* SAME but for input 1, which is i64 or i32 */
  COMPARED,   /* inputs of one dtype, a bool output */
  CHOSEN,     /* SAME but for input 0, which is bool */
  POSITIONS,  /* an f32 input, an i64 output */
  REAL_BYTES, /* REAL but for input 1, which is u8 */
  BYTES_MADE  /* REAL but for the output, which is u8 */
} dtype_rule;

typedef struct op_rule {
  uint8_t op, min_inputs, max_inputs, min_outputs, max_outputs;
  int8_t ints, reals; /* counts; ints < 0: the shape rule checks the count */
  uint8_t dtypes;     /* dtype_rule */
  shape_rule shape;
} op_rule;

static const pt_tensor* in(const pt_op_view* view, unsigned input) {
  return &view->operands[input];
}
static const pt_tensor* out(const pt_op_view* view, unsigned output) {
  return &view->operands[view->input_count + output];
}

static int same_dims(const pt_tensor* a, const pt_tensor* b) {
  unsigned d;
  if (a->rank != b->rank) return 0;
  for (d = 0; d < a->rank; ++d)
    if (a->dims[d] != b->dims[d]) return 0;
  return 1;
}

static int is_vector(const pt_tensor* t, uint32_t length) {
  return t->rank == 1 && t->dims[0] == length;
}

/* The dim that lines up with dim d of a tensor of `rank`, as numpy pads with 1s on the left. */
static uint32_t padded_dim(const pt_tensor* t, unsigned d, unsigned rank) {
  return d + t->rank < rank ? 1 : t->dims[d + t->rank - rank];
}

static int broadcasts_to(const pt_tensor* from, const pt_tensor* to) {
  unsigned d;
  if (from->rank > to->rank) return 0;
  for (d = 0; d < to->rank; ++d) {
    const uint32_t extent = padded_dim(from, d, to->rank);
    if (extent != 1 && extent != to->dims[d]) return 0;
  }
  return 1;
}

/* The first `dims` dims of y are those of a and b broadcast together; a and b leave out their own last two. */
static int broadcast_dims(const pt_tensor* a, const pt_tensor* b, const pt_tensor* y, unsigned dims) {
  unsigned d;
  if (a->rank > y->rank || b->rank > y->rank) return 0;
  for (d = 0; d < dims; ++d) {
    const uint32_t of_a = padded_dim(a, d, y->rank), of_b = padded_dim(b, d, y->rank);
    if (of_a != of_b && of_a != 1 && of_b != 1) return 0;
    if (y->dims[d] != (of_a > of_b ? of_a : of_b)) return 0;
  }
  return 1;
}

static uint64_t product(const pt_tensor* t, unsigned begin, unsigned end) {
  uint64_t count = 1; /* no overflow: the product over all dims fits (pt_decode_op) */
  unsigned d;
  for (d = begin; d < end; ++d) count *= t->dims[d];
  return count;
}

/* ---- element by element ---- */

static int all_same(const pt_op_view* view) {
  unsigned operand;
  for (operand = 1; operand < (unsigned)view->input_count + view->output_count; ++operand)
    if (!same_dims(in(view, 0), in(view, operand))) return 0;
  return 1;
}

static int binary(const pt_op_view* view) {
  return broadcast_dims(in(view, 0), in(view, 1), out(view, 0), out(view, 0)->rank);
}

static int pow_grad(const pt_op_view* view) {
  return same_dims(in(view, 0), out(view, 0)) && broadcasts_to(in(view, 1), out(view, 0)) &&
         broadcasts_to(in(view, 2), out(view, 0));
}

static int flagged_same(const pt_op_view* view) { /* one int, 0 or 1: gelu's approximation, sgd's nesterov */
  return all_same(view) && view->ints[0] >= 0 && view->ints[0] <= 1;
}

static int compare(const pt_op_view* view) {
  return binary(view) && view->ints[0] >= 0 && view->ints[0] < PT_COMPARE_COUNT;
}

/* The output's extent is, in each dimension, the largest of the inputs'. */
static int where(const pt_op_view* view) {
  const pt_tensor* y = out(view, 0);
  unsigned input, d;
  for (input = 0; input < 3; ++input)
    if (!broadcasts_to(in(view, input), y)) return 0;
  for (d = 0; d < y->rank; ++d) {
    uint32_t most = 1;
    for (input = 0; input < 3; ++input) {
      const uint32_t extent = padded_dim(in(view, input), d, y->rank);
      if (extent > most) most = extent;
    }
    if (most != y->dims[d]) return 0;
  }
  return 1;
}

static int rounds(const pt_op_view* view) {
  return all_same(view) && view->ints[0] >= 0 && view->ints[0] <= 2;
}

static int sgd(const pt_op_view* view) {
  return flagged_same(view) && view->input_count == view->output_count + 1;
}

static int rmsprop(const pt_op_view* view) {
  return sgd(view) && view->input_count >= 3 + view->ints[0] && view->input_count <= 4 + view->ints[0];
}

static int is_axis(const pt_op_view* view, unsigned rank) {
  return view->ints[0] >= 0 && view->ints[0] < (int64_t)rank;
}

static int axis_same(const pt_op_view* view) {
  return all_same(view) && is_axis(view, in(view, 0)->rank);
}

static int dropout(const pt_op_view* view) {
  return all_same(view) && view->reals[0] >= 0 && view->reals[0] < 1; /* false for a NaN */
}

/* ---- products ---- */

static int matmul(const pt_op_view* view) {
  const pt_tensor *a = in(view, 0), *b = in(view, 1), *y = out(view, 0);
  const int64_t trans_a = view->ints[0], trans_b = view->ints[1];
  unsigned ma, ka, kb, nb;
  if (trans_a < 0 || trans_a > 1 || trans_b < 0 || trans_b > 1) return 0;
  if (a->rank < 2 || b->rank < 2 || y->rank != (a->rank > b->rank ? a->rank : b->rank)) return 0;
  ma = a->rank - (trans_a != 0 ? 1u : 2u);
  ka = a->rank - (trans_a != 0 ? 2u : 1u);
  kb = b->rank - (trans_b != 0 ? 1u : 2u);
  nb = b->rank - (trans_b != 0 ? 2u : 1u);
  if (a->dims[ka] != b->dims[kb]) return 0;
  if (y->dims[y->rank - 2u] != a->dims[ma] || y->dims[y->rank - 1u] != b->dims[nb]) return 0;
  if (view->input_count == 3 && !is_vector(in(view, 2), b->dims[nb])) return 0;
  return broadcast_dims(a, b, y, y->rank - 2u);
}

static int conv2d(const pt_op_view* view) {
  if (view->input_count == 3 && !is_vector(in(view, 2), in(view, 1)->dims[0])) return 0;
  return pt_conv_fits(in(view, 0), in(view, 1), out(view, 0), view->ints);
}
static int conv2d_dx(const pt_op_view* view) {
  return pt_conv_fits(out(view, 0), in(view, 1), in(view, 0), view->ints);
}
static int conv2d_dz(const pt_op_view* view) {
  const int64_t gradient = view->ints[PT_CONV_DZ_GRADIENT];
  return gradient >= PT_FIRST_GRADIENT && gradient <= PT_LAST_GRADIENT && conv2d_dx(view) &&
         same_dims(in(view, 2), out(view, 0));
}
static int conv2d_dw(const pt_op_view* view) {
  return pt_conv_fits(in(view, 0), out(view, 0), in(view, 1), view->ints);
}

/* ---- pooling ---- */

static int pool(const pt_op_view* view) {
  return pt_pool_fits(in(view, 0), out(view, 0), view->ints);
}
static int max_pool_grad(const pt_op_view* view) {
  return same_dims(in(view, 1), out(view, 0)) && pt_pool_fits(in(view, 1), in(view, 0), view->ints);
}
static int avg_pool_grad(const pt_op_view* view) {
  return pt_pool_fits(out(view, 0), in(view, 0), view->ints);
}

/* ---- normalizations ---- */

/* Operands [begin, end), inputs first, are vectors of `length`. */
static int all_vectors(const pt_op_view* view, unsigned begin, unsigned end, uint32_t length) {
  unsigned operand;
  for (operand = begin; operand < end; ++operand)
    if (!is_vector(in(view, operand), length)) return 0;
  return 1;
}

static int batch_norm(const pt_op_view* view) {
  const pt_tensor* x = in(view, 0);
  return x->rank >= 2 && same_dims(x, out(view, 0)) && all_vectors(view, 1, 3, x->dims[1]) &&
         all_vectors(view, 4, 6, x->dims[1]);
}

static int batch_norm_grad(const pt_op_view* view) {
  const pt_tensor* x = in(view, 1);
  return x->rank >= 2 && same_dims(x, in(view, 0)) && same_dims(x, out(view, 0)) &&
         all_vectors(view, 2, 5, x->dims[1]) && all_vectors(view, 6, 8, x->dims[1]);
}

static int batch_norm_stats(const pt_op_view* view) {
  return in(view, 0)->rank == 1 && all_vectors(view, 0, 6, in(view, 0)->dims[0]);
}

static int batch_norm_eval(const pt_op_view* view) {
  const pt_tensor* x = in(view, 0);
  return x->rank >= 2 && same_dims(x, out(view, 0)) && all_vectors(view, 1, 5, x->dims[1]);
}

/* Operands [begin, end) have `count` elements. */
static int all_count(const pt_op_view* view, unsigned begin, unsigned end, uint64_t count) {
  unsigned operand;
  for (operand = begin; operand < end; ++operand)
    if (pt_type_elements(in(view, operand)) != count) return 0;
  return 1;
}

static int layer_norm(const pt_op_view* view) {
  const pt_tensor* x = in(view, 0);
  if (!is_axis(view, x->rank) || !same_dims(x, out(view, 0))) return 0;
  return all_count(view, 1, 3, product(x, (unsigned)view->ints[0], x->rank)) &&
         all_count(view, 4, 6, product(x, 0, (unsigned)view->ints[0]));
}

static int layer_norm_grad(const pt_op_view* view) {
  const pt_tensor* x = in(view, 1);
  uint64_t width, rows;
  if (!is_axis(view, x->rank) || !same_dims(x, in(view, 0)) || !same_dims(x, out(view, 0))) return 0;
  width = product(x, (unsigned)view->ints[0], x->rank);
  rows = product(x, 0, (unsigned)view->ints[0]);
  return all_count(view, 2, 3, width) && all_count(view, 3, 5, rows) && all_count(view, 6, 8, width);
}

/* ---- reductions and data movement ---- */

/* Operands of the reduction at `x` and `y`. */
static int reduces(const pt_op_view* view, const pt_tensor* x, const pt_tensor* y) {
  unsigned d, kept = 0;
  if (view->ints[0] < 0 || view->ints[0] >> x->rank != 0) return 0;
  for (d = 0; d < x->rank; ++d) {
    if ((view->ints[0] >> d & 1) != 0) continue;
    if (kept >= y->rank || y->dims[kept] != x->dims[d]) return 0;
    ++kept;
  }
  return kept == y->rank;
}

static int reduce(const pt_op_view* view) {
  return reduces(view, in(view, 0), out(view, 0));
}
static int reduce_max_grad(const pt_op_view* view) {
  return same_dims(in(view, 1), out(view, 0)) && same_dims(in(view, 0), in(view, 2)) &&
         reduces(view, in(view, 1), in(view, 0));
}

static int arg_max(const pt_op_view* view) {
  const pt_tensor *x = in(view, 0), *y = out(view, 0);
  unsigned d;
  if (!is_axis(view, x->rank) || y->rank + 1 != x->rank) return 0;
  for (d = 0; d < y->rank; ++d)
    if (y->dims[d] != x->dims[(int64_t)d < view->ints[0] ? d : d + 1]) return 0;
  return 1;
}

static int cumsum(const pt_op_view* view) {
  return axis_same(view) && view->ints[1] >= 0 && view->ints[1] <= 1 && view->ints[2] >= 0 && view->ints[2] <= 1;
}

static int expand(const pt_op_view* view) {
  return broadcasts_to(in(view, 0), out(view, 0));
}

static int transpose(const pt_op_view* view) {
  const pt_tensor *x = in(view, 0), *y = out(view, 0);
  unsigned d, seen = 0;
  if (view->int_count != x->rank || y->rank != x->rank) return 0;
  for (d = 0; d < x->rank; ++d) {
    const int64_t from = view->ints[d];
    if (from < 0 || from >= x->rank || (seen >> from & 1) != 0 || y->dims[d] != x->dims[from]) return 0;
    seen |= 1u << from;
  }
  return 1;
}

/* `parts` laid end to end along the axis make `whole`. */
static int joins(const pt_op_view* view, const pt_tensor* parts, unsigned count, const pt_tensor* whole) {
  uint64_t extent = 0;
  unsigned part, d;
  if (!is_axis(view, whole->rank)) return 0;
  for (part = 0; part < count; ++part) {
    if (parts[part].rank != whole->rank) return 0;
    for (d = 0; d < whole->rank; ++d)
      if ((int64_t)d != view->ints[0] && parts[part].dims[d] != whole->dims[d]) return 0;
    extent += parts[part].dims[view->ints[0]];
  }
  return extent == whole->dims[view->ints[0]];
}

static int concat(const pt_op_view* view) {
  return joins(view, in(view, 0), view->input_count, out(view, 0));
}
static int split(const pt_op_view* view) {
  return joins(view, out(view, 0), view->output_count, in(view, 0));
}

/* `part` is every step-th element of `whole` from start, in each dimension. */
static int slices(const pt_op_view* view, const pt_tensor* whole, const pt_tensor* part) {
  unsigned d;
  if (part->rank != whole->rank || view->int_count != 2u * whole->rank) return 0;
  for (d = 0; d < whole->rank; ++d) {
    const int64_t start = view->ints[2 * d], step = view->ints[2 * d + 1], extent = whole->dims[d];
    int64_t last;
    if (start < 0 || start >= extent || step == 0 || step < -INT32_MAX || step > INT32_MAX) return 0;
    last = start + step * ((int64_t)part->dims[d] - 1);
    if (last < 0 || last >= extent) return 0;
  }
  return 1;
}

static int slice(const pt_op_view* view) {
  return slices(view, in(view, 0), out(view, 0));
}
static int slice_grad(const pt_op_view* view) {
  return slices(view, out(view, 0), in(view, 0));
}

/* rows = table with its axis replaced by the dims of index. */
static int gathers(const pt_op_view* view, const pt_tensor* table, const pt_tensor* index, const pt_tensor* rows) {
  unsigned d, axis;
  if (!is_axis(view, table->rank) || rows->rank + 1u != (unsigned)table->rank + index->rank) return 0;
  axis = (unsigned)view->ints[0];
  for (d = 0; d < rows->rank; ++d) {
    const uint32_t extent = d < axis                 ? table->dims[d]
                            : d < axis + index->rank ? index->dims[d - axis]
                                                     : table->dims[d + 1 - index->rank];
    if (rows->dims[d] != extent) return 0;
  }
  return 1;
}

static int gather(const pt_op_view* view) {
  return gathers(view, in(view, 0), in(view, 1), out(view, 0));
}
static int gather_grad(const pt_op_view* view) {
  return gathers(view, out(view, 0), in(view, 1), in(view, 0));
}

static int sgd_rows(const pt_op_view* view) {
  const pt_tensor *w = in(view, 0), *indices = in(view, 1), *dy = in(view, 2);
  unsigned d;
  if (!same_dims(w, out(view, 0)) || w->rank < 1 || dy->rank + 1u != (unsigned)w->rank + indices->rank) return 0;
  for (d = 0; d < dy->rank; ++d)
    if (dy->dims[d] != (d < indices->rank ? indices->dims[d] : w->dims[d + 1 - indices->rank])) return 0;
  return 1;
}

/* `indices`, of the rank of `x`, stay within its extents but along the axis. */
static int picks(const pt_op_view* view, const pt_tensor* x, const pt_tensor* y) {
  const pt_tensor* indices = in(view, 1);
  unsigned d;
  if (!is_axis(view, x->rank) || indices->rank != x->rank || !same_dims(indices, y)) return 0;
  for (d = 0; d < x->rank; ++d)
    if ((int64_t)d != view->ints[0] && indices->dims[d] > x->dims[d]) return 0;
  return 1;
}

static int gather_elements(const pt_op_view* view) {
  return picks(view, in(view, 0), out(view, 0));
}
static int gather_elements_grad(const pt_op_view* view) {
  return picks(view, out(view, 0), in(view, 0));
}

static int resizes(const pt_op_view* view, const pt_tensor* x, const pt_tensor* y) {
  unsigned scale;
  if (x->rank != 4 || y->rank != 4 || x->dims[0] != y->dims[0] || x->dims[1] != y->dims[1]) return 0;
  if (view->ints[PT_RESIZE_LINEAR] < 0 || view->ints[PT_RESIZE_LINEAR] > 1) return 0;
  if (view->ints[PT_RESIZE_COORDINATES] < 0 || view->ints[PT_RESIZE_COORDINATES] >= PT_RESIZE_COORDINATE_COUNT)
    return 0;
  if (view->ints[PT_RESIZE_ROUNDING] < 0 || view->ints[PT_RESIZE_ROUNDING] >= PT_RESIZE_ROUNDING_COUNT) return 0;
  for (scale = 0; scale < 2; ++scale)
    if (!(view->reals[scale] > 1e-9 && view->reals[scale] < 1e9)) return 0; /* false for a NaN */
  return 1;
}

static int resize(const pt_op_view* view) {
  return resizes(view, in(view, 0), out(view, 0));
}
static int resize_grad(const pt_op_view* view) {
  return resizes(view, out(view, 0), in(view, 0));
}

/* ---- losses ---- */

/* labels [N,..] for logits [N,C,..] */
static int labels_fit(const pt_op_view* view) {
  const pt_tensor *logits = in(view, 0), *labels = in(view, 1);
  unsigned d;
  if (logits->rank < 2 || labels->rank + 1 != logits->rank || labels->dims[0] != logits->dims[0]) return 0;
  for (d = 1; d < labels->rank; ++d)
    if (labels->dims[d] != logits->dims[d + 1]) return 0;
  return 1;
}

static int class_loss(const pt_op_view* view) {
  return labels_fit(view) && pt_type_elements(out(view, 0)) == 1;
}
static int class_loss_grad(const pt_op_view* view) {
  return labels_fit(view) && same_dims(in(view, 0), out(view, 0));
}
static int count_correct(const pt_op_view* view) {
  return labels_fit(view) && pt_type_elements(out(view, 0)) == 2 && view->ints[1] >= 1;
}
static int element_loss(const pt_op_view* view) {
  return same_dims(in(view, 0), in(view, 1)) && pt_type_elements(out(view, 0)) == 1;
}
static int soft_loss(const pt_op_view* view) {
  return element_loss(view) && in(view, 0)->rank >= 2;
}
static int soft_loss_grad(const pt_op_view* view) {
  return all_same(view) && in(view, 0)->rank >= 2;
}

/* ---- gradients ---- */

static int scalar_result(const pt_op_view* view) {
  return pt_type_elements(out(view, 0)) == 1;
}
static int clip_norm(const pt_op_view* view) {
  return same_dims(in(view, 0), out(view, 0)) && pt_type_elements(in(view, 1)) == 1;
}

/* ---- small saves ---- */

/* `bits` has a bit for every element of x. */
static int bits_of(const pt_tensor* x, const pt_tensor* bits) {
  return bits->rank == 1 && bits->dims[0] == (pt_type_elements(x) + 7) / 8;
}
static int sign_bits(const pt_op_view* view) {
  return bits_of(in(view, 0), out(view, 0));
}
static int grad_bits(const pt_op_view* view) {
  return bits_of(in(view, 0), in(view, 1)) && same_dims(in(view, 0), out(view, 0));
}

/* Of an image [N, C, H, W], or [N, C, H, W, c]; a tap is told by a byte. */
static int taps_fit(const pt_op_view* view, const pt_tensor* image, const pt_tensor* pooled) {
  pt_tensor x = *image, y = *pooled;
  const int64_t height = view->ints[PT_POOL_KERNEL_H], width = view->ints[PT_POOL_KERNEL_W];
  if (height < 1 || height > 255 || width < 1 || width > 255 || height * width > 255) return 0;
  if (x.rank == 5) {
    if (y.rank != 5 || x.dims[4] != y.dims[4]) return 0;
    x.rank = y.rank = 4;
  }
  return pt_pool_fits(&x, &y, view->ints);
}
static int max_pool_taps(const pt_op_view* view) {
  return taps_fit(view, in(view, 0), out(view, 0));
}
static int max_pool_grad_taps(const pt_op_view* view) {
  return same_dims(in(view, 0), in(view, 1)) && taps_fit(view, out(view, 0), in(view, 0));
}

/* ---- recurrent cells ---- */

/* Operands [begin, end), inputs first, are [N, gates H] where `state` is [N, H]. */
static int all_gates(const pt_op_view* view, const pt_tensor* state, uint32_t gates, unsigned begin, unsigned end) {
  unsigned operand;
  if (state->rank != 2) return 0;
  for (operand = begin; operand < end; ++operand) {
    const pt_tensor* t = in(view, operand);
    if (t->rank != 2 || t->dims[0] != state->dims[0] || t->dims[1] != (uint64_t)gates * state->dims[1]) return 0;
  }
  return 1;
}

static int lstm_cell(const pt_op_view* view) {
  const pt_tensor* c = in(view, 2);
  return all_gates(view, c, 4, 0, 2) && all_gates(view, c, 1, 3, 5) && all_gates(view, c, 4, 5, 6);
}
static int lstm_cell_grad(const pt_op_view* view) {
  const unsigned inputs = view->input_count;
  const pt_tensor* dh = in(view, 0);
  return all_gates(view, dh, 4, 1, 2) && all_gates(view, dh, 1, 2, inputs) &&
         all_gates(view, dh, 4, inputs, inputs + 1) && all_gates(view, dh, 1, inputs + 1, inputs + 2);
}
static int gru_cell(const pt_op_view* view) {
  const pt_tensor* h = in(view, 2);
  return all_gates(view, h, 3, 0, 2) && all_gates(view, h, 1, 3, 4) && all_gates(view, h, 3, 4, 5) &&
         all_gates(view, h, 1, 5, 6);
}
static int gru_cell_grad(const pt_op_view* view) {
  const pt_tensor* dh = in(view, 0);
  return all_gates(view, dh, 3, 1, 2) && all_gates(view, dh, 1, 2, 4) && all_gates(view, dh, 3, 4, 6) &&
         all_gates(view, dh, 1, 6, 7);
}

/* ---- blocks of channels ---- */

static int reorder(const pt_op_view* view) {
  pt_arranged arranged[2];
  return pt_arrange(view->op, view->operands, 1, 1, view->ints, arranged);
}

static int nchwc(const pt_op_view* view);

static const op_rule rules[] = {
    /* op, inputs (least, most), outputs (least, most), ints, reals, dtypes, shapes */
    {PT_OP_matmul, 2, 3, 1, 1, 2, 0, REAL, matmul},
    {PT_OP_conv2d, 2, 3, 1, 1, PT_CONV_ATTRS, 0, REAL, conv2d},
    {PT_OP_conv2d_dx, 2, 2, 1, 1, PT_CONV_ATTRS, 0, REAL, conv2d_dx},
    {PT_OP_conv2d_dw, 2, 2, 1, 1, PT_CONV_ATTRS, 0, REAL, conv2d_dw},
    {PT_OP_conv2d_dz, 3, 3, 1, 1, PT_CONV_DZ_ATTRS, 3, REAL, conv2d_dz},
    {PT_OP_add, 2, 2, 1, 1, 0, 0, SAME, binary},
    {PT_OP_sub, 2, 2, 1, 1, 0, 0, SAME, binary},
    {PT_OP_mul, 2, 2, 1, 1, 0, 0, SAME, binary},
    {PT_OP_div, 2, 2, 1, 1, 0, 0, SAME, binary},
    {PT_OP_pow, 2, 2, 1, 1, 0, 0, SAME, binary},
    {PT_OP_pow_grad, 3, 3, 1, 1, 0, 0, REAL, pow_grad},
    {PT_OP_relu, 1, 1, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_leaky_relu, 1, 1, 1, 1, 0, 1, REAL, all_same},
    {PT_OP_sigmoid, 1, 1, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_tanh, 1, 1, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_gelu, 1, 1, 1, 1, 1, 0, REAL, flagged_same},
    {PT_OP_erf, 1, 1, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_sqrt, 1, 1, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_exp, 1, 1, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_log, 1, 1, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_neg, 1, 1, 1, 1, 0, 0, SAME, all_same},
    {PT_OP_scale, 1, 1, 1, 1, 0, 2, REAL, all_same},
    {PT_OP_cast, 1, 1, 1, 1, 0, 0, ANY, all_same},
    {PT_OP_relu_grad, 2, 2, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_leaky_relu_grad, 2, 2, 1, 1, 0, 1, REAL, all_same},
    {PT_OP_sigmoid_grad, 2, 2, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_tanh_grad, 2, 2, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_gelu_grad, 2, 2, 1, 1, 1, 0, REAL, flagged_same},
    {PT_OP_erf_grad, 2, 2, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_sqrt_grad, 2, 2, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_softmax, 1, 1, 1, 1, 1, 0, REAL, axis_same},
    {PT_OP_softmax_grad, 2, 2, 1, 1, 1, 0, REAL, axis_same},
    {PT_OP_log_softmax, 1, 1, 1, 1, 1, 0, REAL, axis_same},
    {PT_OP_log_softmax_grad, 2, 2, 1, 1, 1, 0, REAL, axis_same},
    {PT_OP_batch_norm, 3, 3, 3, 3, 0, 1, REAL, batch_norm},
    {PT_OP_batch_norm_grad, 5, 5, 3, 3, 0, 1, REAL, batch_norm_grad},
    {PT_OP_batch_norm_stats, 4, 4, 2, 2, 1, 1, REAL, batch_norm_stats},
    {PT_OP_batch_norm_eval, 5, 5, 1, 1, 0, 1, REAL, batch_norm_eval},
    {PT_OP_layer_norm, 3, 3, 3, 3, 1, 1, REAL, layer_norm},
    {PT_OP_layer_norm_grad, 5, 5, 3, 3, 1, 0, REAL, layer_norm_grad},
    {PT_OP_max_pool, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, pool},
    {PT_OP_max_pool_grad, 2, 2, 1, 1, PT_POOL_ATTRS, 0, REAL, max_pool_grad},
    {PT_OP_avg_pool, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, pool},
    {PT_OP_avg_pool_grad, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, avg_pool_grad},
    {PT_OP_reduce_sum, 1, 1, 1, 1, 1, 0, REAL, reduce},
    {PT_OP_reduce_mean, 1, 1, 1, 1, 1, 0, REAL, reduce},
    {PT_OP_expand, 1, 1, 1, 1, 0, 1, SAME, expand},
    {PT_OP_reduce_max, 1, 1, 1, 1, 1, 0, REAL, reduce},
    {PT_OP_reduce_max_grad, 3, 3, 1, 1, 1, 0, REAL, reduce_max_grad},
    {PT_OP_arg_max, 1, 1, 1, 1, 1, 0, POSITIONS, arg_max},
    {PT_OP_cumsum, 1, 1, 1, 1, 3, 0, REAL, cumsum},
    {PT_OP_resize, 1, 1, 1, 1, PT_RESIZE_ATTRS, 2, REAL, resize},
    {PT_OP_resize_grad, 1, 1, 1, 1, PT_RESIZE_ATTRS, 2, REAL, resize_grad},
    {PT_OP_gather_elements, 2, 2, 1, 1, 1, 0, SAME_INDEX, gather_elements},
    {PT_OP_gather_elements_grad, 2, 2, 1, 1, 1, 0, SAME_INDEX, gather_elements_grad},
    {PT_OP_compare, 2, 2, 1, 1, 1, 0, COMPARED, compare},
    {PT_OP_where, 3, 3, 1, 1, 0, 0, CHOSEN, where},
    {PT_OP_maximum, 2, 2, 1, 1, 0, 0, REAL, binary},
    {PT_OP_minimum, 2, 2, 1, 1, 0, 0, REAL, binary},
    {PT_OP_maximum_grad, 3, 3, 1, 1, 0, 0, REAL, pow_grad},
    {PT_OP_abs, 1, 1, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_sign, 1, 1, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_round, 1, 1, 1, 1, 1, 0, REAL, rounds},
    {PT_OP_sin, 1, 1, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_cos, 1, 1, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_elu, 1, 1, 1, 1, 0, 3, REAL, all_same},
    {PT_OP_elu_grad, 2, 2, 1, 1, 0, 3, REAL, all_same},
    {PT_OP_softplus, 1, 1, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_softplus_grad, 2, 2, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_clip, 1, 1, 1, 1, 0, 2, REAL, all_same},
    {PT_OP_clip_grad, 2, 2, 1, 1, 0, 2, REAL, all_same},
    {PT_OP_transpose, 1, 1, 1, 1, -1, 0, SAME, transpose},
    {PT_OP_concat, 1, PT_MAX_OPERANDS - 1, 1, 1, 1, 0, SAME, concat},
    {PT_OP_split, 1, 1, 1, PT_MAX_OPERANDS - 1, 1, 0, SAME, split},
    {PT_OP_slice, 1, 1, 1, 1, -1, 0, SAME, slice},
    {PT_OP_slice_grad, 1, 1, 1, 1, -1, 0, SAME, slice_grad},
    {PT_OP_gather, 2, 2, 1, 1, 1, 0, SAME_INDEX, gather},
    {PT_OP_gather_grad, 2, 2, 1, 1, 1, 0, SAME_INDEX, gather_grad},
    {PT_OP_dropout, 1, 1, 1, 1, 1, 1, REAL, dropout},
    {PT_OP_nll, 2, 2, 1, 1, 1, 0, REAL_LABEL, class_loss},
    {PT_OP_nll_grad, 2, 2, 1, 1, 1, 0, REAL_LABEL, class_loss_grad},
    {PT_OP_cross_entropy, 2, 2, 1, 1, 1, 1, REAL_LABEL, class_loss},
    {PT_OP_cross_entropy_grad, 2, 2, 1, 1, 1, 1, REAL_LABEL, class_loss_grad},
    {PT_OP_soft_cross_entropy, 2, 2, 1, 1, 0, 1, REAL, soft_loss},
    {PT_OP_soft_cross_entropy_grad, 2, 2, 1, 1, 0, 1, REAL, soft_loss_grad},
    {PT_OP_mse, 2, 2, 1, 1, 0, 0, REAL, element_loss},
    {PT_OP_mse_grad, 2, 2, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_l1, 2, 2, 1, 1, 0, 0, REAL, element_loss},
    {PT_OP_l1_grad, 2, 2, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_smooth_l1, 2, 2, 1, 1, 0, 1, REAL, element_loss},
    {PT_OP_smooth_l1_grad, 2, 2, 1, 1, 0, 1, REAL, all_same},
    {PT_OP_bce_with_logits, 2, 2, 1, 1, 0, 0, REAL, element_loss},
    {PT_OP_bce_with_logits_grad, 2, 2, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_kl_div, 2, 2, 1, 1, 0, 1, REAL, element_loss},
    {PT_OP_kl_div_grad, 2, 2, 1, 1, 0, 1, REAL, all_same},
    {PT_OP_count_correct, 2, 2, 1, 1, 2, 0, REAL_LABEL, count_correct},
    {PT_OP_lstm_cell, 3, 3, 3, 3, 0, 0, REAL, lstm_cell},
    {PT_OP_lstm_cell_grad, 4, 5, 2, 2, 0, 0, REAL, lstm_cell_grad},
    {PT_OP_gru_cell, 3, 3, 3, 3, 0, 0, REAL, gru_cell},
    {PT_OP_gru_cell_grad, 4, 4, 3, 3, 0, 0, REAL, gru_cell_grad},
    {PT_OP_sign_bits, 1, 1, 1, 1, 0, 0, BYTES_MADE, sign_bits},
    {PT_OP_relu_grad_bits, 2, 2, 1, 1, 0, 0, REAL_BYTES, grad_bits},
    {PT_OP_leaky_relu_grad_bits, 2, 2, 1, 1, 0, 1, REAL_BYTES, grad_bits},
    {PT_OP_max_pool_taps, 1, 1, 1, 1, PT_POOL_ATTRS, 0, BYTES_MADE, max_pool_taps},
    {PT_OP_max_pool_grad_taps, 2, 2, 1, 1, PT_POOL_ATTRS, 0, REAL_BYTES, max_pool_grad_taps},
    {PT_OP_sgd, 2, 3, 1, 2, 1, 2, REAL, sgd},
    {PT_OP_adam, 4, 4, 3, 3, 0, 4, REAL, all_same},
    {PT_OP_adamw, 4, 4, 3, 3, 0, 4, REAL, all_same},
    {PT_OP_clip_value, 1, 1, 1, 1, 0, 1, REAL, all_same},
    {PT_OP_norm, 1, PT_MAX_OPERANDS - 1, 1, 1, 0, 0, REAL, scalar_result},
    {PT_OP_clip_norm, 2, 2, 1, 1, 0, 1, REAL, clip_norm},
    {PT_OP_accumulate, 2, 2, 1, 1, 0, 0, REAL, all_same},
    {PT_OP_accumulated, 2, 2, 2, 2, 0, 1, REAL, all_same},
    {PT_OP_rmsprop, 3, 5, 2, 4, 1, 4, REAL, rmsprop},
    {PT_OP_adagrad, 3, 3, 2, 2, 0, 3, REAL, all_same},
    {PT_OP_reorder, 1, 1, 1, 1, 2, 0, REAL, reorder},
    {PT_OP_conv2d_nchwc, 2, 3, 1, 1, PT_CONV_NCHWC_ATTRS, 0, REAL, nchwc},
    {PT_OP_conv2d_dx_nchwc, 2, 2, 1, 1, PT_CONV_NCHWC_ATTRS, 0, REAL, nchwc},
    {PT_OP_conv2d_dw_nchwc, 2, 2, 1, 1, PT_CONV_NCHWC_ATTRS, 0, REAL, nchwc},
    {PT_OP_batch_norm_nchwc, 3, 3, 3, 3, 0, 1, REAL, nchwc},
    {PT_OP_batch_norm_grad_nchwc, 5, 5, 3, 3, 0, 1, REAL, nchwc},
    {PT_OP_batch_norm_eval_nchwc, 5, 5, 1, 1, 0, 1, REAL, nchwc},
    {PT_OP_max_pool_nchwc, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, nchwc},
    {PT_OP_max_pool_grad_nchwc, 2, 2, 1, 1, PT_POOL_ATTRS, 0, REAL, nchwc},
    {PT_OP_avg_pool_nchwc, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, nchwc},
    {PT_OP_avg_pool_grad_nchwc, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, nchwc},
    {PT_OP_sgd_rows, 3, 3, 1, 1, 0, 0, SAME_INDEX, sgd_rows},
};

static const op_rule* find_rule(uint16_t op) {
  unsigned rule;
  for (rule = 0; rule < sizeof rules / sizeof rules[0]; ++rule)
    if (rules[rule].op == op) return &rules[rule];
  return NULL;
}

/* What it means in plain tensors obeys the rule of the op that it computes. */
static int nchwc(const pt_op_view* view) {
  pt_op_view plain = *view;
  pt_arranged arranged[PT_MAX_OPERANDS];
  unsigned operand;
  if (!pt_arrange(view->op, view->operands, view->input_count, view->output_count, view->ints, arranged)) return 0;
  for (operand = 0; operand < (unsigned)view->input_count + view->output_count; ++operand)
    plain.operands[operand] = arranged[operand].plain;
  plain.op = pt_plain_op(view->op);
  return find_rule(plain.op)->shape(&plain);
}

static int is_index(uint8_t dtype, unsigned rule) {
  return dtype == PT_I64 || dtype == PT_I32 || (dtype == PT_U8 && rule == REAL_LABEL);
}

/* The rules whose operands are not all of one dtype but for an index. */
static int mixed_dtypes_fit(const pt_op_view* view, unsigned rule) {
  const uint8_t a = in(view, 0)->dtype;
  if (rule == COMPARED) return in(view, 1)->dtype == a && out(view, 0)->dtype == PT_BOOL;
  if (rule == POSITIONS) return a == PT_F32 && out(view, 0)->dtype == PT_I64;
  return a == PT_BOOL && in(view, 1)->dtype == in(view, 2)->dtype && in(view, 1)->dtype == out(view, 0)->dtype;
}

static int dtypes_fit(const pt_op_view* view, unsigned rule) {
  const uint8_t first = in(view, 0)->dtype;
  const int indexed = rule == REAL_LABEL || rule == SAME_INDEX;
  unsigned operand;
  if (rule == ANY) return 1;
  if (rule == COMPARED || rule == CHOSEN || rule == POSITIONS) return mixed_dtypes_fit(view, rule);
  if (rule != SAME && rule != SAME_INDEX && first != PT_F32 && first != PT_F64) return 0;
  if (rule == BYTES_MADE) return out(view, 0)->dtype == PT_U8;
  if (rule == REAL_BYTES) return in(view, 1)->dtype == PT_U8 && out(view, 0)->dtype == first;
  for (operand = 1; operand < (unsigned)view->input_count + view->output_count; ++operand) {
    const uint8_t dtype = in(view, operand)->dtype;
    if (indexed && operand == 1 ? !is_index(dtype, rule) : dtype != first) return 0;
  }
  return 1;
}

uint8_t pt_key_dtype(const pt_op_view* view) {
  return view->op == PT_OP_count_correct ? in(view, 0)->dtype : out(view, 0)->dtype;
}

int pt_index_input(uint16_t op) {
  const op_rule* rule = find_rule(op);
  return rule != NULL && (rule->dtypes == REAL_LABEL || rule->dtypes == SAME_INDEX) ? 1 : -1;
}

pt_status pt_check_op(const pt_op_view* view) {
  const op_rule* rule = find_rule(view->op);
  if (rule == NULL) return PT_E_PLAN;
  if (view->input_count < rule->min_inputs || view->input_count > rule->max_inputs) return PT_E_PLAN;
  if (view->output_count < rule->min_outputs || view->output_count > rule->max_outputs) return PT_E_PLAN;
  if (rule->ints >= 0 && view->int_count != rule->ints) return PT_E_PLAN;
  if (view->real_count != rule->reals || view->dtype != pt_key_dtype(view)) return PT_E_PLAN;
  return dtypes_fit(view, rule->dtypes) && rule->shape(view) ? PT_OK : PT_E_PLAN;
}
