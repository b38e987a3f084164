/* Products for in-order processors with little memory: C[m, n] = sum over k of A[m, k] B[k, n]. Each element is ONE
 * sum in ascending k from +0, or from the value in C, which stays in a register from its first term to its last. Sums that share operands are
 * computed side by side. Nothing is packed; the stack holds a few hundred bytes.
 *
 * k runs through a nest of three loops, the innermost last; depending on the strides the nest is a matrix product or
 * one of a convolution's three. MVE (Cortex-M55) treats subnormal numbers as zero: there the bits equal the
 * reference's as long as no subnormal number occurs. */
#pragma once

#include "kernels/portable/gemm.h"

typedef struct pt_nest { /* strides in elements */
  size_t rows, columns;  /* of C */
  size_t count[3];
  ptrdiff_t a_step[3], b_step[3];
  ptrdiff_t a_row, b_column, c_row, c_column;
  int goes_on; /* from what C has */
} pt_nest;

/* C must not overlap A or B. May reorder loops of one turn in `nest`, which describes the same product afterwards. */
void PT_NAME(pt_nest_run)(pt_nest* nest, const pt_real* a, const pt_real* b, pt_real* c);

/* The product of a few channels and a window: C = sum over the window's elements (r, q) of W X, ascending, from +0
 * or, if `goes_on`, from the value in C. Element (r, q) of position (line, i) is read at x + line * x_line + i *
 * x_move + r * x_down + q * x_along. */
enum { PT_TAPS = 3 };
typedef struct pt_window {
  size_t rows, columns;
  ptrdiff_t w_down, w_along, x_down, x_along, x_move, c_move, x_line, c_line;
  int goes_on; /* from what C has */
} pt_window;
void PT_NAME(pt_window_run)(const pt_window* window, size_t lines, size_t count, const pt_real* w, const pt_real* x,
                            pt_real* c);

/* c[sample][row][column] += bias[row], once the sum is complete. */
void PT_NAME(pt_add_bias)(pt_real* c, const pt_real* bias, size_t samples, size_t rows, size_t columns);

/* conv2d_dx, and conv2d without its bias, which pass their elements to `finish` as they are computed. Its scratch
 * holds PT_COMPACT_ROWS rows of the image. */
enum { PT_COMPACT_ROWS = 8 };
/* Bytes of that scratch for this result: rows of one channel, or one row of each channel of a group. */
static inline size_t pt_compact_strip(const pt_tensor* made, int64_t groups) {
  const size_t channels = made->dims[1] / (size_t)groups;
  return pt_least(channels > 1 ? channels : made->dims[2], PT_COMPACT_ROWS) * made->dims[3] * sizeof(pt_real);
}
void PT_NAME(pt_conv2d_compact_finish)(const pt_call* call, const pt_finish* finish);
void PT_NAME(pt_conv2d_dx_compact_finish)(const pt_call* call, const pt_finish* finish);

/* matmul and conv2d_dw, which pass their elements to `finish` as they are computed: `take` gets batch 0, row 0, and
 * the element's index in the result as the column. The output of `call` gives the extents; scratch sizes are in
 * elements. */
void PT_NAME(pt_matmul_compact_finish)(const pt_call* call, const pt_finish* finish);
void PT_NAME(pt_conv2d_dw_compact_finish)(const pt_call* call, const pt_finish* finish);
size_t PT_NAME(pt_matmul_compact_scratch)(const pt_call* call);
size_t PT_NAME(pt_conv2d_dw_compact_scratch)(const pt_call* call);
