/* conv2d_dz by any way to make dX (gemm.h says how its elements are handed on). */
#ifndef PANTOUM_KERNELS_PORTABLE_CONV2D_THROUGH_H
#define PANTOUM_KERNELS_PORTABLE_CONV2D_THROUGH_H

#include "kernels/portable/gemm.h"

pt_status PT_NAME(pt_conv2d_through)(const pt_call* call, void (*dx)(const pt_call* call, const pt_finish* finish));

#endif
