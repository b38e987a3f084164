/* Small blocks of outputs that are held in registers: the inner loops of all products. */
#pragma once

#include "kernels/portable/real.h"

/* acc[M][N] += a[row][a_at[kk]] * b[b_at[kk] + column] for kk in [0, count), ascending; each element is one chain, a
 * multiplication rounded before its addition. */
typedef void (*pt_tile)(const pt_real* const* a, const size_t* a_at, const pt_real* b, const size_t* b_at, size_t count,
                        pt_real* acc);

typedef struct pt_tiles {
  pt_tile of_8x32, of_8x16, of_8x8, of_1x128;
} pt_tiles;

/* The fastest ones for this processor; all give the same bits. */
pt_tiles PT_NAME(pt_tiles_here)(void);
