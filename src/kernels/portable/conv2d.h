/* Convolutions and gradients of their input that pass their elements to a finish as they are computed (gemm.h), and the
 * two ops that are made of them.
 *
 * `call` is a call of conv2d or conv2d_dx, or starts with the operands of one. Batches are sample * groups + group, rows
 * are outputs or channels of the group, columns are positions of the image. */
#pragma once

#include "kernels/portable/compact.h"
#include "kernels/portable/epilogue.h"

/* The blocked algorithm. A finish without scratch reads complete elements from the output. */
pt_status PT_NAME(pt_conv2d_fast)(const pt_call* call, const pt_finish* finish);
/* Number of elements that a finish needs as scratch. */
size_t PT_NAME(pt_conv2d_scratch)(const pt_call* call);

/* The gradient of the input: by the reference algorithm, also of volumes; by the blocked algorithm, the same bits. */
void PT_NAME(pt_conv_dx_plain)(const pt_call* call, const pt_finish* finish);
void PT_NAME(pt_conv2d_dx_fast)(const pt_call* call, const pt_finish* finish);
/* Number of elements of scratch, enough for either algorithm. */
size_t PT_NAME(pt_conv2d_dx_scratch)(const pt_call* call);

/* A convolution without bias. Sums accumulate in the output itself where the finish has no scratch. */
typedef pt_status (*pt_convolve)(const pt_call* call, const pt_finish* finish);

/* conv2d_act on top of a convolution. `scratch`: elements of the call's workspace for the finish; NULL: none. */
pt_status PT_NAME(pt_conv2d_act_by)(const pt_call* call, pt_convolve convolve, pt_real* scratch);
/* conv2d_dz on top of a function that computes dX. */
pt_status PT_NAME(pt_conv2d_through)(const pt_call* call, void (*dx)(const pt_call* call, const pt_finish* finish));
