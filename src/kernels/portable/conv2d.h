/* A convolution that passes its elements to a finish as they are computed (gemm.h).
 *
 * `call` is a call of conv2d, or starts with the operands of one. Batches are sample * groups + group, rows are
 * outputs of the group, columns are positions of the image. */
#pragma once

#include "kernels/portable/compact.h"
#include "kernels/portable/gemm.h"

/* The blocked algorithm. A finish without scratch reads complete elements from the output. */
pt_status PT_NAME(pt_conv2d_fast)(const pt_call* call, const pt_finish* finish);
/* Number of elements that a finish needs as scratch. */
size_t PT_NAME(pt_conv2d_scratch)(const pt_call* call);
