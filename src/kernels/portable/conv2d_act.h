/* conv2d_act by any way to make a convolution (gemm.h says how its elements are handed on). */
#ifndef PANTOUM_KERNELS_PORTABLE_CONV2D_ACT_H
#define PANTOUM_KERNELS_PORTABLE_CONV2D_ACT_H

#include "kernels/portable/epilogue.h"
#include "kernels/portable/gemm.h"

/* A convolution without bias, of a call that begins like one of conv2d; chains grow in the output itself where the
 * finish has no scratch. */
typedef pt_status (*pt_convolve)(const pt_call* call, const pt_finish* finish);

/* `scratch`: elements for the finish in the call's workspace, NULL: none. */
pt_status PT_NAME(pt_conv2d_act_by)(const pt_call* call, pt_convolve convolve, pt_real* scratch);

#endif
