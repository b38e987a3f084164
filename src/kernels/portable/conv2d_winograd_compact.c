/* For processors without caches: a workspace of tens of KiB, or one with all transformed weights in it. */
#include "kernels/portable/winograd_kernels.h"

static pt_winograd_form strips(void) {
  return (pt_winograd_form){&PT_NAME(pt_winograd2), {NULL, NULL, NULL, NULL}, {0, 0}};
}
static pt_winograd_form whole(void) {
  return (pt_winograd_form){&PT_NAME(pt_winograd2), {NULL, NULL, NULL, NULL}, {0, 1}};
}

PT_WINOGRAD_KERNELS(winograd_compact, strips)
PT_WINOGRAD_KERNELS(winograd_compact_whole, whole)
