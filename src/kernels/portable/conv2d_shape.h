/* The geometry that the three convolution products share. */
#pragma once

#include "kernels/portable/real.h"

typedef struct conv_shape {
  size_t samples, groups;
  size_t channels, height, width;        /* of the input; channels of one group */
  size_t outputs, out_height, out_width; /* of the output; channels of one group */
  size_t kernel_h, kernel_w;
  ptrdiff_t stride_h, stride_w, pad_top, pad_left, dilation_h, dilation_w;
} conv_shape;

static inline conv_shape conv_shape_of(const pt_tensor* x, const pt_tensor* w, const pt_tensor* y,
                                       const int64_t* ints) {
  conv_shape shape;
  shape.samples = x->dims[0];
  shape.groups = (size_t)ints[PT_CONV_GROUPS];
  shape.channels = x->dims[1] / shape.groups;
  shape.height = x->dims[2];
  shape.width = x->dims[3];
  shape.outputs = y->dims[1] / shape.groups;
  shape.out_height = y->dims[2];
  shape.out_width = y->dims[3];
  shape.kernel_h = w->dims[2];
  shape.kernel_w = w->dims[3];
  shape.stride_h = (ptrdiff_t)ints[PT_CONV_STRIDE_H];
  shape.stride_w = (ptrdiff_t)ints[PT_CONV_STRIDE_W];
  shape.pad_top = (ptrdiff_t)ints[PT_CONV_PAD_TOP];
  shape.pad_left = (ptrdiff_t)ints[PT_CONV_PAD_LEFT];
  shape.dilation_h = (ptrdiff_t)ints[PT_CONV_DILATION_H];
  shape.dilation_w = (ptrdiff_t)ints[PT_CONV_DILATION_W];
  return shape;
}

/* The input row of an output row and a kernel row; outside [0, height) in the padding. */
static inline ptrdiff_t conv_input_row(const conv_shape* s, size_t out_row, size_t kernel_row) {
  return (ptrdiff_t)out_row * s->stride_h - s->pad_top + (ptrdiff_t)kernel_row * s->dilation_h;
}
static inline ptrdiff_t conv_input_column(const conv_shape* s, size_t out_column, size_t kernel_column) {
  return (ptrdiff_t)out_column * s->stride_w - s->pad_left + (ptrdiff_t)kernel_column * s->dilation_w;
}

/* The output row that reads an input row through a kernel row, or -1. */
static inline ptrdiff_t conv_output_row(const conv_shape* s, size_t row, size_t kernel_row) {
  const ptrdiff_t numerator = (ptrdiff_t)row + s->pad_top - (ptrdiff_t)kernel_row * s->dilation_h;
  if (s->stride_h == 1) return numerator >= 0 && numerator < (ptrdiff_t)s->out_height ? numerator : -1;
  if (numerator < 0 || numerator % s->stride_h != 0 || numerator / s->stride_h >= (ptrdiff_t)s->out_height) return -1;
  return numerator / s->stride_h;
}

/* The positions i in [0, count) that read inside [0, extent); position i reads at `at` + i * move. */
typedef struct conv_range {
  size_t begin, count;
} conv_range;

static inline conv_range conv_inside(size_t count, size_t extent, ptrdiff_t at, ptrdiff_t move) {
  conv_range range = {0, 0};
  for (; range.begin < count && at < 0; at += move) ++range.begin;
  if (range.begin == count || at >= (ptrdiff_t)extent) return range;
  range.count = extent - (size_t)at;
  if (move > 1) range.count = (range.count + (size_t)move - 1) / (size_t)move;
  if (range.count > count - range.begin) range.count = count - range.begin;
  return range;
}
