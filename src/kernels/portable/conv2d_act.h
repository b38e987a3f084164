/* conv2d_act on top of a given convolution function (gemm.h describes how elements are passed on). */
#pragma once

#include "kernels/portable/epilogue.h"
#include "kernels/portable/gemm.h"

/* A convolution without bias, for a call that starts like one of conv2d. Sums accumulate in the output itself where
 * the finish has no scratch. */
typedef pt_status (*pt_convolve)(const pt_call* call, const pt_finish* finish);

/* `scratch`: elements of the call's workspace for the finish; NULL: none. */
pt_status PT_NAME(pt_conv2d_act_by)(const pt_call* call, pt_convolve convolve, pt_real* scratch);
