/* conv2d_dz with a scratch of a few rows. conv2d.h says what conv2d_dz computes, compact.h how the compact
 * kernels bound their scratch. */
#include "kernels/portable/conv2d.h"
#include "kernels/portable/kernels.h"

pt_status PT_NAME(pt_conv2d_dz_compact)(const pt_call* call) {
  return PT_NAME(pt_conv2d_through)(call, PT_NAME(pt_conv2d_dx_compact_finish));
}
size_t PT_NAME(pt_conv2d_dz_compact_workspace)(const pt_call* call) {
  return call->terms == PT_ALL_TERMS ? pt_compact_strip(&call->outputs[0], call->ints[PT_CONV_GROUPS]) : 0;
}
