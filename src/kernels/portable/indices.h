/* Tensors of indices along an extent; negative ones count from its end. */
#pragma once

#include "kernels/portable/parallel.h"

static inline int64_t pt_index_at(const pt_tensor* indices, size_t at) {
  return indices->dtype == PT_I64 ? ((const int64_t*)indices->data)[at] : ((const int32_t*)indices->data)[at];
}

static inline pt_status pt_check_indices(const pt_tensor* indices, int64_t extent) {
  const size_t count = pt_elements(indices);
  for (size_t at = 0; at < count; ++at) {
    const int64_t index = pt_index_at(indices, at);
    if (index < -extent || index >= extent) return PT_E_DATA;
  }
  return PT_OK;
}

static inline size_t pt_row_of(const pt_tensor* indices, size_t at, size_t extent) {
  const int64_t index = pt_index_at(indices, at);
  return index < 0 ? (size_t)(index + (int64_t)extent) : (size_t)index;
}
