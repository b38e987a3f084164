/* conv2d_dx of a stride above 1, whole and without a finish: the same bits as the product over an image in which zeros
 * stand between the outputs. Stack: about twice that of gemm.h. */
#pragma once

#include "kernels/portable/real.h"

void PT_NAME(pt_conv2d_dx_strided)(const pt_call* call);
