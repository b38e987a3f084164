/* The workspace rule of kernels that take none. */
#include "kernels/portable/kernels.h"

size_t PT_NAME(pt_no_workspace)(const pt_call* call) {
  (void)call;
  return 0;
}
