/* A pooling's extents, and the taps of each of its windows that lie on the image. */
#ifndef PANTOUM_KERNELS_PORTABLE_POOL_WINDOW_H
#define PANTOUM_KERNELS_PORTABLE_POOL_WINDOW_H

#include <stddef.h>

#include "kernels/portable/real.h"

typedef struct pool {
  ptrdiff_t height, width, out_height, out_width;
  ptrdiff_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left, pad_bottom, pad_right, dilation_h, dilation_w;
  int count_padding;
  const pt_real *x, *dy;
  pt_real* y;
} pool;

static inline pool pt_pool_of(const pt_tensor* x, const pt_tensor* y, const int64_t* ints) {
  pool p = {(ptrdiff_t)x->dims[2],
            (ptrdiff_t)x->dims[3],
            (ptrdiff_t)y->dims[2],
            (ptrdiff_t)y->dims[3],
            (ptrdiff_t)ints[PT_POOL_KERNEL_H],
            (ptrdiff_t)ints[PT_POOL_KERNEL_W],
            (ptrdiff_t)ints[PT_POOL_STRIDE_H],
            (ptrdiff_t)ints[PT_POOL_STRIDE_W],
            (ptrdiff_t)ints[PT_POOL_PAD_TOP],
            (ptrdiff_t)ints[PT_POOL_PAD_LEFT],
            (ptrdiff_t)ints[PT_POOL_PAD_BOTTOM],
            (ptrdiff_t)ints[PT_POOL_PAD_RIGHT],
            (ptrdiff_t)ints[PT_POOL_DILATION_H],
            (ptrdiff_t)ints[PT_POOL_DILATION_W],
            ints[PT_POOL_COUNT_INCLUDE_PAD] != 0,
            NULL,
            NULL,
            NULL};
  return p;
}

typedef struct window { /* kernel taps [row_begin, row_end) x [column_begin, column_end) that lie on the input */
  ptrdiff_t top, left, row_begin, row_end, column_begin, column_end;
} window;

static inline window window_of(const pool* p, ptrdiff_t out_row, ptrdiff_t out_column) {
  window w = {
      out_row * p->stride_h - p->pad_top, out_column * p->stride_w - p->pad_left, 0, p->kernel_h, 0, p->kernel_w};
  while (w.row_begin < w.row_end && w.top + w.row_begin * p->dilation_h < 0) ++w.row_begin;
  while (w.row_end > w.row_begin && w.top + (w.row_end - 1) * p->dilation_h >= p->height) --w.row_end;
  while (w.column_begin < w.column_end && w.left + w.column_begin * p->dilation_w < 0) ++w.column_begin;
  while (w.column_end > w.column_begin && w.left + (w.column_end - 1) * p->dilation_w >= p->width) --w.column_end;
  return w;
}

#endif
