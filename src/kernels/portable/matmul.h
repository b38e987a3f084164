/* A product that passes its elements to a finish as they are computed (gemm.h). `call` is a call of matmul, or starts
 * with the operands of one. */
#pragma once

#include "kernels/portable/gemm.h"

/* The blocked algorithm. A finish without scratch reads complete elements from the output. */
pt_status PT_NAME(pt_matmul_fast)(const pt_call* call, const pt_finish* finish);
/* Number of elements that a finish needs as scratch. */
size_t PT_NAME(pt_matmul_scratch)(const pt_call* call);
