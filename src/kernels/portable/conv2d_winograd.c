/* Both forms of Winograd's convolutions for processors with vectors and caches. */
#include "kernels/portable/winograd_kernels.h"

static pt_winograd_form small_tiles(void) {
  return (pt_winograd_form){&PT_NAME(pt_winograd2), PT_NAME(pt_tiles_here)(), {1, 1}};
}
static pt_winograd_form large_tiles(void) {
  return (pt_winograd_form){&PT_NAME(pt_winograd4), PT_NAME(pt_tiles_here)(), {1, 1}};
}

PT_WINOGRAD_KERNELS(winograd, small_tiles)
PT_WINOGRAD_KERNELS(winograd4, large_tiles)
