// Element by element: binary operators that broadcast, choices, casts, dropout, updates. The formulas of one operand and their gradients are
// those of portable/unary.c, in kernels by these macros.
#define PT_BINARY(name, expression)                                                             \
  kernel void op_##name(ARGS) {                                                                 \
    ITEM;                                                                                       \
    const float x = IN(0)[spread(&c, 0, e, kInputs)], y = IN(1)[spread(&c, 1, e, kInputs)];     \
    OUT(0)[e] = (float)(expression);                                                            \
  }
PT_BINARY(add, x + y)
PT_BINARY(sub, x - y)
PT_BINARY(mul, x* y)
PT_BINARY(div, x / y)
PT_BINARY(maximum, x > y || x != x ? x : y)
PT_BINARY(minimum, x < y || x != x ? x : y)

#ifndef PT_NO_DOUBLE
PT_BINARY(pow, y == 2 ? x * x : (float)pt_pow((double)x, (double)y))

kernel void op_pow_grad(ARGS) {
  ITEM;
  const double base = (double)IN(1)[spread(&c, 1, e, kInputs)], exponent = (double)IN(2)[spread(&c, 2, e, kInputs)];
  const double slope = exponent == 0 ? 0 : exponent * pt_pow(base, exponent - 1);
  OUT(0)[e] = (float)((double)IN(0)[e] * slope);
}
#endif

kernel void op_maximum_grad(ARGS) {
  ITEM;
  const float dy = IN(0)[e], a = IN(1)[spread(&c, 1, e, kInputs)], b = IN(2)[spread(&c, 2, e, kInputs)];
  OUT(0)[e] = a > b ? dy : a == b ? dy / 2 : 0;
}

#define COMPARE(type)                                                                                                      \
  kernel void op_compare_##type(ARGS) {                                                                                    \
    ITEM;                                                                                                                  \
    const type a = IN_OF(type, 0)[spread(&c, 0, e, kInputs)], b = IN_OF(type, 1)[spread(&c, 1, e, kInputs)];               \
    const long relation = c.ints[0];                                                                                       \
    OUT_OF(uchar, 0)[e] = relation == PT_COMPARE_EQUAL           ? a == b                                                  \
                          : relation == PT_COMPARE_LESS          ? a < b                                                   \
                          : relation == PT_COMPARE_LESS_EQUAL    ? a <= b                                                  \
                          : relation == PT_COMPARE_GREATER       ? a > b                                                   \
                          : relation == PT_COMPARE_GREATER_EQUAL ? a >= b                                                  \
                          : relation == PT_COMPARE_AND           ? a != 0 && b != 0                                        \
                          : relation == PT_COMPARE_OR            ? a != 0 || b != 0                                        \
                                                                 : (a != 0) != (b != 0);                                   \
  }
COMPARE(float)
COMPARE(long)
COMPARE(int)
COMPARE(uchar)

#define WHERE(type)                                                                                 \
  kernel void op_where_##type(ARGS) {                                                               \
    ITEM;                                                                                           \
    const bool test = IN_OF(uchar, 0)[spread(&c, 0, e, kInputs)] != 0;                              \
    const type a = IN_OF(type, 1)[spread(&c, 1, e, kInputs)];                                       \
    const type b = IN_OF(type, 2)[spread(&c, 2, e, kInputs)];                                       \
    OUT_OF(type, 0)[e] = test ? a : b;                                                              \
  }
WHERE(ulong)
WHERE(uint)
WHERE(uchar)

kernel void op_expand(ARGS) {
  ITEM;
  OUT(0)[e] = c.reals[0] * IN(0)[spread(&c, 0, e, kInputs)];
}
#define EXPAND(type)                                              \
  kernel void op_expand_##type(ARGS) {                            \
    ITEM;                                                         \
    OUT_OF(type, 0)[e] = IN_OF(type, 0)[spread(&c, 0, e, kInputs)]; \
  }
EXPAND(ulong)
EXPAND(uint)
EXPAND(uchar)

#ifndef PT_NO_DOUBLE
static long whole_of(double value, long dtype) {
  return dtype == PT_I64   ? pt_whole_of(value, INT64_MIN, INT64_MAX)
         : dtype == PT_I32 ? pt_whole_of(value, INT32_MIN, INT32_MAX)
         : dtype == PT_U8  ? pt_whole_of(value, 0, UINT8_MAX)
                           : value != 0;
}
kernel void op_cast(ARGS) {
  ITEM;
  const long from = c.extra[0], to = c.extra[1];
  const float real = from == PT_F32 ? IN(0)[e] : 0;
  const long whole = from == PT_F32   ? whole_of((double)real, to)
                     : from == PT_I64 ? IN_OF(long, 0)[e]
                     : from == PT_I32 ? IN_OF(int, 0)[e]
                                      : IN_OF(uchar, 0)[e];
  if (to == PT_F32)
    OUT(0)[e] = from == PT_F32 ? real : (float)whole;
  else if (to == PT_I64)
    OUT_OF(long, 0)[e] = whole;
  else if (to == PT_I32)
    OUT_OF(int, 0)[e] = (int)whole;
  else
    OUT_OF(uchar, 0)[e] = to == PT_BOOL ? whole != 0 : (uchar)whole;
}
#endif

// extra: the operator's key, the step, the seed, the threshold; a real: the scale.
kernel void op_dropout(ARGS) {
  ITEM;
  const ulong group = e / 4;
  const uint32_t counter[4] = {(uint)group, (uint)(group >> 32), (uint)c.extra[0], (uint)c.extra[1]};
  const uint32_t key[2] = {(uint)c.extra[2], (uint)((ulong)c.extra[2] >> 32)};
  uint32_t words[4];
  pt_philox(counter, key, words);
  OUT(0)[e] = c.extra[3] >= 0 && words[e % 4] >= (uint)c.extra[3] ? IN(0)[e] * c.reals[0] : 0;
}

kernel void op_sign_bits(ARGS) {
  ITEM;
  const size_t count = elements(&c, 0);
  uint packed = 0;
  for (uint bit = 0; bit < 8 && e * 8 + bit < count; ++bit) packed |= (uint)(IN(0)[e * 8 + bit] > 0) << bit;
  OUT_OF(uchar, 0)[e] = (uchar)packed;
}
kernel void op_leaky_relu_grad_bits(ARGS) {
  ITEM;
  const float dy = IN(0)[e];
  OUT(0)[e] = IN_OF(uchar, 1)[e / 8] >> (e % 8) & 1 ? dy : c.reals[0] * dy;
}
kernel void op_relu_grad_bits(ARGS) {
  ITEM;
  OUT(0)[e] = IN_OF(uchar, 1)[e / 8] >> (e % 8) & 1 ? IN(0)[e] : 0;
}

// ---- on the way to an update ----

kernel void op_clip_norm(ARGS) {
  ITEM;
  const float factor = c.reals[0] / (IN(1)[0] + 1e-6f);
  OUT(0)[e] = IN(0)[e] * (factor > 1 ? 1 : factor);
}
kernel void op_accumulate(ARGS) {
  ITEM;
  OUT(0)[e] = IN(0)[e] + IN(1)[e];
}
kernel void op_accumulated(ARGS) {
  ITEM;
  const float sum = IN(0)[e] + IN(1)[e];
  OUT(0)[e] = sum * c.reals[0];
  OUT(1)[e] = 0;
}

// ---- updates: the reals are those that the host computed (table.cc) ----

kernel void op_sgd(ARGS) {
  ITEM;
  const float lr = c.reals[0], momentum = c.reals[1], decay = c.reals[2];
  const float x = IN(0)[e], g = IN(1)[e] + decay * x;
  if (!HAS_IN(2)) {
    OUT(0)[e] = x - lr * g;
    return;
  }
  const float v = momentum * IN(2)[e] + g;
  OUT(1)[e] = v;
  OUT(0)[e] = x - lr * (c.ints[0] != 0 ? g + momentum * v : v);
}

kernel void op_adam(ARGS) {
  ITEM;
  const float size = c.reals[0], decay = c.reals[1], shrink = c.reals[2], add1 = c.reals[3], beta2 = c.reals[4], add2 = c.reals[5],
              eps = c.reals[6], correction = c.reals[7];
  const float x = IN(0)[e], g = IN(1)[e] + decay * x, first = IN(2)[e];
  const float m = first + (g - first) * add1, v = beta2 * IN(3)[e] + add2 * g * g;
  float square = v;
  if (HAS_IN(4)) {
    const float largest = IN(4)[e];
    if (largest > v) square = largest;
    OUT(3)[e] = square;
  }
  const float denominator = sqrt(square) / correction + eps;
  OUT(1)[e] = m;
  OUT(2)[e] = v;
  OUT(0)[e] = x - shrink * x - size * (m / denominator);
}

kernel void op_rmsprop(ARGS) {
  ITEM;
  const float size = c.reals[0], beta2 = c.reals[1], add2 = c.reals[2], eps = c.reals[3], momentum = c.reals[4], decay = c.reals[5];
  const float x = IN(0)[e], g = IN(1)[e] + decay * x;
  const float square = beta2 * IN(2)[e] + add2 * g * g;
  const bool centered = c.ints[0] != 0, moves = c.inputs > (centered ? 4u : 3u);
  float variance = square;
  if (centered) {
    const float old = IN(3)[e], mean = old + (g - old) * add2;
    variance = square - mean * mean > 0 ? square - mean * mean : 0;
    OUT(2)[e] = mean;
  }
  const float scaled = g / (sqrt(variance) + eps);
  float step = scaled;
  if (moves) {
    step = momentum * (centered ? IN(4)[e] : IN(3)[e]) + scaled;
    if (centered)
      OUT(3)[e] = step;
    else
      OUT(2)[e] = step;
  }
  OUT(1)[e] = square;
  OUT(0)[e] = x - size * step;
}

kernel void op_adagrad(ARGS) {
  ITEM;
  const float size = c.reals[0], decay = c.reals[1], eps = c.reals[2], begin = c.reals[3];
  const float x = IN(0)[e], g = IN(1)[e] + decay * x, sum = IN(2)[e] + g * g;
  OUT(1)[e] = sum;
  OUT(0)[e] = x - size * (g / (sqrt(sum + begin) + eps));
}
