/* The geometry that the products of convolutions in three dimensions of space share. */
#pragma once

#include "kernels/portable/conv2d_shape.h"

enum { PT_VOLUME = 3 }; /* depth, height, width */

typedef struct conv3d_axis {
  size_t in, out, kernel;
  ptrdiff_t stride, before, dilation;
} conv3d_axis;

typedef struct conv3d_shape {
  size_t samples, groups, channels, outputs; /* channels and outputs of one group */
  conv3d_axis axis[PT_VOLUME];
  size_t in_size, out_size, taps; /* of one channel */
} conv3d_shape;

/* The shape of a convolution of volumes, or of images, which are volumes with a depth of 1. */
static inline conv3d_shape conv3d_shape_of(const pt_tensor* x, const pt_tensor* w, const pt_tensor* y,
                                           const int64_t* ints) {
  const size_t spatial = x->rank - 2u;
  conv3d_shape s = {.axis = {{1, 1, 1, 1, 0, 1}}, .in_size = 1, .out_size = 1, .taps = 1};
  s.samples = x->dims[0];
  s.groups = (size_t)ints[4 * spatial];
  s.channels = x->dims[1] / s.groups;
  s.outputs = y->dims[1] / s.groups;
  for (size_t d = 0; d < spatial; ++d) {
    const conv3d_axis axis = {x->dims[2 + d],
                              y->dims[2 + d],
                              w->dims[2 + d],
                              (ptrdiff_t)ints[d],
                              (ptrdiff_t)ints[spatial + d],
                              (ptrdiff_t)ints[3 * spatial + d]};
    s.axis[PT_VOLUME - spatial + d] = axis;
    s.in_size *= axis.in;
    s.out_size *= axis.out;
    s.taps *= axis.kernel;
  }
  return s;
}

/* The input position of an output position and a kernel element; outside [0, in) in the padding. */
static inline ptrdiff_t conv3d_input(const conv3d_axis* axis, size_t out, size_t tap) {
  return (ptrdiff_t)out * axis->stride - axis->before + (ptrdiff_t)tap * axis->dilation;
}

/* The output position that reads an input position through a kernel element, or -1. */
static inline ptrdiff_t conv3d_output(const conv3d_axis* axis, size_t in, size_t tap) {
  const ptrdiff_t numerator = (ptrdiff_t)in + axis->before - (ptrdiff_t)tap * axis->dilation;
  if (numerator < 0 || numerator % axis->stride != 0) return -1;
  return numerator / axis->stride < (ptrdiff_t)axis->out ? numerator / axis->stride : -1;
}

static inline int conv3d_holds(size_t extent, ptrdiff_t at) {
  return at >= 0 && at < (ptrdiff_t)extent;
}

/* The k-th kernel element of a group: (plane; depth, row, column), advanced one by one. */
typedef struct conv3d_tap {
  size_t plane, at[PT_VOLUME];
} conv3d_tap;

static inline conv3d_tap conv3d_tap_at(const conv3d_shape* s, size_t k) {
  conv3d_tap tap = {k / s->taps, {0}};
  k %= s->taps;
  for (size_t d = PT_VOLUME; d-- > 0; k /= s->axis[d].kernel) tap.at[d] = k % s->axis[d].kernel;
  return tap;
}

static inline void conv3d_tap_next(const conv3d_shape* s, conv3d_tap* tap) {
  for (size_t d = PT_VOLUME; d-- > 0;) {
    if (++tap->at[d] < s->axis[d].kernel) return;
    tap->at[d] = 0;
  }
  ++tap->plane;
}

/* A row of a volume whose rows are counted through all depths. */
typedef struct conv3d_row {
  size_t depth, row;
} conv3d_row;

static inline conv3d_row conv3d_row_at(size_t rows, size_t index) {
  const conv3d_row at = {index / rows, index % rows};
  return at;
}

/* Where the input row of an output row and a kernel element begins, in elements of a channel; -1 in the padding. */
static inline ptrdiff_t conv3d_input_row(const conv3d_shape* s, conv3d_row out, const conv3d_tap* tap) {
  const ptrdiff_t depth = conv3d_input(&s->axis[0], out.depth, tap->at[0]),
                  row = conv3d_input(&s->axis[1], out.row, tap->at[1]);
  if (!conv3d_holds(s->axis[0].in, depth) || !conv3d_holds(s->axis[1].in, row)) return -1;
  return (depth * (ptrdiff_t)s->axis[1].in + row) * (ptrdiff_t)s->axis[2].in;
}

/* Where the output row begins that reads an input row through a kernel element; -1: none. */
static inline ptrdiff_t conv3d_output_row(const conv3d_shape* s, conv3d_row in, const conv3d_tap* tap) {
  const ptrdiff_t depth = conv3d_output(&s->axis[0], in.depth, tap->at[0]),
                  row = conv3d_output(&s->axis[1], in.row, tap->at[1]);
  if (depth < 0 || row < 0) return -1;
  return (depth * (ptrdiff_t)s->axis[1].out + row) * (ptrdiff_t)s->axis[2].out;
}

/* The output columns whose input column lies inside, through a kernel column, which the first of all reads at `at`. */
static inline conv_range conv3d_columns(const conv3d_shape* s, const conv3d_tap* tap, ptrdiff_t* at) {
  *at = conv3d_input(&s->axis[2], 0, tap->at[2]);
  return conv_inside(s->axis[2].out, s->axis[2].in, *at, s->axis[2].stride);
}
