/* A product for whoever wants its elements as they are made (gemm.h); `call` is one of matmul, or begins like one. */
#ifndef PANTOUM_KERNELS_PORTABLE_MATMUL_H
#define PANTOUM_KERNELS_PORTABLE_MATMUL_H

#include "kernels/portable/gemm.h"

/* The blocked one; a finish without scratch takes elements from where they belong, once they are whole. */
pt_status PT_NAME(pt_matmul_fast)(const pt_call* call, const pt_finish* finish);
/* Elements of scratch for a finish of it. */
size_t PT_NAME(pt_matmul_scratch)(const pt_call* call);

#endif
