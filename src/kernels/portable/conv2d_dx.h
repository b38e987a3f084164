/* The gradient of a convolution's input, for whoever wants its elements as they are made (gemm.h).
 *
 * `call` is one of conv2d_dx, or begins like one. Batches are sample * groups + group, rows channels of the group,
 * columns positions of the image. */
#ifndef PANTOUM_KERNELS_PORTABLE_CONV2D_DX_H
#define PANTOUM_KERNELS_PORTABLE_CONV2D_DX_H

#include "kernels/portable/gemm.h"

void PT_NAME(pt_conv2d_dx_plain)(const pt_call* call, const pt_finish* finish); /* the reference */
void PT_NAME(pt_conv2d_dx_fast)(const pt_call* call, const pt_finish* finish);  /* the same bits */
/* Elements of scratch, enough for either. */
size_t PT_NAME(pt_conv2d_dx_scratch)(const pt_call* call);

#endif
