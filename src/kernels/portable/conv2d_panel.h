/* Panels of implicit im2col: runs of positions within one image row, copied without a division per element. */
#pragma once

#include <string.h>

#include "kernels/portable/conv2d_shape.h"
#include "kernels/portable/conv_product.h"

typedef struct conv2d {
  conv_operands of;
  conv_shape s;
} conv2d;

static inline conv2d conv2d_of(const pt_tensor* x, const pt_tensor* w, const pt_tensor* y, const pt_call* call) {
  return (conv2d){conv_operands_of(x, w, y, call), conv_shape_of(x, w, y, call->ints)};
}

typedef struct conv_run { /* positions (row, column) .. (row, column + length) of an image, at [at, at + length) of the
                             panel's row */
  size_t row, column, length, at;
} conv_run;

/* Cuts positions n0 .. n0 + columns of images of `width` columns into runs; returns their number (at most `columns`).
 */
static inline size_t conv_runs(size_t n0, size_t columns, size_t width, conv_run* runs) {
  size_t count = 0, row = n0 / width, column = n0 % width;
  for (size_t done = 0; done < columns; ++row, column = 0) {
    size_t length = width - column;
    if (length > columns - done) length = columns - done;
    runs[count].row = row;
    runs[count].column = column;
    runs[count].length = length;
    runs[count++].at = done;
    done += length;
  }
  return count;
}

/* The k-th kernel element of a group: (plane, r, q), advanced one by one. */
typedef struct conv_tap {
  size_t plane, r, q;
} conv_tap;

static inline conv_tap conv_tap_at(const conv_shape* s, size_t k) {
  const size_t taps = s->kernel_h * s->kernel_w;
  conv_tap tap = {k / taps, k % taps / s->kernel_w, k % s->kernel_w};
  return tap;
}

static inline void conv_tap_next(const conv_shape* s, conv_tap* tap) {
  if (++tap->q < s->kernel_w) return;
  tap->q = 0;
  if (++tap->r < s->kernel_h) return;
  tap->r = 0;
  ++tap->plane;
}

enum { kLongRun = 8 }; /* shorter ones are copied sooner than a function is called */

/* to[i * to_step] = from[first + i * from_step] for the i whose source lies in [0, width) and whose target in [0,
 * length); 0 elsewhere. */
static inline void conv_copy_run(pt_real* to, ptrdiff_t length, ptrdiff_t to_first, ptrdiff_t to_step,
                                 const pt_real* from, ptrdiff_t first, ptrdiff_t from_step, ptrdiff_t width) {
  ptrdiff_t begin = 0, end = to_first < length ? (length - to_first + to_step - 1) / to_step : 0;
  if (first < 0) begin = from_step == 1 ? -first : (-first + from_step - 1) / from_step;
  const ptrdiff_t most =
      first < width ? (from_step == 1 ? width - first : (width - first + from_step - 1) / from_step) : 0;
  if (end > most) end = most;
  if (begin > end) begin = end;
  if (to_step == 1 && from_step == 1) {
    for (ptrdiff_t i = 0; i < begin; ++i) to[i] = 0;
    if (end - begin >= kLongRun)
      memcpy(to + begin, from + first + begin, (size_t)(end - begin) * sizeof(pt_real));
    else
      for (ptrdiff_t i = begin; i < end; ++i) to[i] = from[first + i];
    for (ptrdiff_t i = end; i < length; ++i) to[i] = 0;
    return;
  }
  if (to_step == 1 && from_step == 2) {
    for (ptrdiff_t i = 0; i < begin; ++i) to[i] = 0;
    for (ptrdiff_t i = begin; i < end; ++i) to[i] = from[first + i * 2];
    for (ptrdiff_t i = end; i < length; ++i) to[i] = 0;
    return;
  }
  for (ptrdiff_t i = 0; i < length; ++i) to[i] = 0;
  for (ptrdiff_t i = begin; i < end; ++i) to[to_first + i * to_step] = from[first + i * from_step];
}
