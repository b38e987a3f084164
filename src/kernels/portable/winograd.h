/* Winograd's convolutions of 3 x 3 kernels, stride 1: tiles of m x m outputs by n x n multiplications, n = m + 2, in
 * place of 9 m m. F(2x2, 3x3) takes 16 for 36, F(4x4, 3x3) 36 for 144, and is less accurate.
 *
 * Y = At [(G g Gt) . (Bt d B)] A for a tile d of the source and a kernel g; the gradient of g is the adjoint,
 * Gt [(A dY At) . (Bt d B)] G. Every transform is one of lines, columns first, then rows. Between them are n x n
 * products: over channels, or over tiles for the gradient. Order of additions: each of those is one chain from +0 in
 * ascending channel, or (sample, row of tiles, tile); how the work is cut into strips and blocks changes no bit. */
#pragma once

#include "kernels/portable/conv2d_shift.h"
#include "kernels/portable/tiles.h"
#include "kernels/portable/winograd_blocks.h"

/* Transforms `count` lines: line i lies at d + i * move, its elements `step` apart; likewise what is made of it. */
typedef struct pt_lines {
  size_t move, step;
} pt_lines;
typedef void (*pt_transform)(size_t count, const pt_real* d, pt_lines from, pt_real* out, pt_lines to);

typedef struct pt_winograd {
  size_t m;              /* 2 or 4 */
  pt_transform source;   /* Bt: n of the source to n */
  pt_transform weights;  /* G: 3 of a kernel to n */
  pt_transform made;     /* At: n to m outputs */
  pt_transform gradient; /* A: m of dY to n */
  pt_transform back;     /* Gt: n to 3 of a kernel's gradient */
} pt_winograd;

extern const pt_winograd PT_NAME(pt_winograd2);
extern const pt_winograd PT_NAME(pt_winograd4);

typedef struct pt_winograd_form {
  const pt_winograd* of;
  pt_tiles tiles; /* where cut.has_vectors; else sums of 4 x 4 in registers */
  pt_winograd_cut cut;
} pt_winograd_form;

/* For conv2d and conv2d_dx: the convolution `c`, of a 3 x 3 kernel without dilation; a finish
 * needs no scratch. Workspace in bytes;
 * PT_NO_KERNEL: another kernel, or too few channels for any gain. */
size_t PT_NAME(pt_winograd_workspace)(const pt_shifted* c, const pt_winograd_form* form, const pt_pool* pool);
pt_status PT_NAME(pt_winograd_run)(const pt_shifted* c, const pt_winograd_form* form, const pt_pool* pool,
                                   void* workspace);
/* The same for conv2d_dw. */
size_t PT_NAME(pt_winograd_dw_workspace)(const pt_call* call, const pt_winograd_form* form);
pt_status PT_NAME(pt_winograd_dw_run)(const pt_call* call, const pt_winograd_form* form);

enum { PT_WINOGRAD_CHUNK = 64 }; /* terms that one call of a vector tile adds */

/* acc[row][column] += sum over k of a[k * rows + row] * b[k * b_step + column], ascending k: `rows` is 8 with vectors,
 * else 4; `columns` is 8, 16 or 32 with vectors, else any multiple of 4. */
typedef struct pt_winograd_sums {
  size_t columns, count;
} pt_winograd_sums;
void PT_NAME(pt_winograd_add)(const pt_winograd_form* form, const pt_winograd_sums* s, const pt_real* a,
                              const pt_real* b, pt_real* acc);
static inline size_t pt_winograd_rows(const pt_winograd_form* form) {
  return form->cut.has_vectors ? 8 : 4;
}

/* Tiles of one row of one image, numbered from `at` in their strip. */
typedef struct pt_winograd_run_of {
  size_t image, row, column, length, at;
} pt_winograd_run_of;
typedef struct pt_winograd_grid { /* of a group: tiles run through samples, rows, columns */
  size_t down, along, groups, group;
} pt_winograd_grid;
/* The run that begins at a tile, of at most `most` tiles. */
static inline pt_winograd_run_of pt_winograd_run_at(const pt_winograd_grid* grid, size_t tile, size_t most, size_t at) {
  const size_t column = tile % grid->along, left = grid->along - column;
  const pt_winograd_run_of run = {tile / grid->along / grid->down * grid->groups + grid->group,
                                  tile / grid->along % grid->down, column, left < most ? left : most, at};
  return run;
}

/* The source's tiles of a run and a plane: Bt d B. Scratch: 2 n (m length + 2) elements. Element (i, j) of a tile t goes
 * to out + (i * n + j) * step + t * move. */
typedef struct pt_winograd_source {
  const pt_real* plane;
  size_t height, width;
  ptrdiff_t top, left;
} pt_winograd_source;
void PT_NAME(pt_winograd_source_tiles)(const pt_winograd* of, const pt_winograd_source* source,
                                       const pt_winograd_run_of* run, pt_real* scratch, pt_real* out, pt_lines to);
/* [0, length) of a line with `inside` elements from `from + first` on, where they lie in [0, width); else zeros. */
void PT_NAME(pt_winograd_copy_line)(pt_real* to, size_t length, const pt_real* from, ptrdiff_t first, size_t width);
