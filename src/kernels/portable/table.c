/* The table of the portable kernels, one row per (op, dtype, algorithm) of kernel_rows.h. Compiled once per real type. */
#include "kernels/portable/kernel_rows.h"
#include "kernels/portable/kernels.h"

#define PT_KERNEL_ROW(op, dtype, algorithm, algorithm_name, numerics, function, workspace) \
  {PT_OP_##op, dtype, 0, algorithm, algorithm_name, numerics, PT_NAME(function), NULL, PT_NAME(workspace)},

static const pt_kernel kKernels[] = {PT_KERNEL_ROWS};

static const pt_kernel_table kTable = {kKernels, sizeof kKernels / sizeof kKernels[0]};

#ifdef PT_REAL_DOUBLE
const pt_kernel_table* pt_portable_kernels_f64(void) {
  return &kTable;
}
#else
const pt_kernel_table* pt_portable_kernels(void) {
  return &kTable;
}
#endif
