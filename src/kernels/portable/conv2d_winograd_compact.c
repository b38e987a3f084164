/* F(2x2, 3x3) for processors without caches: with a workspace of tens of KiB, or one that holds all transformed weights. */
#include "kernels/portable/winograd_kernels.h"

static pt_winograd_form strips(void) {
  return (pt_winograd_form){&PT_NAME(pt_winograd2), {NULL, NULL, NULL, NULL}, {0, 0}};
}
static pt_winograd_form whole(void) {
  return (pt_winograd_form){&PT_NAME(pt_winograd2), {NULL, NULL, NULL, NULL}, {0, 1}};
}

PT_WINOGRAD_KERNELS(winograd_compact, strips)
PT_WINOGRAD_KERNELS(winograd_compact_whole, whole)
