#include "kernels/portable/kernels.h"
#include "kernels/portable/lanes.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/real_math.h"

/* Losses over the classes, axis 1 of x[N, C, ..], with labels[N, ..] or a probability for each class. Positions are
 * (n, inner); the classes of one lie `inner` apart. */
typedef struct classes {
  const pt_real* x;
  const pt_tensor* labels;    /* of labels */
  const pt_real* probability; /* of probabilities: as x */
  size_t count, inner, positions;
  int64_t ignore;
  pt_real smoothing;
  pt_real* out;
  pt_real counted; /* positions that are not ignored */
} classes;

static classes describe(const pt_call* call) {
  const pt_tensor* x = &call->inputs[0];
  classes c = {.x = x->data, .count = x->dims[1], .inner = pt_extent(x, 2, x->rank), .out = call->outputs[0].data};
  c.positions = x->dims[0] * c.inner;
  c.smoothing = call->real_count > 0 ? (pt_real)call->reals[0] : 0;
  return c;
}

static int64_t stored_label(const pt_tensor* labels, size_t position) {
  switch (labels->dtype) {
    case PT_I64:
      return ((const int64_t*)labels->data)[position];
    case PT_I32:
      return ((const int32_t*)labels->data)[position];
    default:
      return ((const uint8_t*)labels->data)[position];
  }
}

/* Below 0: ignored. */
static int64_t label_at(const classes* c, size_t position) {
  const int64_t label = stored_label(c->labels, position);
  return label == c->ignore ? -1 : label;
}

/* Counts the positions that are not ignored; PT_E_DATA where a label is no class. */
static pt_status read_labels(const pt_call* call, classes* c) {
  size_t counted = 0;
  c->labels = &call->inputs[1];
  c->ignore = call->ints[0];
  for (size_t position = 0; position < c->positions; ++position) {
    const int64_t label = label_at(c, position);
    if (label >= (int64_t)c->count) return PT_E_DATA;
    counted += label >= 0;
  }
  c->counted = (pt_real)counted;
  return PT_OK;
}

static size_t row_of(const classes* c, size_t position) {
  return position / c->inner * c->inner * c->count + position % c->inner;
}

static pt_real mean(pt_real sum, const classes* c) {
  return c->counted > 0 ? sum / c->counted : 0;
}

/* ---- cross-entropy: log-softmax and labels ---- */

static pt_real largest(const pt_real* x, size_t count, size_t inner) {
  pt_real top = x[0];
  for (size_t c = 1; c < count; ++c) top = x[c * inner] > top ? x[c * inner] : top;
  return top;
}

static pt_real exp_sum(const pt_real* x, size_t count, size_t inner, pt_real top) {
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, count, pt_real_exp(x[at * inner] - top));
  return pt_lanes_total(&lanes);
}

/* What smoothing makes of the probability p of a class. */
static pt_real smoothed(const classes* c, pt_real p) {
  return c->smoothing == 0 ? p : p * (1 - c->smoothing) + c->smoothing / (pt_real)c->count;
}

static pt_real row_loss(const classes* c, size_t position) {
  const int64_t label = label_at(c, position);
  if (label < 0) return 0;
  const pt_real* x = c->x + row_of(c, position);
  const pt_real top = largest(x, c->count, c->inner), sum = exp_sum(x, c->count, c->inner, top);
  const pt_real log_sum = (pt_real)pt_log((double)sum), hard = log_sum - (x[(size_t)label * c->inner] - top);
  if (c->smoothing == 0) return hard;
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, c->count, log_sum - (x[at * c->inner] - top));
  return hard * (1 - c->smoothing) + pt_lanes_total(&lanes) * (c->smoothing / (pt_real)c->count);
}

pt_status PT_NAME(pt_cross_entropy)(const pt_call* call) {
  classes c = describe(call);
  const pt_status status = read_labels(call, &c);
  if (status != PT_OK) return status;
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, c.positions, row_loss(&c, at));
  *c.out = mean(pt_lanes_total(&lanes), &c);
  return PT_OK;
}

/* (softmax - smoothed one-hot) / counted; may be written over the logits. */
static void cross_entropy_rows(void* arg, size_t begin, size_t end) {
  const classes* c = arg;
  for (size_t position = begin; position < end; ++position) {
    const int64_t label = label_at(c, position);
    const pt_real* x = c->x + row_of(c, position);
    pt_real* dx = c->out + row_of(c, position);
    if (label < 0) {
      for (size_t k = 0; k < c->count; ++k) dx[k * c->inner] = 0;
      continue;
    }
    const pt_real top = largest(x, c->count, c->inner), sum = exp_sum(x, c->count, c->inner, top);
    for (size_t k = 0; k < c->count; ++k) {
      const pt_real p = pt_real_exp(x[k * c->inner] - top) / sum;
      dx[k * c->inner] = (p - smoothed(c, (pt_real)(k == (size_t)label))) / c->counted;
    }
  }
}

pt_status PT_NAME(pt_cross_entropy_grad)(const pt_call* call) {
  classes c = describe(call);
  const pt_status status = read_labels(call, &c);
  if (status != PT_OK) return status;
  PT_NAME(pt_parallel)(call, c.positions, c.positions * c.count * 16, cross_entropy_rows, &c);
  return PT_OK;
}

/* ---- cross-entropy with a probability for each class ---- */

static pt_real soft_row_loss(const classes* c, size_t position) {
  const size_t row = row_of(c, position);
  const pt_real *x = c->x + row, *t = c->probability + row;
  const pt_real top = largest(x, c->count, c->inner), sum = exp_sum(x, c->count, c->inner, top);
  const pt_real log_sum = (pt_real)pt_log((double)sum);
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, c->count, smoothed(c, t[at * c->inner]) * (log_sum - (x[at * c->inner] - top)));
  return pt_lanes_total(&lanes);
}

pt_status PT_NAME(pt_soft_cross_entropy)(const pt_call* call) {
  classes c = describe(call);
  c.probability = call->inputs[1].data;
  c.counted = (pt_real)c.positions;
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, c.positions, soft_row_loss(&c, at));
  *c.out = mean(pt_lanes_total(&lanes), &c);
  return PT_OK;
}

/* (softmax * sum of the row's probabilities - probability) / positions; may be written over either input. */
static void soft_rows(void* arg, size_t begin, size_t end) {
  const classes* c = arg;
  for (size_t position = begin; position < end; ++position) {
    const size_t row = row_of(c, position);
    const pt_real *x = c->x + row, *t = c->probability + row;
    pt_real* dx = c->out + row;
    const pt_real top = largest(x, c->count, c->inner), sum = exp_sum(x, c->count, c->inner, top);
    pt_lanes lanes = {{0}, 0};
    PT_LANES_ADD(lanes, c->count, smoothed(c, t[at * c->inner]));
    const pt_real whole = pt_lanes_total(&lanes);
    for (size_t k = 0; k < c->count; ++k) {
      const pt_real p = pt_real_exp(x[k * c->inner] - top) / sum;
      dx[k * c->inner] = (p * whole - smoothed(c, t[k * c->inner])) / c->counted;
    }
  }
}

pt_status PT_NAME(pt_soft_cross_entropy_grad)(const pt_call* call) {
  classes c = describe(call);
  c.probability = call->inputs[1].data;
  c.counted = (pt_real)c.positions;
  PT_NAME(pt_parallel)(call, c.positions, c.positions * c.count * 16, soft_rows, &c);
  return PT_OK;
}

/* ---- negative log-likelihood: log-probabilities and labels ---- */

static pt_real picked(const classes* c, size_t position) {
  const int64_t label = label_at(c, position);
  return label < 0 ? 0 : -c->x[row_of(c, position) + (size_t)label * c->inner];
}

pt_status PT_NAME(pt_nll)(const pt_call* call) {
  classes c = describe(call);
  const pt_status status = read_labels(call, &c);
  if (status != PT_OK) return status;
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, c.positions, picked(&c, at));
  *c.out = mean(pt_lanes_total(&lanes), &c);
  return PT_OK;
}

static void nll_rows(void* arg, size_t begin, size_t end) {
  const classes* c = arg;
  for (size_t position = begin; position < end; ++position) {
    const int64_t label = label_at(c, position);
    pt_real* dx = c->out + row_of(c, position);
    for (size_t k = 0; k < c->count; ++k) dx[k * c->inner] = (int64_t)k == label ? -1 / c->counted : 0;
  }
}

pt_status PT_NAME(pt_nll_grad)(const pt_call* call) {
  classes c = describe(call);
  const pt_status status = read_labels(call, &c);
  if (status != PT_OK) return status;
  PT_NAME(pt_parallel)(call, c.positions, c.positions * c.count, nll_rows, &c);
  return PT_OK;
}

/* ---- right answers ---- */

/* Is the label's score among the k highest? A NaN is not. */
static int among_highest(const classes* c, size_t position, int64_t label, int64_t k) {
  const pt_real* x = c->x + row_of(c, position);
  const pt_real score = x[(size_t)label * c->inner];
  int64_t higher = 0;
  for (size_t other = 0; other < c->count; ++other) {
    const pt_real rival = x[other * c->inner];
    higher += rival > score || (rival == score && (int64_t)other < label);
  }
  return score == score && higher < k;
}

pt_status PT_NAME(pt_count_correct)(const pt_call* call) {
  classes c = describe(call);
  const pt_status status = read_labels(call, &c);
  if (status != PT_OK) return status;
  size_t correct = 0;
  for (size_t position = 0; position < c.positions; ++position) {
    const int64_t label = label_at(&c, position);
    correct += label >= 0 && among_highest(&c, position, label, call->ints[1]);
  }
  c.out[0] = (pt_real)correct;
  c.out[1] = c.counted;
  return PT_OK;
}
