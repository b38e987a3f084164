/* conv2d and conv2d_dx as products for processors without caches: rows of the product are channels of what is made,
 * columns its positions. Where all positions of a rectangle have the same kernel elements inside of the source, the
 * product needs no test. */
#ifndef PANTOUM_KERNELS_PORTABLE_CONV2D_WORK_H
#define PANTOUM_KERNELS_PORTABLE_CONV2D_WORK_H

#include "kernels/portable/conv2d_shape.h"
#include "kernels/portable/gemm.h"

typedef struct conv_work {
  conv_shape s;
  int backward;
  size_t rows, reduced;               /* channels made, and summed over, of one group */
  size_t height, width;               /* of what is made */
  size_t source_height, source_width; /* of what is read */
  ptrdiff_t w_row, w_reduced;         /* strides of the weights */
  const pt_real *w, *source;          /* of the first group; of plane `plane` */
  /* What to make now, for planes (sample * groups + group) [plane, planes): `part` channels from `row` on. The element
   * `origin` of each plane's first is at `made`; channels are `c_row` apart. */
  size_t plane, planes, row, part, origin, c_row;
  pt_real* made;
} conv_work;

/* One direction: position `at` = first + move * index is made at index * step + phase, tap i of it reads
 * source at + i * tap_move, its weight is tap_first + i * tap_step. */
typedef struct conv_axis {
  size_t count, taps, extent, phase, step;
  ptrdiff_t first, move, tap_move, tap_first, tap_step;
} conv_axis;

/* Positions [begin, end) whose taps [tap, tap + taps), and no others, read inside of the source. */
typedef struct conv_span {
  size_t begin, end, tap, taps;
} conv_span;

/* All planes whole. conv2d_dx with a stride has a phase for every remainder of a position's division by it; all else
 * has phase 0 alone. */
conv_work PT_NAME(pt_conv2d_work)(const pt_call* call);
conv_work PT_NAME(pt_conv2d_dx_work)(const pt_call* call);
conv_axis PT_NAME(pt_conv_rows)(const conv_work* c, size_t phase);
conv_axis PT_NAME(pt_conv_columns)(const conv_work* c, size_t phase);

/* Makes a rectangle of positions. Groups of fewer channels, made and read, have no tiles but windows. */
enum { PT_FEW_CHANNELS = 4 };
void PT_NAME(pt_conv_rectangle)(const conv_work* c, const conv_axis* v, const conv_axis* h, const conv_span* down,
                                const conv_span* along);

static inline size_t conv_planes(const conv_work* c) {
  return c->s.samples * c->s.groups;
}
static inline size_t conv_plane_size(const conv_work* c) {
  return c->reduced * c->source_height * c->source_width;
}

#endif
