
#include "kernels/portable/integer_along.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/pt_integer.h"

/* Integers keep their low bits in a narrower integer, as in numpy and ONNX. Floating-point numbers go towards zero, and
 * to the nearest that the type holds where it does not hold them; NaN becomes 0. To bool: whether it is not 0. */
static int is_real(uint8_t dtype) {
  return dtype == PT_F32 || dtype == PT_F64;
}

static double load_real(const void* data, uint8_t dtype, size_t at) {
  return dtype == PT_F64 ? ((const double*)data)[at] : (double)((const float*)data)[at];
}

static void store_real(void* data, uint8_t dtype, size_t at, double value) {
  switch (dtype) {
    case PT_F32:
      ((float*)data)[at] = (float)value;
      break;
    case PT_F64:
      ((double*)data)[at] = value;
      break;
    case PT_I64:
      ((int64_t*)data)[at] = pt_whole_of(value, INT64_MIN, INT64_MAX);
      break;
    case PT_I32:
      ((int32_t*)data)[at] = (int32_t)pt_whole_of(value, INT32_MIN, INT32_MAX);
      break;
    case PT_U8:
      ((uint8_t*)data)[at] = (uint8_t)pt_whole_of(value, 0, UINT8_MAX);
      break;
    default:
      ((uint8_t*)data)[at] = value != 0;
      break;
  }
}

static void store_whole(void* data, uint8_t dtype, size_t at, int64_t value) {
  switch (dtype) {
    case PT_F32:
      ((float*)data)[at] = (float)value;
      break;
    case PT_F64:
      ((double*)data)[at] = (double)value;
      break;
    case PT_I64:
      ((int64_t*)data)[at] = value;
      break;
    case PT_I32:
      ((int32_t*)data)[at] = (int32_t)value;
      break;
    case PT_U8:
      ((uint8_t*)data)[at] = (uint8_t)value;
      break;
    default:
      ((uint8_t*)data)[at] = value != 0;
      break;
  }
}

pt_status PT_NAME(pt_cast)(const pt_call* call) {
  const pt_tensor *x = &call->inputs[0], *y = &call->outputs[0];
  const size_t count = pt_elements(y);
  const int from_real = is_real(x->dtype);
  for (size_t at = 0; at < count; ++at) {
    if (from_real)
      store_real(y->data, y->dtype, at, load_real(x->data, x->dtype, at));
    else
      store_whole(y->data, y->dtype, at, pt_integer_at(x->data, x->dtype, at));
  }
  return PT_OK;
}
