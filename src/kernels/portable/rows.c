#include "kernels/portable/exps.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"

/* Softmax, log-softmax and their gradients along one axis: a row is x[at * step], at < length. Y may be X; dX may be
 * dY. */
typedef struct rows {
  const pt_real *a, *b;
  pt_real* y;
  size_t length, step;
  pt_exps exps;
} rows;

static pt_status run(const pt_call* call, pt_body some_rows) {
  const pt_tensor* y = &call->outputs[0];
  const size_t axis = (size_t)call->ints[0];
  rows state = {call->inputs[0].data,
                call->input_count > 1 ? call->inputs[1].data : NULL,
                y->data,
                y->dims[axis],
                pt_extent(y, axis + 1, y->rank),
                pt_exps_where_worth_it()};
  const size_t count = pt_elements(y);
  if (count > 0) PT_NAME(pt_parallel)(call, count / state.length, count * 16, some_rows, &state);
  return PT_OK;
}

/* Defines an op by its function of one row and its function of PT_COLUMNS adjacent rows. They are called directly, so
 * that short rows cost no more and functions that a processor never uses are not linked. */
#define PT_ROWS(op)                                                       \
  static void op##_rows(void* arg, size_t begin, size_t end) {            \
    const rows* state = arg;                                              \
    for (size_t row = begin; row < end;) {                                \
      const size_t first = pt_row_begin(row, state->length, state->step); \
      if (pt_are_columns(row, end, state->step)) {                        \
        op##_columns(state, first);                                       \
        row += PT_COLUMNS;                                                \
      } else {                                                            \
        op##_row(state, first);                                           \
        ++row;                                                            \
      }                                                                   \
    }                                                                     \
  }                                                                       \
  pt_status PT_NAME(pt_##op)(const pt_call* call) {                       \
    return run(call, op##_rows);                                          \
  }

static void softmax_row(const rows* state, size_t first) {
  const size_t length = state->length, step = state->step;
  const pt_real* x = state->a + first;
  pt_real* y = state->y + first;
  const pt_real top = pt_row_top(x, length, step);
  pt_real e[PT_ROW_PART];
  for (size_t from = 0, part; from < length; from += part) {
    part = pt_row_exps(&state->exps, x, from, length, step, top, e);
    for (size_t at = 0; at < part; ++at) y[(from + at) * step] = e[at];
  }
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, length, y[at * step]);
  const pt_real scale = 1 / pt_lanes_total(&lanes);
  for (size_t at = 0; at < length; ++at) y[at * step] *= scale;
}

static void softmax_columns(const rows* state, size_t first) {
  const size_t length = state->length, step = state->step;
  const pt_real* x = state->a + first;
  pt_real *y = state->y + first, top[PT_COLUMNS], scale[PT_COLUMNS];
  pt_column_tops(x, length, step, top);
  for (size_t at = 0; at < length; ++at) state->exps.columns(x + at * step, top, y + at * step);
  PT_COLUMN_SUMS(scale, length, y[at * step + column]);
  for (size_t column = 0; column < PT_COLUMNS; ++column) scale[column] = 1 / scale[column];
  for (size_t at = 0; at < length; ++at)
    for (size_t column = 0; column < PT_COLUMNS; ++column) y[at * step + column] *= scale[column];
}

static void softmax_grad_row(const rows* state, size_t first) {
  const size_t length = state->length, step = state->step;
  const pt_real *dy = state->a + first, *y = state->b + first;
  pt_real* dx = state->y + first;
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, length, dy[at * step] * y[at * step]);
  const pt_real dot = pt_lanes_total(&lanes);
  for (size_t at = 0; at < length; ++at) dx[at * step] = y[at * step] * (dy[at * step] - dot);
}

static void softmax_grad_columns(const rows* state, size_t first) {
  const size_t length = state->length, step = state->step;
  const pt_real *dy = state->a + first, *y = state->b + first;
  pt_real *dx = state->y + first, dot[PT_COLUMNS];
  PT_COLUMN_SUMS(dot, length, dy[at * step + column] * y[at * step + column]);
  for (size_t at = 0; at < length; ++at)
    for (size_t column = 0; column < PT_COLUMNS; ++column)
      dx[at * step + column] = y[at * step + column] * (dy[at * step + column] - dot[column]);
}

static void log_softmax_row(const rows* state, size_t first) {
  const size_t length = state->length, step = state->step;
  const pt_real* x = state->a + first;
  pt_real* y = state->y + first;
  const pt_real top = pt_row_top(x, length, step);
  const pt_real log_sum = (pt_real)pt_log((double)pt_row_exp_sum(&state->exps, x, length, step, top));
  for (size_t at = 0; at < length; ++at) y[at * step] = x[at * step] - top - log_sum;
}

static void log_softmax_columns(const rows* state, size_t first) {
  const size_t length = state->length, step = state->step;
  const pt_real* x = state->a + first;
  pt_real *y = state->y + first, top[PT_COLUMNS], log_sum[PT_COLUMNS];
  pt_column_tops(x, length, step, top);
  pt_column_exp_sums(&state->exps, x, length, step, top, log_sum);
  for (size_t column = 0; column < PT_COLUMNS; ++column) log_sum[column] = (pt_real)pt_log((double)log_sum[column]);
  for (size_t at = 0; at < length; ++at)
    for (size_t column = 0; column < PT_COLUMNS; ++column)
      y[at * step + column] = x[at * step + column] - top[column] - log_sum[column];
}

static void log_softmax_grad_row(const rows* state, size_t first) {
  const size_t length = state->length, step = state->step;
  const pt_real *dy = state->a + first, *y = state->b + first;
  pt_real* dx = state->y + first;
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, length, dy[at * step]);
  const pt_real sum = pt_lanes_total(&lanes);
  pt_real e[PT_ROW_PART];
  for (size_t from = 0, part; from < length; from += part) {
    part = pt_row_exps(&state->exps, y, from, length, step, 0, e);
    for (size_t at = 0; at < part; ++at) dx[(from + at) * step] = dy[(from + at) * step] - e[at] * sum;
  }
}

static void log_softmax_grad_columns(const rows* state, size_t first) {
  const size_t length = state->length, step = state->step;
  const pt_real *dy = state->a + first, *y = state->b + first, zeros[PT_COLUMNS] = {0};
  pt_real *dx = state->y + first, sum[PT_COLUMNS], e[PT_COLUMNS];
  PT_COLUMN_SUMS(sum, length, dy[at * step + column]);
  for (size_t at = 0; at < length; ++at) {
    state->exps.columns(y + at * step, zeros, e);
    for (size_t column = 0; column < PT_COLUMNS; ++column)
      dx[at * step + column] = dy[at * step + column] - e[column] * sum[column];
  }
}

PT_ROWS(softmax)
PT_ROWS(softmax_grad)
PT_ROWS(log_softmax)
PT_ROWS(log_softmax_grad)
