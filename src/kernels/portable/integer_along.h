/* Integers along an axis, and an element of a tensor of any integer type. */
#pragma once

#include "kernels/portable/real.h"

static inline int64_t pt_integer_at(const void* data, uint8_t dtype, size_t at) {
  switch (dtype) {
    case PT_I64:
      return ((const int64_t*)data)[at];
    case PT_I32:
      return ((const int32_t*)data)[at];
    default:
      return ((const uint8_t*)data)[at];
  }
}

/* Narrower types keep the low bits. */
static inline void pt_integer_put(void* data, uint8_t dtype, size_t at, int64_t value) {
  if (dtype == PT_I64)
    ((int64_t*)data)[at] = value;
  else if (dtype == PT_I32)
    ((int32_t*)data)[at] = (int32_t)value;
  else
    ((uint8_t*)data)[at] = (uint8_t)value;
}

/* arg_max of integers: its key is the dtype of the positions, so that of floating-point numbers passes them on. */
pt_status PT_NAME(pt_integer_arg_max)(const pt_call* call);
