#include <string.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"

/* Through double or int64: exact for every pair but i64 -> float. Out-of-range floats saturate, NaN becomes 0. */
static int64_t to_whole(double value) {
  if (value != value) return 0;
  if (value >= 9223372036854775807.0) return INT64_MAX;
  if (value <= -9223372036854775808.0) return INT64_MIN;
  return (int64_t)value;
}

static int is_real(uint8_t dtype) {
  return dtype == PT_F32 || dtype == PT_F64;
}

static double load_real(const void* data, uint8_t dtype, size_t at) {
  return dtype == PT_F64 ? ((const double*)data)[at] : (double)((const float*)data)[at];
}

static int64_t load_whole(const void* data, uint8_t dtype, size_t at) {
  switch (dtype) {
    case PT_I64:
      return ((const int64_t*)data)[at];
    case PT_I32:
      return ((const int32_t*)data)[at];
    default:
      return ((const uint8_t*)data)[at];
  }
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

static void store(void* data, uint8_t dtype, size_t at, double real, int64_t whole) {
  switch (dtype) {
    case PT_F32:
      ((float*)data)[at] = (float)real;
      break;
    case PT_F64:
      ((double*)data)[at] = real;
      break;
    case PT_I64:
      ((int64_t*)data)[at] = whole;
      break;
    case PT_I32:
      ((int32_t*)data)[at] = (int32_t)clamp(whole, INT32_MIN, INT32_MAX);
      break;
    case PT_U8:
      ((uint8_t*)data)[at] = (uint8_t)clamp(whole, 0, 255);
      break;
    default:
      ((uint8_t*)data)[at] = real != 0 || whole != 0;
      break;
  }
}

pt_status PT_NAME(pt_cast)(const pt_call* call) {
  const pt_tensor *x = &call->inputs[0], *y = &call->outputs[0];
  const size_t count = pt_elements(y);
  for (size_t at = 0; at < count; ++at) {
    if (is_real(x->dtype)) {
      const double value = load_real(x->data, x->dtype, at);
      store(y->data, y->dtype, at, value, to_whole(value));
    } else {
      const int64_t value = load_whole(x->data, x->dtype, at);
      store(y->data, y->dtype, at, (double)value, value);
    }
  }
  return PT_OK;
}
