/* Matrix products and convolutions: prototypes and their rows of the kernel table.
 *
 * Summation: an output element is one chain of additions from +0 in ascending k, where k is
 *   matmul     k
 *   conv2d     (input channel of the group, kernel row, kernel column)
 *   conv2d_dx  (output channel of the group, kernel row, kernel column)
 *   conv2d_dw  (sample, output row, output column)
 *   conv3d, conv3d_dx, conv3d_dw  the same, with the depth before the row
 * Positions in the padding are added as zero products or left out: the same bits for finite weights. A bias is added at
 * the end. "reference" is plain loops; the others give the same bits. "blocked" packs, on a stack of tens of KiB, for
 * processors with caches; "compact" (compact.h) is for those with little memory and one thread. None needs a workspace,
 * but for what makes more of a product: strips of conv2d_dz's dX, of what conv2d_act and matmul_act write over R, and
 * of the gradient that an update follows. */
#ifndef PANTOUM_KERNELS_PORTABLE_PRODUCTS_H
#define PANTOUM_KERNELS_PORTABLE_PRODUCTS_H

#include "kernels/portable/real.h"

/* why: a list of prototypes, as in kernels.h. */
pt_status PT_NAME(pt_matmul_reference)(const pt_call* call);
pt_status PT_NAME(pt_matmul_blocked)(const pt_call* call);
pt_status PT_NAME(pt_matmul_compact)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_reference)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_blocked)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_compact)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_dx_reference)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_dx_blocked)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_dx_compact)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_dw_reference)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_dw_blocked)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_dw_compact)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_dz_reference)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_dz_blocked)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_dz_compact)(const pt_call* call);
pt_status PT_NAME(pt_conv3d_reference)(const pt_call* call);
pt_status PT_NAME(pt_conv3d_blocked)(const pt_call* call);
pt_status PT_NAME(pt_conv3d_dx_reference)(const pt_call* call);
pt_status PT_NAME(pt_conv3d_dx_blocked)(const pt_call* call);
pt_status PT_NAME(pt_conv3d_dw_reference)(const pt_call* call);
pt_status PT_NAME(pt_conv3d_dw_blocked)(const pt_call* call);
/* Attention in blocks (attention.h): a row, a block that fits a cache, four rows of scores in the workspace. And products
 * with what follows them (epilogue.h). */
#define PT_WORKSPACE_PROTOTYPES(op)     \
  PT_WORKSPACE_PROTOTYPE(op, reference) \
  PT_WORKSPACE_PROTOTYPE(op, blocked) PT_WORKSPACE_PROTOTYPE(op, compact)
#define PT_WORKSPACE_PROTOTYPE(op, name)                    \
  pt_status PT_NAME(pt_##op##_##name)(const pt_call* call); \
  size_t PT_NAME(pt_##op##_##name##_workspace)(const pt_call* call);
PT_WORKSPACE_PROTOTYPES(attention)
PT_WORKSPACE_PROTOTYPES(attention_grad)
PT_WORKSPACE_PROTOTYPES(conv2d_act)
PT_WORKSPACE_PROTOTYPES(matmul_act)
#undef PT_WORKSPACE_PROTOTYPE
#undef PT_WORKSPACE_PROTOTYPES
/* Of a padded strip of the image, for few channels (conv2d_shift_compact.c). */
#define PT_SHIFT_PROTOTYPE(op)                                     \
  pt_status PT_NAME(pt_##op##_shift_compact)(const pt_call* call); \
  size_t PT_NAME(pt_##op##_shift_compact_workspace)(const pt_call* call);
PT_SHIFT_PROTOTYPE(conv2d)
PT_SHIFT_PROTOTYPE(conv2d_act)
PT_SHIFT_PROTOTYPE(conv2d_dx)
PT_SHIFT_PROTOTYPE(conv2d_dz)
#undef PT_SHIFT_PROTOTYPE
/* Winograd's, of other numerics (winograd.h). */
#define PT_WINOGRAD_PROTOTYPES(op)                  \
  PT_WINOGRAD_PROTOTYPE(op, winograd)               \
  PT_WINOGRAD_PROTOTYPE(op, winograd_compact)       \
  PT_WINOGRAD_PROTOTYPE(op, winograd_compact_whole) \
  PT_WINOGRAD_PROTOTYPE(op, winograd4)              \
  PT_WINOGRAD_PROTOTYPE(op, winograd4_compact) PT_WINOGRAD_PROTOTYPE(op, winograd4_compact_whole)
#define PT_WINOGRAD_PROTOTYPE(op, name)                     \
  pt_status PT_NAME(pt_##op##_##name)(const pt_call* call); \
  size_t PT_NAME(pt_##op##_##name##_workspace)(const pt_call* call);
PT_WINOGRAD_PROTOTYPES(conv2d)
PT_WINOGRAD_PROTOTYPES(conv2d_act)
PT_WINOGRAD_PROTOTYPES(conv2d_dx)
PT_WINOGRAD_PROTOTYPES(conv2d_dz)
PT_WINOGRAD_PROTOTYPES(conv2d_dw)
#undef PT_WINOGRAD_PROTOTYPE
#undef PT_WINOGRAD_PROTOTYPES
/* The update of a weight by its gradient, a product: the whole of it in the workspace, or strips of it. */
pt_status PT_NAME(pt_matmul_update_reference)(const pt_call* call);
pt_status PT_NAME(pt_matmul_update_compact)(const pt_call* call);
pt_status PT_NAME(pt_matmul_update_compact_whole)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_dw_update_reference)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_dw_update_compact)(const pt_call* call);
pt_status PT_NAME(pt_conv2d_dw_update_compact_whole)(const pt_call* call);
size_t PT_NAME(pt_matmul_update_workspace)(const pt_call* call);
size_t PT_NAME(pt_matmul_update_compact_workspace)(const pt_call* call);
size_t PT_NAME(pt_conv2d_dw_update_workspace)(const pt_call* call);
size_t PT_NAME(pt_conv2d_dw_update_compact_workspace)(const pt_call* call);
size_t PT_NAME(pt_conv2d_dz_workspace)(const pt_call* call);
size_t PT_NAME(pt_conv2d_dz_compact_workspace)(const pt_call* call);

#endif
