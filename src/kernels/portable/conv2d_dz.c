/* conv2d_dz, blocked and reference: conv2d_dx, with the activation's gradient taken on each row that it finishes. */
#include "kernels/portable/conv2d.h"
#include "kernels/portable/kernels.h"

size_t PT_NAME(pt_conv2d_dz_workspace)(const pt_call* call) {
  return call->terms == PT_ALL_TERMS ? PT_NAME(pt_conv2d_dx_scratch)(call) * sizeof(pt_real) : 0;
}
pt_status PT_NAME(pt_conv2d_dz_blocked)(const pt_call* call) {
  return PT_NAME(pt_conv2d_through)(call, PT_NAME(pt_conv2d_dx_fast));
}
pt_status PT_NAME(pt_conv2d_dz_reference)(const pt_call* call) {
  return PT_NAME(pt_conv2d_through)(call, PT_NAME(pt_conv_dx_plain));
}
