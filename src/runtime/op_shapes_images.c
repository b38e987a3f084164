/* Pooling and resizing of images. */
#include "runtime/op_rules.h"
#include "runtime/window_shapes.h"

static int pool(const pt_op_view* view) {
  return pt_pool_fits(in(view, 0), out(view, 0), view->ints);
}
static int max_pool_grad(const pt_op_view* view) {
  return pt_same_dims(in(view, 1), out(view, 0)) && pt_pool_fits(in(view, 1), in(view, 0), view->ints);
}
static int avg_pool_grad(const pt_op_view* view) {
  return pt_pool_fits(out(view, 0), in(view, 0), view->ints);
}

/* Of an image [N, C, H, W], or [N, C, H, W, c]; a tap is told by a byte. */
static int taps_fit(const pt_op_view* view, const pt_tensor* image, const pt_tensor* pooled) {
  pt_tensor x = *image, y = *pooled;
  const int64_t height = view->ints[PT_POOL_KERNEL_H], width = view->ints[PT_POOL_KERNEL_W];
  if (height < 1 || height > 255 || width < 1 || width > 255 || height * width > 255) return 0;
  if (x.rank == 5) {
    if (y.rank != 5 || x.dims[4] != y.dims[4]) return 0;
    x.rank = y.rank = 4;
  }
  return pt_pool_fits(&x, &y, view->ints);
}
static int max_pool_taps(const pt_op_view* view) {
  return taps_fit(view, in(view, 0), out(view, 0));
}
static int max_pool_grad_taps(const pt_op_view* view) {
  return pt_same_dims(in(view, 0), in(view, 1)) && taps_fit(view, out(view, 0), in(view, 0));
}

static int resizes(const pt_op_view* view, const pt_tensor* x, const pt_tensor* y) {
  unsigned scale;
  if (x->rank != 4 || y->rank != 4 || x->dims[0] != y->dims[0] || x->dims[1] != y->dims[1]) return 0;
  if (view->ints[PT_RESIZE_LINEAR] < 0 || view->ints[PT_RESIZE_LINEAR] > 1) return 0;
  if (view->ints[PT_RESIZE_COORDINATES] < 0 || view->ints[PT_RESIZE_COORDINATES] >= PT_RESIZE_COORDINATE_COUNT)
    return 0;
  if (view->ints[PT_RESIZE_ROUNDING] < 0 || view->ints[PT_RESIZE_ROUNDING] >= PT_RESIZE_ROUNDING_COUNT) return 0;
  for (scale = 0; scale < 2; ++scale)
    if (!(view->reals[scale] > 1e-9 && view->reals[scale] < 1e9)) return 0; /* false for a NaN */
  return 1;
}

static int resize(const pt_op_view* view) {
  return resizes(view, in(view, 0), out(view, 0));
}
static int resize_grad(const pt_op_view* view) {
  return resizes(view, out(view, 0), in(view, 0));
}

/* why: one row per operator, and nothing that two tables could share. */
static const pt_op_rule rules[] = {
    {PT_OP_max_pool, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, pool},
    {PT_OP_max_pool_grad, 2, 2, 1, 1, PT_POOL_ATTRS, 0, REAL, max_pool_grad},
    {PT_OP_avg_pool, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, pool},
    {PT_OP_avg_pool_grad, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, avg_pool_grad},
    {PT_OP_resize, 1, 1, 1, 1, PT_RESIZE_ATTRS, 2, REAL, resize},
    {PT_OP_resize_grad, 1, 1, 1, 1, PT_RESIZE_ATTRS, 2, REAL, resize_grad},
    {PT_OP_max_pool_taps, 1, 1, 1, 1, PT_POOL_ATTRS, 0, BYTES_MADE, max_pool_taps},
    {PT_OP_max_pool_grad_taps, 2, 2, 1, 1, PT_POOL_ATTRS, 0, REAL_BYTES, max_pool_grad_taps},
};

const pt_op_family pt_image_rules = {rules, sizeof rules / sizeof rules[0]};
