/* Products of volumes, and their panels, whose columns are positions: rows of the panel are kernel elements, read run by run. */
#pragma once

#include "kernels/portable/conv2d_panel.h"
#include "kernels/portable/conv3d_shape.h"

typedef struct conv3d {
  conv_operands of;
  conv3d_shape s;
} conv3d;

static inline conv3d conv3d_of(const pt_tensor* x, const pt_tensor* w, const pt_tensor* y, const pt_call* call) {
  return (conv3d){conv_operands_of(x, w, y, call), conv3d_shape_of(x, w, y, call->ints)};
}

/* Writes what a kernel element meets at the positions of a run; `channel` is the first element of the tap's plane. */
typedef void (*conv3d_pack)(const conv3d_shape* s, const conv3d_tap* tap, const conv_run* run, conv3d_row at,
                            const pt_real* channel, pt_real* to);

/* Positions n0 .. n0 + columns of volumes with rows of `width` elements, `height` to a depth; `source` has planes of
 * `plane` elements. */
static inline void conv3d_panel(const conv3d_shape* s, const pt_real* source, size_t plane, size_t height, size_t width,
                                size_t k0, size_t count, size_t n0, size_t columns, conv3d_pack pack, pt_real* panel) {
  conv_run runs[PT_GEMM_NR];
  conv3d_row rows[PT_GEMM_NR];
  const size_t run_count = conv_runs(n0, columns, width, runs);
  for (size_t run = 0; run < run_count; ++run) rows[run] = conv3d_row_at(height, runs[run].row);
  conv3d_tap tap = conv3d_tap_at(s, k0);
  for (size_t kk = 0; kk < count; ++kk, conv3d_tap_next(s, &tap)) {
    pt_real* row = panel + kk * PT_GEMM_NR;
    for (size_t run = 0; run < run_count; ++run)
      pack(s, &tap, &runs[run], rows[run], source + tap.plane * plane, row + runs[run].at);
    for (size_t column = columns; column < PT_GEMM_NR; ++column) row[column] = 0;
  }
}
