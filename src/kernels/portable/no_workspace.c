/* The workspace rules of kernels that take none, and of those that keep one sum between the calls of parts. */
#include "kernels/portable/kernels.h"
#include "kernels/portable/lanes.h"

size_t PT_NAME(pt_no_workspace)(const pt_call* call) {
  (void)call;
  return 0;
}

size_t PT_NAME(pt_sum_workspace)(const pt_call* call) {
  return call->terms == PT_ALL_TERMS ? 0 : sizeof(pt_lanes);
}
