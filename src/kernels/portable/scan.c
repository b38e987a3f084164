#include "kernels/portable/integer_along.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"

/* Along one axis, row by row: the position of the first maximum (NaN wins), and running sums in ascending or descending
 * order. */
typedef struct scan {
  size_t extent, inner; /* the axis, and the elements between its neighbours */
  int exclusive, from_end;
  const pt_real* x;
  pt_real* y;
  int64_t* positions;
} scan;

static scan describe(const pt_call* call) {
  const pt_tensor* x = &call->inputs[0];
  const size_t axis = (size_t)call->ints[0];
  scan s = {x->dims[axis], pt_extent(x, axis + 1, x->rank), 0, 0, x->data, NULL, NULL};
  return s;
}

static pt_status run(const pt_call* call, scan* s, pt_body body) {
  const size_t count = pt_elements(&call->inputs[0]);
  return PT_NAME(pt_parallel)(call, count / s->extent, count, body, s);
}

static void arg_max_rows(void* arg, size_t begin, size_t end) {
  const scan* s = arg;
  for (size_t row = begin; row < end; ++row) {
    const pt_real* x = s->x + row / s->inner * s->extent * s->inner + row % s->inner;
    size_t best = 0;
    for (size_t at = 1; at < s->extent; ++at) {
      const pt_real value = x[at * s->inner], most = x[best * s->inner];
      if (value > most || (value != value && most == most)) best = at;
    }
    s->positions[row] = (int64_t)best;
  }
}

pt_status PT_NAME(pt_arg_max)(const pt_call* call) {
  if (call->inputs[0].dtype != PT_REAL_DTYPE) return PT_NAME(pt_integer_arg_max)(call);
  scan s = describe(call);
  s.positions = call->outputs[0].data;
  return run(call, &s, arg_max_rows);
}

static void cumsum_rows(void* arg, size_t begin, size_t end) {
  const scan* s = arg;
  for (size_t row = begin; row < end; ++row) {
    const size_t first = row / s->inner * s->extent * s->inner + row % s->inner;
    pt_real sum = 0;
    for (size_t step = 0; step < s->extent; ++step) {
      const size_t at = first + (s->from_end ? s->extent - 1 - step : step) * s->inner;
      const pt_real before = sum;
      sum += s->x[at];
      s->y[at] = s->exclusive ? before : sum;
    }
  }
}

pt_status PT_NAME(pt_cumsum)(const pt_call* call) {
  scan s = describe(call);
  s.y = call->outputs[0].data;
  s.exclusive = call->ints[1] != 0;
  s.from_end = call->ints[2] != 0;
  return run(call, &s, cumsum_rows);
}
