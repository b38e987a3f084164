/* The runtime from C with nothing but libc and libm: it opens no plan that is not one, and has its kernels. */
#include <stdio.h>
#include <string.h>

#include "pantoum/pantoum.h"

int main(void) {
  static const char no_plan[64] = "not a plan";
  pt_plan plan;
  memset(&plan, 0, sizeof plan);
  const pt_status status = pt_plan_open(&plan, no_plan, sizeof no_plan);
  if (status != PT_E_PLAN && status != PT_E_VERSION) {
    printf("a text was opened as a plan: %s\n", pt_status_text(status));
    return 1;
  }
  if (pt_kernel_find(pt_portable_kernels(), PT_OP_matmul, PT_F32, 0, 0) == NULL) {
    printf("no kernel for a matrix product\n");
    return 1;
  }
  return 0;
}
