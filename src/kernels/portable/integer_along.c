#include "kernels/portable/integer_along.h"

#include "kernels/portable/kernels.h"
#include "kernels/portable/pt_integer.h"
#include "kernels/portable/reduction.h"

/* i64, i32, u8 and bool over the dimensions of a mask, and along an axis; as integer.c has it. */
typedef struct integer_scan {
  reduction r;
  const void* x;
  void* y;
  uint8_t dtype;
  size_t extent, inner; /* of an axis */
  int exclusive, from_end;
} integer_scan;

static size_t element_of(const integer_scan* s, size_t output, size_t element) {
  return pt_reduction_at(output, s->r.kept, s->r.kept_steps, s->r.kept_rank) +
         pt_reduction_at(element, s->r.reduced, s->r.reduced_steps, s->r.reduced_rank);
}

static void sum_outputs(void* arg, size_t begin, size_t end) {
  const integer_scan* s = arg;
  for (size_t output = begin; output < end; ++output) {
    int64_t sum = 0;
    for (size_t element = 0; element < s->r.count; ++element)
      sum = pt_whole_add(sum, pt_integer_at(s->x, s->dtype, element_of(s, output, element)));
    pt_integer_put(s->y, s->dtype, output, sum);
  }
}

static void max_outputs(void* arg, size_t begin, size_t end) {
  const integer_scan* s = arg;
  for (size_t output = begin; output < end; ++output) {
    int64_t most = pt_integer_at(s->x, s->dtype, element_of(s, output, 0));
    for (size_t element = 1; element < s->r.count; ++element) {
      const int64_t value = pt_integer_at(s->x, s->dtype, element_of(s, output, element));
      if (value > most) most = value;
    }
    pt_integer_put(s->y, s->dtype, output, most);
  }
}

static pt_status reduce(const pt_call* call, pt_body body) {
  const pt_tensor *x = &call->inputs[0], *y = &call->outputs[0];
  integer_scan s = {pt_reduction_of(x, call->ints[0]), x->data, y->data, x->dtype, 0, 0, 0, 0};
  return PT_NAME(pt_parallel)(call, s.r.outputs, s.r.outputs * s.r.count * 2, body, &s);
}

pt_status PT_NAME(pt_integer_reduce_sum)(const pt_call* call) {
  return reduce(call, sum_outputs);
}
pt_status PT_NAME(pt_integer_reduce_max)(const pt_call* call) {
  return reduce(call, max_outputs);
}

/* Where the first element of a row along the axis is. */
static size_t row_begin(const integer_scan* s, size_t row) {
  return row / s->inner * s->extent * s->inner + row % s->inner;
}

static void cumsum_rows(void* arg, size_t begin, size_t end) {
  const integer_scan* s = arg;
  for (size_t row = begin; row < end; ++row) {
    int64_t sum = 0;
    for (size_t step = 0; step < s->extent; ++step) {
      const size_t at = row_begin(s, row) + (s->from_end ? s->extent - 1 - step : step) * s->inner;
      const int64_t before = sum;
      sum = pt_whole_add(sum, pt_integer_at(s->x, s->dtype, at));
      pt_integer_put(s->y, s->dtype, at, s->exclusive ? before : sum);
    }
  }
}

static void arg_max_rows(void* arg, size_t begin, size_t end) {
  const integer_scan* s = arg;
  for (size_t row = begin; row < end; ++row) {
    size_t best = 0;
    int64_t most = pt_integer_at(s->x, s->dtype, row_begin(s, row));
    for (size_t at = 1; at < s->extent; ++at) {
      const int64_t value = pt_integer_at(s->x, s->dtype, row_begin(s, row) + at * s->inner);
      if (value <= most) continue;
      best = at;
      most = value;
    }
    ((int64_t*)s->y)[row] = (int64_t)best;
  }
}

static pt_status scan(const pt_call* call, integer_scan* s, pt_body body) {
  const pt_tensor* x = &call->inputs[0];
  const size_t axis = (size_t)call->ints[0], count = pt_elements(x);
  s->x = x->data;
  s->y = call->outputs[0].data;
  s->dtype = x->dtype;
  s->extent = x->dims[axis];
  s->inner = pt_extent(x, axis + 1, x->rank);
  return PT_NAME(pt_parallel)(call, count / s->extent, count, body, s);
}

pt_status PT_NAME(pt_integer_cumsum)(const pt_call* call) {
  integer_scan s;
  memset(&s, 0, sizeof s);
  s.exclusive = call->ints[1] != 0;
  s.from_end = call->ints[2] != 0;
  return scan(call, &s, cumsum_rows);
}

pt_status PT_NAME(pt_integer_arg_max)(const pt_call* call) {
  integer_scan s;
  memset(&s, 0, sizeof s);
  return scan(call, &s, arg_max_rows);
}
