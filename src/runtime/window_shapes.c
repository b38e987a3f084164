#include "runtime/window_shapes.h"

#define LARGEST ((int64_t)1 << 30) /* keeps every product below in an int64_t */
#define LARGEST_PAD 32767          /* kernels may loop over padding, which costs a plan no memory */

typedef struct window { /* one dimension */
  int64_t input, output, kernel, stride, dilation, pad_before, pad_after;
} window;

static int64_t reach(const window* w) {
  return w->dilation * (w->kernel - 1) + 1;
}

static int is_sane(const window* w) {
  if (w->stride < 1 || w->stride > LARGEST || w->dilation < 1 || w->dilation > LARGEST) return 0;
  if (w->kernel < 1 || w->kernel > LARGEST) return 0;
  if (w->pad_before < 0 || w->pad_before > LARGEST_PAD || w->pad_after < 0 || w->pad_after > LARGEST_PAD) return 0;
  return w->input + w->pad_before + w->pad_after <= INT32_MAX;
}

static int conv_window_fits(const window* w) {
  int64_t slack;
  if (!is_sane(w)) return 0;
  slack = w->input + w->pad_before + w->pad_after - reach(w);
  return slack >= 0 && w->output == slack / w->stride + 1;
}

static int pool_window_fits(const window* w) {
  int64_t slack, down, up;
  if (!is_sane(w)) return 0;
  if (w->pad_before >= reach(w)) return 0;
  slack = w->input + w->pad_before + w->pad_after - reach(w);
  if (slack < 0) return 0;
  down = slack / w->stride + 1;
  up = (slack + w->stride - 1) / w->stride + 1;
  if (w->output != down && w->output != up) return 0;
  return (w->output - 1) * w->stride < w->input + w->pad_before;
}

/* Integers of `spatial` dimensions: strides, padding before and after, dilations, groups. */
static int conv_fits(const pt_tensor* x, const pt_tensor* w, const pt_tensor* y, const int64_t* ints,
                     unsigned spatial) {
  const int64_t groups = ints[4u * spatial];
  unsigned d;
  if (x->rank != spatial + 2u || w->rank != spatial + 2u || y->rank != spatial + 2u) return 0;
  if (groups < 1 || groups > LARGEST || w->dims[0] % groups != 0) return 0;
  if (y->dims[0] != x->dims[0] || y->dims[1] != w->dims[0] || w->dims[1] * groups != x->dims[1]) return 0;
  for (d = 0; d < spatial; ++d) {
    window along;
    along.input = x->dims[2u + d], along.output = y->dims[2u + d], along.kernel = w->dims[2u + d];
    along.stride = ints[d], along.dilation = ints[3u * spatial + d];
    along.pad_before = ints[spatial + d], along.pad_after = ints[2u * spatial + d];
    if (!conv_window_fits(&along)) return 0;
  }
  return 1;
}

int pt_conv_fits(const pt_tensor* x, const pt_tensor* w, const pt_tensor* y, const int64_t* ints) {
  return conv_fits(x, w, y, ints, 2);
}
int pt_conv3d_fits(const pt_tensor* x, const pt_tensor* w, const pt_tensor* y, const int64_t* ints) {
  return conv_fits(x, w, y, ints, 3);
}

int pt_pool_fits(const pt_tensor* x, const pt_tensor* y, const int64_t* ints) {
  window rows, columns;
  if (x->rank != 4 || y->rank != 4 || y->dims[0] != x->dims[0] || y->dims[1] != x->dims[1]) return 0;
  rows.input = x->dims[2], rows.output = y->dims[2], rows.kernel = ints[PT_POOL_KERNEL_H];
  rows.stride = ints[PT_POOL_STRIDE_H], rows.dilation = ints[PT_POOL_DILATION_H];
  rows.pad_before = ints[PT_POOL_PAD_TOP], rows.pad_after = ints[PT_POOL_PAD_BOTTOM];
  columns.input = x->dims[3], columns.output = y->dims[3], columns.kernel = ints[PT_POOL_KERNEL_W];
  columns.stride = ints[PT_POOL_STRIDE_W], columns.dilation = ints[PT_POOL_DILATION_W];
  columns.pad_before = ints[PT_POOL_PAD_LEFT], columns.pad_after = ints[PT_POOL_PAD_RIGHT];
  return pool_window_fits(&rows) && pool_window_fits(&columns);
}
