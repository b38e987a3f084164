/* What a fast back end beside the portable kernels offers: its rows of the kernel table, its threads, its layouts. */
#pragma once

#include "pantoum/pantoum.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The algorithm of a way with operands copied into the workspace before: the bits of the one below it, where there is room. */
enum { PT_BACK_END_COPIES = PT_FIRST_BACK_END_ALGORITHM + 2 };

/* Constant, and never freed. Kernels make what they need for a call's shapes when they are asked for their workspace,
 * keep it, and allocate little or nothing when they run. */
typedef struct pt_back_end {
  const char* name;        /* "oneDNN 2.6.3" */
  pt_kernel_table kernels; /* without the portable ones */
  const pt_pool* pool;     /* its threads, for the portable kernels too */
  uint32_t channel_block;  /* of the _nchwc ops it has kernels for; 0: it has none */
  /* How the weight must lie (pt_layout) for the convolution `op` (PT_OP_conv2d_nchwc, ..) between the images `x` and
   * `y` (as they lie; x may be plain) with a weight of logical extents `w`; PT_LAYOUT_PLAIN (0): it has no fast kernel.
   * `ints`: PT_CONV_NCHWC_ATTRS of them; the last is not read. */
  int (*weight_layout)(uint16_t op, const pt_tensor* x, const pt_tensor* y, const uint32_t w[4], const int64_t* ints);
} pt_back_end;

/* What the shared object of a back end exports under the name "pt_back_end_open": the back end with that many threads;
 * NULL where it cannot run. To be called once more for another number of threads. */
typedef const pt_back_end* (*pt_back_end_open_function)(int threads);
/* And under the name "pt_back_end_version": of the Pantoum that it was built with. Another version's is not opened. */
typedef const char* (*pt_back_end_version_function)(void);

#ifdef __cplusplus
}
#endif
