/* Computes conv2d and conv2d_dx as matrix products, for processors without caches. The rows of a product are channels of the result; the columns are
 * positions of the result. All positions of one rectangle read the same kernel elements, and read only inside the source, so the loops of the product
 * test no bounds. */
#pragma once

#include "kernels/portable/conv2d_shape.h"
#include "kernels/portable/gemm.h"

typedef struct conv_work {
  conv_shape s;
  int backward;
  size_t rows, reduced;               /* channels in one group: of the result, of the source */
  size_t height, width;               /* of a plane of the result, in elements */
  size_t source_height, source_width; /* of a plane of the source, in elements */
  int goes_on;                        /* sums begin with what the result holds */
  ptrdiff_t w_row, w_reduced;         /* distance in `w` between two channels of the result, of the source */
  const pt_real *w, *source;          /* the weights of the first group; plane `plane` of the source */
  /* The part to compute now: the `part` channels from channel `row` on, in every plane (sample * groups + group) of [plane, planes). `made` points at
   * element `origin` of channel `row` in plane `plane`; its channels are `c_row` elements apart, its planes part * c_row. */
  size_t plane, planes, row, part, origin, c_row;
  pt_real* made;
} conv_work;

/* One axis of the image. Position index * step + phase of the result (index < count) multiplies the source at first + index * move + tap * tap_move
 * by the weight at tap_first + tap * tap_step (tap < taps). `extent` is the size of the source along the axis. */
typedef struct conv_axis {
  size_t count, taps, extent, phase, step;
  ptrdiff_t first, move, tap_move, tap_first, tap_step;
} conv_axis;

/* Positions [begin, end) at which exactly the taps [tap, tap + taps) read inside the source. */
typedef struct conv_span {
  size_t begin, end, tap, taps;
} conv_span;

/* pt_conv2d_work and pt_conv2d_dx_work return the work of the whole result. pt_conv_rows and pt_conv_columns return the vertical and the horizontal
 * axis of one phase. In conv2d_dx a phase is the remainder of a position divided by the stride; conv2d has only phase 0. */
conv_work PT_NAME(pt_conv2d_work)(const pt_call* call);
conv_work PT_NAME(pt_conv2d_dx_work)(const pt_call* call);
conv_axis PT_NAME(pt_conv_rows)(const conv_work* c, size_t phase);
conv_axis PT_NAME(pt_conv_columns)(const conv_work* c, size_t phase);

/* A group with fewer channels than this, both in the result and in the source, is computed by windows in place of tiles. */
enum { PT_FEW_CHANNELS = 4 };
/* Computes the rectangle of positions `down` (of the vertical axis `v`) times `along` (of the horizontal axis `h`). */
void PT_NAME(pt_conv_rectangle)(const conv_work* c, const conv_axis* v, const conv_axis* h, const conv_span* down,
                                const conv_span* along);

static inline size_t conv_phases_down(const conv_work* c) {
  return c->backward ? (size_t)c->s.stride_h : 1;
}
static inline size_t conv_phases_along(const conv_work* c) {
  return c->backward ? (size_t)c->s.stride_w : 1;
}
static inline size_t conv_planes(const conv_work* c) {
  return c->s.samples * c->s.groups;
}
static inline size_t conv_plane_size(const conv_work* c) {
  return c->reduced * c->source_height * c->source_width;
}
