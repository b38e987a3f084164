/* Convolutions and gradients of their input that pass their elements to a finish as they are computed (gemm.h), and the
 * two ops that are made of them.
 *
 * `call` is a call of conv2d or conv2d_dx, or starts with the operands of one. Batches are sample * groups + group, rows
 * are outputs or channels of the group, columns are positions of the image. */
#pragma once

#include "kernels/portable/compact.h"
#include "kernels/portable/epilogue.h"

/* The blocked algorithm. A finish without scratch reads complete elements from the output. */
pt_status PT_NAME(pt_conv2d_fast)(const pt_call* call, const pt_finish* finish);
/* Number of elements that a finish needs as scratch. */
size_t PT_NAME(pt_conv2d_scratch)(const pt_call* call);

/* The gradient of the input: by the reference algorithm, also of volumes; by the blocked algorithm, the same bits. */
void PT_NAME(pt_conv_dx_plain)(const pt_call* call, const pt_finish* finish);
void PT_NAME(pt_conv2d_dx_fast)(const pt_call* call, const pt_finish* finish);
/* Number of elements of scratch, enough for either algorithm. */
size_t PT_NAME(pt_conv2d_dx_scratch)(const pt_call* call);

/* A convolution without bias. Sums accumulate in the output itself where the finish has no scratch, or is NULL. */
typedef pt_status (*pt_convolve)(const pt_call* call, const pt_finish* finish);

/* conv2d_act on top of a convolution. `scratch`: elements of the call's workspace for the finish; NULL: none. */
pt_status PT_NAME(pt_conv2d_act_by)(const pt_call* call, pt_convolve convolve, pt_real* scratch);
/* conv2d_dz on top of a function that computes dX. */
pt_status PT_NAME(pt_conv2d_through)(const pt_call* call, void (*dx)(const pt_call* call, const pt_finish* finish));

/* Planes of a result that is complete. */
typedef struct pt_planes {
  const pt_finish* finish;
  const pt_real* made;
  size_t outputs, positions;
} pt_planes;

static inline void pt_finish_planes(void* arg, size_t begin, size_t end) {
  const pt_planes* p = arg;
  for (size_t plane = begin; plane < end; ++plane)
    p->finish->take(p->finish->context, plane / p->outputs, plane % p->outputs, 0, p->positions,
                    p->made + plane * p->positions);
}

/* Passes all elements of an image, which lie at `made`, to the finish. The output of `call` gives the extents. */
static inline void pt_finish_image(const pt_call* call, const pt_finish* finish, const pt_real* made) {
  const pt_tensor* y = &call->outputs[0];
  const size_t outputs = y->dims[1] / (size_t)call->ints[PT_CONV_GROUPS];
  pt_planes p = {finish, made, outputs, (size_t)y->dims[2] * y->dims[3]};
  PT_NAME(pt_split)(call->pool, (size_t)y->dims[0] * y->dims[1], pt_finish_planes, &p);
}
