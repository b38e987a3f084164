/* The tiles of portable/tiles.h with fused multiplications and additions: another class of numerics, "fused". */
#pragma once

#include "kernels/portable/tiles.h"

/* Those of 8 x 32 and 1 x 128; the others are NULL. Every element is one chain in ascending k whose products are not
 * rounded, with AVX2 and with AVX-512 alike: the same bits. On a processor without FMA they round, as the portable ones. */
pt_tiles pt_fused_tiles_here(void);
