/* conv2d_dz on top of a given function that computes dX (gemm.h describes how elements are passed on). */
#pragma once

#include "kernels/portable/gemm.h"

pt_status PT_NAME(pt_conv2d_through)(const pt_call* call, void (*dx)(const pt_call* call, const pt_finish* finish));
