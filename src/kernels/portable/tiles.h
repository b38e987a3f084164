/* Small blocks of outputs that are held in registers: the inner loops of all products. */
#pragma once

#include "kernels/portable/real.h"

/* acc[row * acc_row + column] += a[row][a_at[kk]] * b[b_at[kk] + column] for kk in [0, count), ascending; each element
 * is one chain, a multiplication rounded before its addition. a_at ascends. Rows from `rows` on, and columns from
 * `columns` on, are not wanted: they may be computed, too, but no column beyond the next multiple of the tiles' unit. */
typedef void (*pt_tile)(const pt_real* const* a, const size_t* a_at, const pt_real* b, const size_t* b_at, size_t count,
                        pt_real* acc, size_t acc_row, size_t rows, size_t columns);

typedef struct pt_tiles {
  pt_tile of_8x32, of_8x16, of_8x8, of_1x128;
  size_t unit; /* of the columns of of_8x32; divides 32 */
  int packs;   /* is a copy of A in which rows lie side by side worth it for three tiles and more? */
} pt_tiles;

/* What columns of tiles take, in columns of whole tiles: those beside the last multiple of 16 take more. */
static inline size_t pt_tile_columns(const pt_tiles* tiles, size_t columns) {
  const size_t made = (columns + tiles->unit - 1) / tiles->unit * tiles->unit;
  return made % 16 == 0 ? made : made + 2;
}

/* The fastest ones for this processor; all give the same bits. */
pt_tiles PT_NAME(pt_tiles_here)(void);
