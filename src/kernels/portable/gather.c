#include <string.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"

/* Y[.., i.., ..] = X[.., I[i], ..] along an axis. Every index is checked before anything is written. */
static int64_t index_at(const pt_tensor* indices, size_t at) {
  return indices->dtype == PT_I64 ? ((const int64_t*)indices->data)[at] : ((const int32_t*)indices->data)[at];
}

static pt_status check_indices(const pt_tensor* indices, int64_t extent) {
  const size_t count = pt_elements(indices);
  for (size_t at = 0; at < count; ++at) {
    const int64_t index = index_at(indices, at);
    if (index < -extent || index >= extent) return PT_E_DATA;
  }
  return PT_OK;
}

static size_t row_of(const pt_tensor* indices, size_t at, size_t extent) {
  const int64_t index = index_at(indices, at);
  return index < 0 ? (size_t)(index + (int64_t)extent) : (size_t)index;
}

pt_status PT_NAME(pt_gather)(const pt_call* call) {
  const pt_tensor *x = &call->inputs[0], *indices = &call->inputs[1], *y = &call->outputs[0];
  const size_t axis = (size_t)call->ints[0], extent = x->dims[axis];
  const pt_status status = check_indices(indices, (int64_t)extent);
  if (status != PT_OK) return status;
  const size_t outer = pt_extent(x, 0, axis), bytes = pt_extent(x, axis + 1, x->rank) * pt_element_size(x->dtype),
               count = pt_elements(indices);
  char* to = y->data;
  for (size_t index = 0; index < outer; ++index)
    for (size_t at = 0; at < count; ++at, to += bytes)
      memcpy(to, (const char*)x->data + (index * extent + row_of(indices, at, extent)) * bytes, bytes);
  return PT_OK;
}

pt_status PT_NAME(pt_gather_grad)(const pt_call* call) {
  const pt_tensor *dy = &call->inputs[0], *indices = &call->inputs[1], *dx = &call->outputs[0];
  const size_t axis = (size_t)call->ints[0], extent = dx->dims[axis];
  const pt_status status = check_indices(indices, (int64_t)extent);
  if (status != PT_OK) return status;
  const size_t outer = pt_extent(dx, 0, axis), inner = pt_extent(dx, axis + 1, dx->rank), count = pt_elements(indices);
  const pt_real* from = dy->data;
  memset(dx->data, 0, pt_elements(dx) * sizeof(pt_real));
  for (size_t index = 0; index < outer; ++index) {
    for (size_t at = 0; at < count; ++at, from += inner) {
      pt_real* to = (pt_real*)dx->data + (index * extent + row_of(indices, at, extent)) * inner;
      for (size_t element = 0; element < inner; ++element) to[element] += from[element];
    }
  }
  return PT_OK;
}
