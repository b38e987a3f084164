/* The gradient of a convolution's input, which passes its elements to a finish as they are computed (gemm.h).
 *
 * `call` is a call of conv2d_dx, or starts with the operands of one. Batches are sample * groups + group, rows are
 * channels of the group, columns are positions of the image. */
#pragma once

#include "kernels/portable/gemm.h"

void PT_NAME(pt_conv2d_dx_plain)(const pt_call* call, const pt_finish* finish); /* the reference algorithm */
void PT_NAME(pt_conv2d_dx_fast)(const pt_call* call,
                                const pt_finish* finish); /* the blocked algorithm; the same bits */
/* Number of elements of scratch, enough for either algorithm. */
size_t PT_NAME(pt_conv2d_dx_scratch)(const pt_call* call);
