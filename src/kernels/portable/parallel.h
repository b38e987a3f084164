/* Splits work over outputs: pieces run on the pool's threads where there is enough to do. */
#pragma once

#include "kernels/portable/real.h"

typedef void (*pt_body)(void* arg, size_t begin, size_t end);

/* Calls body over [0, count); `work` is roughly the total number of elements touched. Always returns PT_OK, so that a
 * kernel can end with this call. */
pt_status PT_NAME(pt_parallel)(const pt_call* call, size_t count, size_t work, pt_body body, void* arg);

static inline size_t pt_elements(const pt_tensor* tensor) {
  size_t count = 1;
  for (size_t dim = 0; dim < tensor->rank; ++dim) count *= tensor->dims[dim];
  return count;
}

/* The product of the dimensions in [from, to). */
static inline size_t pt_extent(const pt_tensor* tensor, size_t from, size_t to) {
  size_t count = 1;
  for (size_t dim = from; dim < to && dim < tensor->rank; ++dim) count *= tensor->dims[dim];
  return count;
}

static inline size_t pt_element_size(uint8_t dtype) {
  switch (dtype) {
    case PT_F64:
    case PT_I64:
      return 8;
    case PT_U8:
    case PT_BOOL:
      return 1;
    default:
      return 4;
  }
}

/* Calls body over the elements of the first output, each of which takes as much work as `weight` elements touched. */
static inline pt_status pt_by_element(const pt_call* call, size_t weight, pt_body body, void* arg) {
  const size_t count = pt_elements(&call->outputs[0]);
  return PT_NAME(pt_parallel)(call, count, count * weight, body, arg);
}
