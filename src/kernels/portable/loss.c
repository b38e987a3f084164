#include "kernels/portable/exps.h"
#include "kernels/portable/integer_along.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/parts.h"

/* Losses over the classes, axis 1 of x[N, C, ..], with labels[N, ..] or a probability for each class. Positions are
 * (n, inner); the classes of one lie `inner` apart. A call may be of a slice of the samples: its labels are whole, its probabilities are those of the
 * slice. */
typedef struct classes {
  const pt_real* x;
  const pt_tensor* labels;    /* of labels */
  const pt_real* probability; /* of probabilities: as x */
  size_t count, inner, positions;
  size_t begin; /* the position of the whole at which the slice begins */
  int64_t ignore;
  pt_real smoothing;
  pt_real* out;
  pt_real counted; /* positions that are not ignored */
  pt_exps exps;
  pt_real* losses; /* of the positions from `first` on */
  size_t first;
} classes;

static classes describe(const pt_call* call) {
  const pt_tensor* x = &call->inputs[0];
  classes c = {.x = x->data, .count = x->dims[1], .inner = pt_extent(x, 2, x->rank), .out = call->outputs[0].data};
  c.positions = x->dims[0] * c.inner;
  c.begin = call->slice_begin * c.inner;
  c.smoothing = call->real_count > 0 ? (pt_real)call->reals[0] : 0;
  c.exps = pt_exps_where_worth_it();
  return c;
}

/* The label of a position of the whole. Gives a number below 0 for positions that are ignored. */
static int64_t label_of_whole(const classes* c, size_t position) {
  const int64_t label = pt_integer_at(c->labels->data, c->labels->dtype, position);
  return label == c->ignore ? -1 : label;
}

/* The label of a position of the call. */
static int64_t label_at(const classes* c, size_t position) {
  return label_of_whole(c, c->begin + position);
}

/* A loss of labels: counts the positions of the whole that are not ignored; PT_E_DATA where a label is no class. */
static pt_status read_labels(const pt_call* call, classes* c) {
  size_t counted = 0;
  *c = describe(call);
  c->labels = &call->inputs[1];
  c->ignore = call->ints[0];
  const size_t whole = pt_elements(c->labels);
  for (size_t position = 0; position < whole; ++position) {
    const int64_t label = label_of_whole(c, position);
    if (label >= (int64_t)c->count) return PT_E_DATA;
    counted += label >= 0;
  }
  c->counted = (pt_real)counted;
  return PT_OK;
}

static size_t row_of(const classes* c, size_t position) {
  return pt_row_begin(position, c->count, c->inner);
}

static pt_real mean(pt_real sum, const classes* c) {
  return c->counted > 0 ? sum / c->counted : 0;
}

/* ---- losses of rows, and their sum ---- */

/* The loss of a position from its row's largest element and the logarithm of the sum of its exps. */
typedef pt_real (*loss_of)(const classes* c, size_t position, pt_real top, pt_real log_sum);

static inline void row_losses(const classes* c, size_t begin, size_t end, loss_of loss) {
  for (size_t position = begin; position < end;) {
    const pt_real* x = c->x + row_of(c, position);
    pt_real top[PT_COLUMNS], sum[PT_COLUMNS];
    size_t rows = 1;
    if (pt_are_columns(position, end, c->inner)) {
      rows = PT_COLUMNS;
      pt_column_tops(x, c->count, c->inner, top);
      pt_column_exp_sums(&c->exps, x, c->count, c->inner, top, sum);
    } else {
      top[0] = pt_row_top(x, c->count, c->inner);
      sum[0] = pt_row_exp_sum(&c->exps, x, c->count, c->inner, top[0]);
    }
    for (size_t row = 0; row < rows; ++row, ++position)
      c->losses[position - c->first] = loss(c, position, top[row], (pt_real)pt_log((double)sum[row]));
  }
}

/* Writes the mean of the losses, or leaves their sum in the workspace where more terms follow. */
static void finish(const pt_call* call, const classes* c, const pt_lanes* lanes) {
  if (pt_is_unfinished(call))
    *(pt_lanes*)call->workspace = *lanes;
  else
    *c->out = mean(pt_lanes_total(lanes), c);
}

/* Adds in the order of positions, so that the bits do not depend on the threads. */
static pt_status mean_of_losses(const pt_call* call, classes* c, pt_body losses_of_rows) {
  enum { kSpan = PT_LANES * (PT_SIDE_BY_SIDE ? PT_ROW_PART : 1) };
  pt_real losses[kSpan];
  pt_lanes lanes = pt_lanes_begun(pt_goes_on(call), call->workspace);
  c->losses = losses;
  for (size_t span; c->first < c->positions; c->first += span) {
    span = c->positions - c->first < kSpan ? c->positions - c->first : kSpan;
    PT_NAME(pt_parallel)(call, span, span * c->count * 16, losses_of_rows, c);
    PT_LANES_ADD(lanes, span, losses[at]);
  }
  finish(call, c, &lanes);
  return PT_OK;
}

/* ---- cross-entropy: log-softmax and labels ---- */

/* The probability p of a class after label smoothing. */
static pt_real smoothed(const classes* c, pt_real p) {
  return c->smoothing == 0 ? p : p * (1 - c->smoothing) + c->smoothing / (pt_real)c->count;
}

static inline pt_real label_loss(const classes* c, size_t position, pt_real top, pt_real log_sum) {
  const int64_t label = label_at(c, position);
  if (label < 0) return 0;
  const pt_real* x = c->x + row_of(c, position);
  const pt_real hard = log_sum - (x[(size_t)label * c->inner] - top);
  if (c->smoothing == 0) return hard;
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, c->count, log_sum - (x[at * c->inner] - top));
  return hard * (1 - c->smoothing) + pt_lanes_total(&lanes) * (c->smoothing / (pt_real)c->count);
}

static void label_losses(void* arg, size_t begin, size_t end) {
  const classes* c = arg;
  row_losses(c, c->first + begin, c->first + end, label_loss);
}

pt_status PT_NAME(pt_cross_entropy)(const pt_call* call) {
  classes c;
  const pt_status status = read_labels(call, &c);
  if (status != PT_OK) return status;
  return mean_of_losses(call, &c, label_losses);
}

/* (softmax - smoothed one-hot) / counted; may be written over the logits. */
static void cross_entropy_row(const classes* c, size_t position) {
  const int64_t label = label_at(c, position);
  const pt_real* x = c->x + row_of(c, position);
  pt_real *dx = c->out + row_of(c, position), e[PT_ROW_PART];
  if (label < 0) {
    for (size_t k = 0; k < c->count; ++k) dx[k * c->inner] = 0;
    return;
  }
  const pt_real top = pt_row_top(x, c->count, c->inner), hit = smoothed(c, 1), miss = smoothed(c, 0);
  const pt_real sum = pt_row_exp_sum(&c->exps, x, c->count, c->inner, top);
  for (size_t first = 0, part; first < c->count; first += part) {
    part = pt_row_exps(&c->exps, x, first, c->count, c->inner, top, e);
    for (size_t at = 0; at < part; ++at)
      dx[(first + at) * c->inner] = (e[at] / sum - (first + at == (size_t)label ? hit : miss)) / c->counted;
  }
}

static void cross_entropy_columns(const classes* c, size_t position) {
  const pt_real *x = c->x + row_of(c, position), hit = smoothed(c, 1), miss = smoothed(c, 0);
  pt_real *dx = c->out + row_of(c, position), top[PT_COLUMNS], sum[PT_COLUMNS], e[PT_COLUMNS];
  int32_t label[PT_COLUMNS];
  for (size_t column = 0; column < PT_COLUMNS; ++column) {
    const int64_t own = label_at(c, position + column);
    label[column] = own < 0 ? -1 : (int32_t)own;
  }
  pt_column_tops(x, c->count, c->inner, top);
  pt_column_exp_sums(&c->exps, x, c->count, c->inner, top, sum);
  for (size_t k = 0; k < c->count; ++k) {
    c->exps.columns(x + k * c->inner, top, e);
    for (size_t column = 0; column < PT_COLUMNS; ++column) {
      const pt_real d = (e[column] / sum[column] - (label[column] == (int32_t)k ? hit : miss)) / c->counted;
      dx[k * c->inner + column] = label[column] < 0 ? 0 : d;
    }
  }
}

static inline void some_rows(const classes* c, size_t begin, size_t end, void (*one)(const classes*, size_t),
                             void (*columns)(const classes*, size_t)) {
  for (size_t position = begin; position < end;) {
    const int together = pt_are_columns(position, end, c->inner);
    (together ? columns : one)(c, position);
    position += together ? PT_COLUMNS : 1;
  }
}

static void cross_entropy_rows(void* arg, size_t begin, size_t end) {
  some_rows(arg, begin, end, cross_entropy_row, cross_entropy_columns);
}

pt_status PT_NAME(pt_cross_entropy_grad)(const pt_call* call) {
  classes c;
  const pt_status status = read_labels(call, &c);
  if (status != PT_OK) return status;
  return PT_NAME(pt_parallel)(call, c.positions, c.positions * c.count * 16, cross_entropy_rows, &c);
}

/* ---- cross-entropy with a probability for each class ---- */

static classes describe_soft(const pt_call* call) {
  classes c = describe(call);
  c.probability = call->inputs[1].data;
  c.counted = (pt_real)(call->whole_extent != 0 ? call->whole_extent * c.inner : c.positions);
  return c;
}

static inline pt_real soft_loss(const classes* c, size_t position, pt_real top, pt_real log_sum) {
  const size_t row = row_of(c, position);
  const pt_real *x = c->x + row, *t = c->probability + row;
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, c->count, smoothed(c, t[at * c->inner]) * (log_sum - (x[at * c->inner] - top)));
  return pt_lanes_total(&lanes);
}

static void soft_losses(void* arg, size_t begin, size_t end) {
  const classes* c = arg;
  row_losses(c, c->first + begin, c->first + end, soft_loss);
}

pt_status PT_NAME(pt_soft_cross_entropy)(const pt_call* call) {
  classes c = describe_soft(call);
  return mean_of_losses(call, &c, soft_losses);
}

/* (softmax * sum of the row's probabilities - probability) / positions; may be written over either input. */
static void soft_row(const classes* c, size_t position) {
  const size_t row = row_of(c, position);
  const pt_real *x = c->x + row, *t = c->probability + row;
  pt_real *dx = c->out + row, e[PT_ROW_PART];
  const pt_real top = pt_row_top(x, c->count, c->inner);
  const pt_real sum = pt_row_exp_sum(&c->exps, x, c->count, c->inner, top);
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, c->count, smoothed(c, t[at * c->inner]));
  const pt_real whole = pt_lanes_total(&lanes);
  for (size_t first = 0, part; first < c->count; first += part) {
    part = pt_row_exps(&c->exps, x, first, c->count, c->inner, top, e);
    for (size_t at = 0; at < part; ++at)
      dx[(first + at) * c->inner] = (e[at] / sum * whole - smoothed(c, t[(first + at) * c->inner])) / c->counted;
  }
}

static void soft_columns(const classes* c, size_t position) {
  const size_t row = row_of(c, position);
  const pt_real *x = c->x + row, *t = c->probability + row;
  pt_real *dx = c->out + row, top[PT_COLUMNS], sum[PT_COLUMNS], whole[PT_COLUMNS], e[PT_COLUMNS];
  pt_column_tops(x, c->count, c->inner, top);
  pt_column_exp_sums(&c->exps, x, c->count, c->inner, top, sum);
  PT_COLUMN_SUMS(whole, c->count, smoothed(c, t[at * c->inner + column]));
  for (size_t k = 0; k < c->count; ++k) {
    c->exps.columns(x + k * c->inner, top, e);
    for (size_t column = 0; column < PT_COLUMNS; ++column)
      dx[k * c->inner + column] =
          (e[column] / sum[column] * whole[column] - smoothed(c, t[k * c->inner + column])) / c->counted;
  }
}

static void soft_rows(void* arg, size_t begin, size_t end) {
  some_rows(arg, begin, end, soft_row, soft_columns);
}

pt_status PT_NAME(pt_soft_cross_entropy_grad)(const pt_call* call) {
  classes c = describe_soft(call);
  return PT_NAME(pt_parallel)(call, c.positions, c.positions * c.count * 16, soft_rows, &c);
}

/* ---- negative log-likelihood: log-probabilities and labels ---- */

static pt_real picked(const classes* c, size_t position) {
  const int64_t label = label_at(c, position);
  return label < 0 ? 0 : -c->x[row_of(c, position) + (size_t)label * c->inner];
}

pt_status PT_NAME(pt_nll)(const pt_call* call) {
  classes c;
  const pt_status status = read_labels(call, &c);
  if (status != PT_OK) return status;
  pt_lanes lanes = pt_lanes_begun(pt_goes_on(call), call->workspace);
  PT_LANES_ADD(lanes, c.positions, picked(&c, at));
  finish(call, &c, &lanes);
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
  classes c;
  const pt_status status = read_labels(call, &c);
  if (status != PT_OK) return status;
  return PT_NAME(pt_parallel)(call, c.positions, c.positions * c.count, nll_rows, &c);
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
  classes c;
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
