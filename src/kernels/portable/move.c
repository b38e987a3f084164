#include <string.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"

/* Transpose, concat, split, slice, assign: elements of any type, copied by their size. */
typedef struct copy {
  size_t rank, dims[PT_MAX_RANK];      /* of the side that is walked densely */
  ptrdiff_t steps[PT_MAX_RANK], start; /* of the other side, in elements */
  size_t element;
  char *dense, *strided;
  int scatter; /* 0: dense = strided (transpose, slice); 1: strided = dense (slice_grad) */
} copy;

#define PT_COPY_RUN(type)                                                                             \
  do {                                                                                                \
    if (c->scatter)                                                                                   \
      for (size_t at = 0; at < inner; ++at) ((type*)there)[(ptrdiff_t)at * step] = ((type*)here)[at]; \
    else                                                                                              \
      for (size_t at = 0; at < inner; ++at) ((type*)here)[at] = ((type*)there)[(ptrdiff_t)at * step]; \
  } while (0)

static void copy_rows(void* arg, size_t begin, size_t end) {
  const copy* c = arg;
  const size_t inner = c->rank > 0 ? c->dims[c->rank - 1] : 1;
  const ptrdiff_t step = c->rank > 0 ? c->steps[c->rank - 1] : 1;
  for (size_t row = begin; row < end; ++row) {
    ptrdiff_t from = c->start;
    size_t rest = row;
    for (size_t dim = c->rank > 0 ? c->rank - 1 : 0; dim-- > 0;) {
      from += (ptrdiff_t)(rest % c->dims[dim]) * c->steps[dim];
      rest /= c->dims[dim];
    }
    void* here = c->dense + row * inner * c->element;
    void* there = c->strided + from * (ptrdiff_t)c->element;
    if (c->element == 8)
      PT_COPY_RUN(uint64_t);
    else if (c->element == 4)
      PT_COPY_RUN(uint32_t);
    else
      PT_COPY_RUN(uint8_t);
  }
}

static pt_status run_copy(const pt_call* call, copy* c) {
  size_t count = 1;
  for (size_t dim = 0; dim < c->rank; ++dim) count *= c->dims[dim];
  if (count == 0) return PT_OK;
  return PT_NAME(pt_parallel)(call, c->rank > 0 ? count / c->dims[c->rank - 1] : 1, count * 2, copy_rows, c);
}

pt_status PT_NAME(pt_transpose)(const pt_call* call) {
  const pt_tensor *x = &call->inputs[0], *y = &call->outputs[0];
  copy c = {y->rank, {0}, {0}, 0, pt_element_size(y->dtype), y->data, x->data, 0};
  for (size_t dim = 0; dim < y->rank; ++dim) {
    c.dims[dim] = y->dims[dim];
    c.steps[dim] = (ptrdiff_t)pt_extent(x, (size_t)call->ints[dim] + 1, x->rank);
  }
  return run_copy(call, &c);
}

/* Copies between `whole` and its slice. The call's integers are start and step of every dimension. */
static pt_status copy_slice(const pt_call* call, const pt_tensor* slice, const pt_tensor* whole, int scatter) {
  copy c = {slice->rank, {0}, {0}, 0, pt_element_size(whole->dtype), slice->data, whole->data, scatter};
  for (size_t dim = 0; dim < slice->rank; ++dim) {
    const ptrdiff_t unit = (ptrdiff_t)pt_extent(whole, dim + 1, whole->rank);
    c.dims[dim] = slice->dims[dim];
    c.start += (ptrdiff_t)call->ints[2 * dim] * unit;
    c.steps[dim] = (ptrdiff_t)call->ints[2 * dim + 1] * unit;
  }
  return run_copy(call, &c);
}

pt_status PT_NAME(pt_slice)(const pt_call* call) {
  return copy_slice(call, &call->outputs[0], &call->inputs[0], 0);
}

pt_status PT_NAME(pt_slice_grad)(const pt_call* call) {
  const pt_tensor* dx = &call->outputs[0];
  memset(dx->data, 0, pt_elements(dx) * pt_element_size(dx->dtype));
  return copy_slice(call, &call->inputs[0], dx, 1);
}

/* The output may lie in the memory of the whole: then the slice alone is written. */
pt_status PT_NAME(pt_assign_slice)(const pt_call* call) {
  const pt_tensor *whole = &call->inputs[0], *y = &call->outputs[0];
  if (y->data != whole->data) memcpy(y->data, whole->data, pt_elements(y) * pt_element_size(y->dtype));
  return copy_slice(call, &call->inputs[1], y, 1);
}

/* Copies between a tensor and its parts along an axis: for concat into the tensor, for split out of it. */
static void move_parts(const pt_call* call, const pt_tensor* whole, const pt_tensor* parts, size_t count, int split) {
  const size_t axis = (size_t)call->ints[0], element = pt_element_size(whole->dtype);
  const size_t outer = pt_extent(whole, 0, axis), row = pt_extent(whole, axis, whole->rank) * element;
  size_t at = 0;
  for (size_t part = 0; part < count; ++part) {
    const size_t bytes = pt_extent(&parts[part], axis, parts[part].rank) * element;
    for (size_t index = 0; index < outer; ++index) {
      char* in_whole = (char*)whole->data + index * row + at;
      char* in_part = (char*)parts[part].data + index * bytes;
      if (split)
        memcpy(in_part, in_whole, bytes);
      else
        memcpy(in_whole, in_part, bytes);
    }
    at += bytes;
  }
}

pt_status PT_NAME(pt_concat)(const pt_call* call) {
  move_parts(call, &call->outputs[0], call->inputs, call->input_count, 0);
  return PT_OK;
}
pt_status PT_NAME(pt_split_op)(const pt_call* call) {
  move_parts(call, &call->inputs[0], call->outputs, call->output_count, 1);
  return PT_OK;
}

/* The output may lie in the memory of either input. */
pt_status PT_NAME(pt_assign)(const pt_call* call) {
  if (call->outputs[0].data != call->inputs[1].data)
    memcpy(call->outputs[0].data, call->inputs[1].data,
           pt_elements(&call->outputs[0]) * pt_element_size(call->outputs[0].dtype));
  return PT_OK;
}
