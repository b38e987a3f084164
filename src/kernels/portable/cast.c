
#include "kernels/portable/integer_along.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/pt_integer.h"

/* Integers keep their low bits in a narrower integer, as in numpy and ONNX. Floating-point numbers go towards zero, and
 * to the nearest that the type holds where it does not hold them; NaN becomes 0. To bool: whether it is not 0. */
static double load_real(const void* data, uint8_t dtype, size_t at) {
  return dtype == PT_F64 ? ((const double*)data)[at] : (double)((const float*)data)[at];
}

static int64_t whole_of(double value, uint8_t dtype) {
  switch (dtype) {
    case PT_I64:
      return pt_whole_of(value, INT64_MIN, INT64_MAX);
    case PT_I32:
      return pt_whole_of(value, INT32_MIN, INT32_MAX);
    case PT_U8:
      return pt_whole_of(value, 0, UINT8_MAX);
    default:
      return value != 0;
  }
}

static void cast_real(const pt_tensor* y, size_t at, double value) {
  if (y->dtype == PT_F32)
    ((float*)y->data)[at] = (float)value;
  else if (y->dtype == PT_F64)
    ((double*)y->data)[at] = value;
  else
    pt_integer_put(y->data, y->dtype, at, whole_of(value, y->dtype));
}

static void cast_whole(const pt_tensor* y, size_t at, int64_t value) {
  if (y->dtype == PT_F32)
    ((float*)y->data)[at] = (float)value; /* by way of double it would be rounded twice */
  else if (y->dtype == PT_F64)
    ((double*)y->data)[at] = (double)value;
  else
    pt_integer_put(y->data, y->dtype, at, y->dtype == PT_BOOL ? value != 0 : value);
}

pt_status PT_NAME(pt_cast)(const pt_call* call) {
  const pt_tensor *x = &call->inputs[0], *y = &call->outputs[0];
  const size_t count = pt_elements(y);
  const int from_real = x->dtype == PT_F32 || x->dtype == PT_F64;
  for (size_t at = 0; at < count; ++at) {
    if (from_real)
      cast_real(y, at, load_real(x->data, x->dtype, at));
    else
      cast_whole(y, at, pt_integer_at(x->data, x->dtype, at));
  }
  return PT_OK;
}
