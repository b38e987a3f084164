#include "kernels/portable/kernels.h"
#include "kernels/portable/lanes.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/real_math.h"

/* Softmax and its kin along one axis: a row is x[at * step], at < length. Y may be X; dX may be dY. */
typedef struct rows {
  const pt_real *a, *b;
  pt_real* y;
  size_t length, step;
} rows;

static pt_status run(const pt_call* call, pt_body body) {
  const pt_tensor* y = &call->outputs[0];
  const size_t axis = (size_t)call->ints[0];
  rows state = {call->inputs[0].data, call->input_count > 1 ? call->inputs[1].data : NULL, y->data, y->dims[axis],
                pt_extent(y, axis + 1, y->rank)};
  const size_t count = pt_elements(y);
  if (count > 0) PT_NAME(pt_parallel)(call, count / state.length, count * 16, body, &state);
  return PT_OK;
}

static size_t first_of(const rows* state, size_t row) {
  return row / state->step * state->step * state->length + row % state->step;
}

static pt_real largest(const pt_real* x, size_t length, size_t step) {
  pt_real top = x[0];
  for (size_t at = 1; at < length; ++at) top = x[at * step] > top ? x[at * step] : top;
  return top;
}

static void softmax_rows(void* arg, size_t begin, size_t end) {
  const rows* state = arg;
  const size_t length = state->length, step = state->step;
  for (size_t row = begin; row < end; ++row) {
    const pt_real* x = state->a + first_of(state, row);
    pt_real* y = state->y + first_of(state, row);
    const pt_real top = largest(x, length, step);
    for (size_t at = 0; at < length; ++at) y[at * step] = pt_real_exp(x[at * step] - top);
    pt_lanes lanes = {{0}, 0};
    PT_LANES_ADD(lanes, length, y[at * step]);
    const pt_real scale = 1 / pt_lanes_total(&lanes);
    for (size_t at = 0; at < length; ++at) y[at * step] *= scale;
  }
}

static void softmax_grad_rows(void* arg, size_t begin, size_t end) {
  const rows* state = arg;
  const size_t length = state->length, step = state->step;
  for (size_t row = begin; row < end; ++row) {
    const pt_real *dy = state->a + first_of(state, row), *y = state->b + first_of(state, row);
    pt_real* dx = state->y + first_of(state, row);
    pt_lanes lanes = {{0}, 0};
    PT_LANES_ADD(lanes, length, dy[at * step] * y[at * step]);
    const pt_real dot = pt_lanes_total(&lanes);
    for (size_t at = 0; at < length; ++at) dx[at * step] = y[at * step] * (dy[at * step] - dot);
  }
}

static void log_softmax_rows(void* arg, size_t begin, size_t end) {
  const rows* state = arg;
  const size_t length = state->length, step = state->step;
  for (size_t row = begin; row < end; ++row) {
    const pt_real* x = state->a + first_of(state, row);
    pt_real* y = state->y + first_of(state, row);
    const pt_real top = largest(x, length, step);
    pt_lanes lanes = {{0}, 0};
    PT_LANES_ADD(lanes, length, pt_real_exp(x[at * step] - top));
    const pt_real log_sum = (pt_real)pt_log((double)pt_lanes_total(&lanes));
    for (size_t at = 0; at < length; ++at) y[at * step] = x[at * step] - top - log_sum;
  }
}

static void log_softmax_grad_rows(void* arg, size_t begin, size_t end) {
  const rows* state = arg;
  const size_t length = state->length, step = state->step;
  for (size_t row = begin; row < end; ++row) {
    const pt_real *dy = state->a + first_of(state, row), *y = state->b + first_of(state, row);
    pt_real* dx = state->y + first_of(state, row);
    pt_lanes lanes = {{0}, 0};
    PT_LANES_ADD(lanes, length, dy[at * step]);
    const pt_real sum = pt_lanes_total(&lanes);
    for (size_t at = 0; at < length; ++at) dx[at * step] = dy[at * step] - pt_real_exp(y[at * step]) * sum;
  }
}

pt_status PT_NAME(pt_softmax)(const pt_call* call) {
  return run(call, softmax_rows);
}
pt_status PT_NAME(pt_softmax_grad)(const pt_call* call) {
  return run(call, softmax_grad_rows);
}
pt_status PT_NAME(pt_log_softmax)(const pt_call* call) {
  return run(call, log_softmax_rows);
}
pt_status PT_NAME(pt_log_softmax_grad)(const pt_call* call) {
  return run(call, log_softmax_grad_rows);
}
