/* A convolution for whoever wants its elements as they are made (gemm.h).
 *
 * `call` is one of conv2d, or begins like one. Batches are sample * groups + group, rows outputs of the group, columns
 * positions of the image. */
#ifndef PANTOUM_KERNELS_PORTABLE_CONV2D_H
#define PANTOUM_KERNELS_PORTABLE_CONV2D_H

#include "kernels/portable/compact.h"
#include "kernels/portable/gemm.h"

/* The blocked one; a finish without scratch takes elements from where they belong, once they are whole. */
pt_status PT_NAME(pt_conv2d_fast)(const pt_call* call, const pt_finish* finish);
/* Elements of scratch for a finish of it. */
size_t PT_NAME(pt_conv2d_scratch)(const pt_call* call);

#endif
