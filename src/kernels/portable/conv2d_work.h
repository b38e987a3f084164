/* conv2d and conv2d_dx as products for processors without caches: rows of the product are channels of the result,
 * columns are its positions. A rectangle whose positions read the same kernel elements inside the source needs no
 * test within the product. */
#pragma once

#include "kernels/portable/conv2d_shape.h"
#include "kernels/portable/gemm.h"

typedef struct conv_work {
  conv_shape s;
  int backward;
  size_t rows, reduced;               /* channels of the result and of the source, of one group */
  size_t height, width;               /* of the result */
  size_t source_height, source_width; /* of the source */
  ptrdiff_t w_row, w_reduced;         /* strides of the weights */
  const pt_real *w, *source;          /* of the first group; of plane `plane` */
  /* The part to compute now: for planes (sample * groups + group) in [plane, planes) the `part` channels from `row`
   * on. `made` points at element `origin` of the first of them in each plane; channels are `c_row` elements apart. */
  size_t plane, planes, row, part, origin, c_row;
  pt_real* made;
} conv_work;

/* One direction. Position index * step + phase of the result reads, with its tap i, the source at first + index *
 * move + i * tap_move; the weight of the tap is tap_first + i * tap_step. */
typedef struct conv_axis {
  size_t count, taps, extent, phase, step;
  ptrdiff_t first, move, tap_move, tap_first, tap_step;
} conv_axis;

/* Positions [begin, end) whose taps [tap, tap + taps), and no others, read inside of the source. */
typedef struct conv_span {
  size_t begin, end, tap, taps;
} conv_span;

/* Describes all of the result. conv2d_dx with a stride has one phase for each remainder of a position divided by it;
 * everything else has only phase 0. */
conv_work PT_NAME(pt_conv2d_work)(const pt_call* call);
conv_work PT_NAME(pt_conv2d_dx_work)(const pt_call* call);
conv_axis PT_NAME(pt_conv_rows)(const conv_work* c, size_t phase);
conv_axis PT_NAME(pt_conv_columns)(const conv_work* c, size_t phase);

/* Computes a rectangle of positions. Groups with fewer channels than this, in result and source, use windows in place
 * of tiles. */
enum { PT_FEW_CHANNELS = 4 };
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
