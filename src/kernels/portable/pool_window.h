/* A pooling's extents, and the taps of each of its windows that lie on the image. */
#pragma once

#include <stddef.h>

#include "kernels/portable/real.h"

typedef struct pool {
  ptrdiff_t height, width, out_height, out_width;
  ptrdiff_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left, pad_bottom, pad_right, dilation_h, dilation_w;
  int count_padding;
  size_t planes;
  pt_real *image, *made; /* what is pooled and what is made of it, or their gradients */
} pool;

static inline pool pt_pool_of(const pt_tensor* image, const pt_tensor* made, const int64_t* ints) {
  return (pool){.height = (ptrdiff_t)image->dims[2],
                .width = (ptrdiff_t)image->dims[3],
                .out_height = (ptrdiff_t)made->dims[2],
                .out_width = (ptrdiff_t)made->dims[3],
                .kernel_h = (ptrdiff_t)ints[PT_POOL_KERNEL_H],
                .kernel_w = (ptrdiff_t)ints[PT_POOL_KERNEL_W],
                .stride_h = (ptrdiff_t)ints[PT_POOL_STRIDE_H],
                .stride_w = (ptrdiff_t)ints[PT_POOL_STRIDE_W],
                .pad_top = (ptrdiff_t)ints[PT_POOL_PAD_TOP],
                .pad_left = (ptrdiff_t)ints[PT_POOL_PAD_LEFT],
                .pad_bottom = (ptrdiff_t)ints[PT_POOL_PAD_BOTTOM],
                .pad_right = (ptrdiff_t)ints[PT_POOL_PAD_RIGHT],
                .dilation_h = (ptrdiff_t)ints[PT_POOL_DILATION_H],
                .dilation_w = (ptrdiff_t)ints[PT_POOL_DILATION_W],
                .count_padding = ints[PT_POOL_COUNT_INCLUDE_PAD] != 0,
                .planes = (size_t)image->dims[0] * image->dims[1],
                .image = image->data,
                .made = made->data};
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
