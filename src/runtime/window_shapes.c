#include "runtime/op_rules.h"

#define LARGEST ((int64_t)1 << 30) /* keeps every product below in an int64_t */
#define LARGEST_PAD 32767          /* kernels may loop over padding, which costs a plan no memory */

typedef struct window { /* one dimension */
  int64_t input, kernel, stride, before, after, dilation;
} window;

static int64_t reach(const window* w) {
  return w->dilation * (w->kernel - 1) + 1;
}

/* How often the window fits into the padded input; 0: it is refused. */
static int64_t positions(pt_op_use* use, const window* w) {
  const int64_t sizes[] = {w->kernel, w->stride, w->dilation}, pads[] = {w->before, w->after};
  int64_t padded;
  unsigned at;
  for (at = 0; at < 3; ++at)
    if (sizes[at] < 1 || sizes[at] > LARGEST)
      return pt_refuse(use, PT_TEXT("kernel, stride and dilation must be 1 or more, not {}"), sizes[at], 0);
  for (at = 0; at < 2; ++at)
    if (pads[at] < 0 || pads[at] > LARGEST_PAD)
      return pt_refuse(use, PT_TEXT("a padding must be 0 or more, not {}"), pads[at], 0);
  padded = w->input + w->before + w->after;
  if (!pt_want_extent(use, (uint64_t)padded)) return 0;
  if (reach(w) > padded) return pt_refuse(use, PT_TEXT("a window of {} does not fit into {}"), reach(w), padded);
  return (padded - reach(w)) / w->stride + 1;
}

/* Integers of `spatial` dimensions: strides, padding before and after, dilations, groups. */
int pt_conv_dims(pt_op_use* use, const pt_tensor* x, const pt_tensor* w, unsigned spatial, pt_tensor* y) {
  const int64_t *ints = use->ints, groups = ints[4u * spatial];
  unsigned d;
  if (!pt_want_rank(use, x, spatial + 2u, PT_TEXT("the image")) ||
      !pt_want_rank(use, w, spatial + 2u, PT_TEXT("the weight")))
    return 0;
  if (groups < 1 || x->dims[1] % groups != 0 || w->dims[0] % groups != 0) {
    pt_refuse(use, PT_TEXT("{} groups do not divide {} channels into {}"), groups, x->dims[1]);
    if (use->problem != NULL) use->problem->numbers[2] = w->dims[0];
    return 0;
  }
  if (w->dims[1] != x->dims[1] / groups)
    return pt_refuse(use, PT_TEXT("the weight wants {} channels per group, the image has {}"), w->dims[1],
                     x->dims[1] / groups);
  y->rank = x->rank;
  y->dims[0] = x->dims[0], y->dims[1] = w->dims[0];
  for (d = 0; d < spatial; ++d) {
    const window along = {x->dims[2u + d],   w->dims[2u + d],        ints[d],
                          ints[spatial + d], ints[2u * spatial + d], ints[3u * spatial + d]};
    const int64_t extent = positions(use, &along);
    if (extent == 0) return 0;
    y->dims[2u + d] = (uint32_t)extent;
  }
  return 1;
}

/* A tap before the image steps over it only if the dilation is larger than the image. */
static int64_t pool_positions(pt_op_use* use, const window* w) {
  const int64_t count = positions(use, w);
  if (count == 0) return 0;
  if (w->before >= reach(w) || (count - 1) * w->stride >= w->input + w->before ||
      (w->before > 0 && w->dilation > w->input))
    return PT_REFUSE(use, "a window lies in the padding alone");
  return count;
}

int pt_pool_dims(pt_op_use* use, const pt_tensor* x, pt_tensor* y) {
  const int64_t* ints = use->ints;
  unsigned d;
  if (!pt_want_rank(use, x, 4, PT_TEXT("the image"))) return 0;
  *y = *x;
  y->data = NULL;
  y->dtype = use->dtype;
  for (d = 0; d < 2; ++d) {
    const window along = {x->dims[2u + d],           ints[PT_POOL_KERNEL_H + d],   ints[PT_POOL_STRIDE_H + d],
                          ints[PT_POOL_PAD_TOP + d], ints[PT_POOL_PAD_BOTTOM + d], ints[PT_POOL_DILATION_H + d]};
    const int64_t extent = pool_positions(use, &along);
    if (extent == 0) return 0;
    y->dims[2u + d] = (uint32_t)extent;
  }
  return 1;
}
