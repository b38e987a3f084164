// Softmax, normalizations, losses and reductions: a work item has a row, a channel or an output, and sums in lanes as the portable kernels do.

// The first element of row e along the axis, which is followed by `step` elements to the next of the row.
static size_t row_begin(size_t e, size_t length, size_t step) {
  return e / step * step * length + e % step;
}
static float top_of(global const float* x, size_t length, size_t step) {
  float top = x[0];
  for (size_t at = 1; at < length; ++at) top = x[at * step] > top ? x[at * step] : top;
  return top;
}

#define AXIS                                                                                            \
  const uint axis = (uint)c.ints[0];                                                                    \
  const size_t length = c.dims[0][axis], step = extent(&c, 0, axis + 1, c.rank[0]);                     \
  const size_t begin = row_begin(e, length, step)

kernel void op_softmax(ARGS) {
  ITEM;
  AXIS;
  global const float* x = IN(0) + begin;
  global float* y = OUT(0) + begin;
  const float top = top_of(x, length, step);
  for (size_t at = 0; at < length; ++at) y[at * step] = pt_real_exp(x[at * step] - top);
  SUM(sum, length, y[at * step]);
  const float scale = 1 / sum;
  for (size_t at = 0; at < length; ++at) y[at * step] *= scale;
}
kernel void op_softmax_grad(ARGS) {
  ITEM;
  AXIS;
  global const float *dy = IN(0) + begin, *y = IN(1) + begin;
  SUM(dot_product, length, dy[at * step] * y[at * step]);
  for (size_t at = 0; at < length; ++at) OUT(0)[begin + at * step] = y[at * step] * (dy[at * step] - dot_product);
}
kernel void op_log_softmax_grad(ARGS) {
  ITEM;
  AXIS;
  global const float *dy = IN(0) + begin, *y = IN(1) + begin;
  SUM(sum, length, dy[at * step]);
  for (size_t at = 0; at < length; ++at) OUT(0)[begin + at * step] = dy[at * step] - pt_real_exp(y[at * step] - 0.0f) * sum;
}
#ifndef PT_NO_DOUBLE
static float log_of(float x) {
  return (float)pt_log((double)x);
}
kernel void op_log_softmax(ARGS) {
  ITEM;
  AXIS;
  global const float* x = IN(0) + begin;
  const float top = top_of(x, length, step);
  SUM(sum, length, pt_real_exp(x[at * step] - top));
  const float log_sum = log_of(sum);
  for (size_t at = 0; at < length; ++at) OUT(0)[begin + at * step] = x[at * step] - top - log_sum;
}
#endif

// ---- normalizations ----

// The activation behind a batch norm; op 0: none.
static float activate(long op, float p, float q, float x) {
  return op == PT_OP_relu ? (x > 0 ? x : x != x ? x : 0)
         : op == PT_OP_leaky_relu ? (x > 0 ? x : p * x)
         : op == PT_OP_clip ? (x < p ? p : x > q ? q : x)
                            : x;
}
static float activation_grad(long op, float p, float q, float dy, float x) {
  return op == PT_OP_relu ? (x > 0 ? dy : 0)
         : op == PT_OP_leaky_relu ? (x > 0 ? dy : p * dy)
         : op == PT_OP_clip ? (x > p && x < q ? dy : 0)
                            : dy;
}

#define CHANNELS(slot)                                                                                             \
  const size_t samples = c.dims[slot][0], channels = c.dims[slot][1], positions = extent(&c, slot, 2, c.rank[slot]);  \
  const size_t all = samples * positions;                                                                          \
  const long op = c.extra[0];                                                                                      \
  const float eps = c.reals[0], p = c.reals[1], q = c.reals[2], count = (float)all;                                \
  (void)channels, (void)count
#define PLACE(channel) ((at / positions * channels + (channel)) * positions + at % positions)

kernel void op_batch_norm(ARGS) {
  ITEM;
  CHANNELS(0);
  global const float* x = IN(0);
  SUM(sum, all, x[PLACE(e)]);
  const float mean = sum / count;
  SUM(squares, all, (x[PLACE(e)] - mean) * (x[PLACE(e)] - mean));
  const float var = squares / count, a = IN(1)[e] / sqrt(var + eps), b = IN(2)[e];
  for (size_t at = 0; at < all; ++at) OUT(0)[PLACE(e)] = activate(op, p, q, (x[PLACE(e)] - mean) * a + b);
  OUT(1)[e] = mean;
  OUT(2)[e] = var;
}
kernel void op_batch_norm_eval(ARGS) {
  ITEM;
  CHANNELS(0);
  (void)samples, (void)all;
  const size_t channel = e / positions % channels;
  const float a = IN(1)[channel] / sqrt(IN(4)[channel] + eps);
  OUT(0)[e] = activate(op, p, q, (IN(0)[e] - IN(3)[channel]) * a + IN(2)[channel]);
}
// dY X scale bias? mean var: with an activation there is a bias.
kernel void op_batch_norm_grad(ARGS) {
  ITEM;
  CHANNELS(1);
  global const float *dy = IN(0), *x = IN(1);
  const float mean = op != 0 ? IN(4)[e] : IN(3)[e], var = op != 0 ? IN(5)[e] : IN(4)[e], scale = IN(2)[e];
  const float inverse = 1 / sqrt(var + eps), la = op != 0 ? scale / sqrt(var + eps) : 0, lb = op != 0 ? IN(3)[e] : 0;
#define DN activation_grad(op, p, q, dy[PLACE(e)], (x[PLACE(e)] - mean) * la + lb)
  SUM(dbias, all, DN);
  SUM(products, all, DN * (x[PLACE(e)] - mean));
  const float dscale = products * inverse, a = scale * inverse, b = dbias / count, d = dscale * inverse / count;
  for (size_t at = 0; at < all; ++at) OUT(0)[PLACE(e)] = a * (DN - b - (x[PLACE(e)] - mean) * d);
#undef DN
  OUT(1)[e] = dscale;
  OUT(2)[e] = dbias;
}
// The reals: what is kept, what is taken, and what makes a variance unbiased.
kernel void op_batch_norm_stats(ARGS) {
  ITEM;
  OUT(0)[e] = c.reals[0] * IN(0)[e] + c.reals[1] * IN(2)[e];
  OUT(1)[e] = c.reals[0] * IN(1)[e] + c.reals[1] * (IN(3)[e] * c.reals[2]);
}

#define LAYER(slot)                                                                                                    \
  const uint axis = (uint)c.ints[0];                                                                                   \
  const size_t count = extent(&c, slot, 0, axis), length = extent(&c, slot, axis, c.rank[slot]);                       \
  const float whole = (float)length;                                                                                   \
  (void)count, (void)whole

kernel void op_layer_norm(ARGS) {
  ITEM;
  LAYER(0);
  global const float* x = IN(0) + e * length;
  SUM(sum, length, x[at]);
  const float mean = sum / whole;
  SUM(squares, length, (x[at] - mean) * (x[at] - mean));
  const float invstd = 1 / sqrt(squares / whole + c.reals[0]);
  for (size_t at = 0; at < length; ++at) OUT(0)[e * length + at] = (x[at] - mean) * invstd * IN(1)[at] + IN(2)[at];
  OUT(1)[e] = mean;
  OUT(2)[e] = invstd;
}
kernel void op_layer_norm_parameters(ARGS) {
  ITEM;
  LAYER(1);
  global const float *dy = IN(0) + e, *x = IN(1) + e, *mean = IN(3), *invstd = IN(4);
  SUM(dscale, count, dy[at * length] * ((x[at * length] - mean[at]) * invstd[at]));
  SUM(dbias, count, dy[at * length]);
  OUT(1)[e] = dscale;
  OUT(2)[e] = dbias;
}
kernel void op_layer_norm_grad(ARGS) {
  ITEM;
  LAYER(1);
  global const float *dy = IN(0) + e * length, *x = IN(1) + e * length, *scale = IN(2);
  const float mean = IN(3)[e], invstd = IN(4)[e];
  SUM(sum, length, dy[at] * scale[at]);
  SUM(products, length, dy[at] * scale[at] * ((x[at] - mean) * invstd));
  const float b = sum / whole, d = products / whole;
  for (size_t at = 0; at < length; ++at) OUT(0)[e * length + at] = invstd * (dy[at] * scale[at] - b - (x[at] - mean) * invstd * d);
}

// ---- reductions over the dimensions of a mask, whose elements are numbered row by row ----

// The part of an element's offset that dimensions with the bit `reduced` give, for the number `index` among them.
static size_t masked(const Parameters* c, uint slot, long mask, long reduced, size_t index) {
  size_t at = 0, step = 1;
  for (uint dim = c->rank[slot]; dim-- > 0;) {
    const size_t whole = c->dims[slot][dim];
    if ((mask >> dim & 1) == reduced) {
      at += index % whole * step;
      index /= whole;
    }
    step *= whole;
  }
  return at;
}
static size_t masked_count(const Parameters* c, uint slot, long mask) {
  size_t count = 1;
  for (uint dim = 0; dim < c->rank[slot]; ++dim)
    if (mask >> dim & 1) count *= c->dims[slot][dim];
  return count;
}
#define REDUCED(slot)                                                                                        \
  const long mask = c.ints[0];                                                                               \
  const size_t count = masked_count(&c, slot, mask);                                                         \
  global const float* x = IN(slot) + masked(&c, slot, mask, 0, e)

kernel void op_reduce_sum(ARGS) {
  ITEM;
  REDUCED(0);
  SUM(sum, count, x[masked(&c, 0, mask, 1, at)]);
  OUT(0)[e] = sum;
}
kernel void op_reduce_mean(ARGS) {
  ITEM;
  REDUCED(0);
  SUM(sum, count, x[masked(&c, 0, mask, 1, at)]);
  OUT(0)[e] = (float)count > 0 ? sum / (float)count : sum;
}
kernel void op_reduce_max(ARGS) {
  ITEM;
  REDUCED(0);
  float most = x[0];
  for (size_t at = 1; at < count; ++at) {
    const float value = x[masked(&c, 0, mask, 1, at)];
    if (value > most || value != value) most = value;
  }
  OUT(0)[e] = most;
}
kernel void op_reduce_max_grad(ARGS) {
  ITEM;
  REDUCED(1);
  const float most = IN(2)[e];
  size_t winners = 0;
  for (size_t at = 0; at < count; ++at) winners += x[masked(&c, 1, mask, 1, at)] == most;
  const float share = winners > 0 ? IN(0)[e] / (float)winners : 0;
  global float* dx = OUT(0) + masked(&c, 1, mask, 0, e);
  for (size_t at = 0; at < count; ++at) {
    const size_t place = masked(&c, 1, mask, 1, at);
    dx[place] = x[place] == most ? share : 0;
  }
}
kernel void op_arg_max(ARGS) {
  ITEM;
  AXIS;
  global const float* x = IN(0) + begin;
  size_t best = 0;
  for (size_t at = 1; at < length; ++at) {
    const float value = x[at * step], most = x[best * step];
    if (value > most || (value != value && most == most)) best = at;
  }
  OUT_OF(long, 0)[e] = (long)best;
}
kernel void op_cumsum(ARGS) {
  ITEM;
  AXIS;
  float sum = 0;
  for (size_t at = 0; at < length; ++at) {
    const size_t place = begin + (c.ints[2] != 0 ? length - 1 - at : at) * step;
    const float before = sum;
    sum += IN(0)[place];
    OUT(0)[place] = c.ints[1] != 0 ? before : sum;
  }
}

// ---- losses by element: one item sums all terms ----

static float size_of(float x) {
  return x < 0 ? -x : x;
}
static float sign_of(float x) {
  return x > 0 ? 1 : x < 0 ? -1 : x;
}
// The reals: the loss's own number, and the divisor.
#define ELEMENT_LOSS(name, TERM, SLOPE)                                                                       \
  static float name##_term(float p, float t, float number) { return TERM; }                                   \
  kernel void op_##name(ARGS) {                                                                               \
    ITEM;                                                                                                     \
    SUM(sum, elements(&c, 0), name##_term(IN(0)[at], IN(1)[at], c.reals[0]));                                 \
    OUT(0)[0] = c.reals[1] > 0 ? sum / c.reals[1] : 0;                                                        \
  }                                                                                                           \
  static float name##_slope(float p, float t, float number) { return SLOPE; }                                 \
  kernel void op_##name##_grad(ARGS) {                                                                        \
    ITEM;                                                                                                     \
    const float inverse = c.reals[1] > 0 ? 1 / c.reals[1] : 0;                                                \
    OUT(0)[e] = inverse * name##_slope(IN(0)[e], IN(1)[e], c.reals[0]);                                       \
  }
ELEMENT_LOSS(mse, (p - t) * (p - t), 2 * (p - t))
ELEMENT_LOSS(l1, size_of(p - t), sign_of(p - t))
static float smooth_l1(float d, float beta) {
  return d < beta ? 0.5f * d * d / beta : d - 0.5f * beta;
}
ELEMENT_LOSS(smooth_l1, smooth_l1(size_of(p - t), number), size_of(p - t) < number ? (p - t) / number : sign_of(p - t))
#ifndef PT_NO_DOUBLE
static float tail(float x) {
  return (float)pt_log(1 + pt_exp(-(double)size_of(x)));
}
ELEMENT_LOSS(bce_with_logits, (p > 0 ? p : 0) - p * t + tail(p), pt_real_sigmoid(p) - t)
ELEMENT_LOSS(kl_div, (t == 0 ? 0 : t * log_of(t)) - t * p, -t)
#endif

// ---- losses by class, axis 1 ----
// Labels were checked on the host. extra: the bytes of a label, the label that is ignored, the positions that count. A real: the smoothing.

#define CLASSES                                                                                               \
  const size_t classes = c.dims[0][1], step = extent(&c, 0, 2, c.rank[0]);                                    \
  const size_t begin = row_begin(e, classes, step);                                                           \
  global const float* x = IN(0) + begin
static long label_at(const Parameters* c, global const uchar* labels, size_t at) {
  const long label = c->extra[0] == 8   ? ((global const long*)labels)[at]
                     : c->extra[0] == 4 ? ((global const int*)labels)[at]
                                        : labels[at];
  return label == c->extra[1] ? -1 : label;
}
static float smoothed(float p, float smoothing, size_t classes) {
  return smoothing == 0 ? p : p * (1 - smoothing) + smoothing / (float)classes;
}

// The sum of what the items of the launch before left in the workspace, over the positions that count.
kernel void op_mean_of_losses(ARGS) {
  ITEM;
  SUM(sum, (size_t)c.extra[3], WORK[at]);
  const float counted = (float)c.extra[2];
  OUT(0)[0] = counted > 0 ? sum / counted : 0;
}
kernel void op_nll(ARGS) {
  ITEM;
  CLASSES;
  const long label = label_at(&c, IN_OF(uchar, 1), e);
  WORK[e] = label < 0 ? 0 : -x[(size_t)label * step];
}
kernel void op_nll_grad(ARGS) {
  ITEM;
  CLASSES;
  (void)x;
  const long label = label_at(&c, IN_OF(uchar, 1), e);
  for (size_t k = 0; k < classes; ++k) OUT(0)[begin + k * step] = (long)k == label ? -1 / (float)c.extra[2] : 0;
}
kernel void op_cross_entropy_grad(ARGS) {
  ITEM;
  CLASSES;
  const long label = label_at(&c, IN_OF(uchar, 1), e);
  global float* dx = OUT(0) + begin;
  if (label < 0) {
    for (size_t k = 0; k < classes; ++k) dx[k * step] = 0;
    return;
  }
  const float top = top_of(x, classes, step), hit = smoothed(1, c.reals[0], classes), miss = smoothed(0, c.reals[0], classes);
  const float counted = (float)c.extra[2];
  SUM(sum, classes, pt_real_exp(x[at * step] - top));
  for (size_t k = 0; k < classes; ++k)
    dx[k * step] = (pt_real_exp(x[k * step] - top) / sum - (k == (size_t)label ? hit : miss)) / counted;
}
kernel void op_soft_cross_entropy_grad(ARGS) {
  ITEM;
  CLASSES;
  global const float* t = IN(1) + begin;
  const float top = top_of(x, classes, step), counted = (float)c.extra[2];
  SUM(sum, classes, pt_real_exp(x[at * step] - top));
  SUM(whole, classes, smoothed(t[at * step], c.reals[0], classes));
  for (size_t k = 0; k < classes; ++k)
    OUT(0)[begin + k * step] = (pt_real_exp(x[k * step] - top) / sum * whole - smoothed(t[k * step], c.reals[0], classes)) / counted;
}
#ifndef PT_NO_DOUBLE
kernel void op_cross_entropy(ARGS) {
  ITEM;
  CLASSES;
  const long label = label_at(&c, IN_OF(uchar, 1), e);
  const float top = top_of(x, classes, step), smoothing = c.reals[0];
  SUM(sum, classes, pt_real_exp(x[at * step] - top));
  const float log_sum = log_of(sum);
  if (label < 0) {
    WORK[e] = 0;
    return;
  }
  const float hard = log_sum - (x[(size_t)label * step] - top);
  if (smoothing == 0) {
    WORK[e] = hard;
    return;
  }
  SUM(soft, classes, log_sum - (x[at * step] - top));
  WORK[e] = hard * (1 - smoothing) + soft * (smoothing / (float)classes);
}
kernel void op_soft_cross_entropy(ARGS) {
  ITEM;
  CLASSES;
  global const float* t = IN(1) + begin;
  const float top = top_of(x, classes, step);
  SUM(sum, classes, pt_real_exp(x[at * step] - top));
  const float log_sum = log_of(sum);
  SUM(loss, classes, smoothed(t[at * step], c.reals[0], classes) * (log_sum - (x[at * step] - top)));
  WORK[e] = loss;
}
#endif
