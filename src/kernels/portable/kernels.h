/* Prototypes of the portable kernels: a function, and one that says how large its workspace is, for each row of the kernel table.
 * Operands and attributes are those of pantoum/ops.h.
 *
 * Summation: an output element is one chain of additions from +0 in ascending k, where k is
 *   matmul     k
 *   conv2d     (input channel of the group, kernel row, kernel column)
 *   conv2d_dx  (output channel of the group, kernel row, kernel column)
 *   conv2d_dw  (sample, output row, output column)
 *   conv3d, conv3d_dx, conv3d_dw  the same, with the depth before the row
 * Several calls may make it, each with the next terms (parts.h). Positions in the padding are added as zero products or
 * left out: the same bits for finite weights. A bias is added at the end. "reference" is plain loops; the others give the
 * same bits. "blocked" packs, on a stack of tens of KiB, for processors with caches; "compact" (compact.h) is for those
 * with little memory and one thread. None needs a workspace, but for what makes more of a product: strips of conv2d_dz's
 * dX, of what conv2d_act and matmul_act write over R, and of the gradient that an update follows. */
#pragma once

#include "kernels/portable/kernel_rows.h"
#include "kernels/portable/real.h"

#define PT_KERNEL_ROW(op, dtype, algorithm, name, numerics, function, workspace) \
  pt_status PT_NAME(function)(const pt_call* call);                              \
  size_t PT_NAME(workspace)(const pt_call* call);
PT_KERNEL_ROWS
#undef PT_KERNEL_ROW
