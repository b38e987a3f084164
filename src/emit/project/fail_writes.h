/* A storage whose writes fail from a chosen block on, for tests of what happens then. */
#pragma once

#include "blocks.h"

typedef struct pt_fail_writes {
  pt_blocks storage;
  uint32_t left; /* blocks that may still be written */
} pt_fail_writes;

/* Puts itself in front of `blocks`: block writes are counted from 1, and number `first` and all later ones return
 * PT_E_IO. Of a longer write, the blocks before that one are written. `fail` must live as long as `blocks`. */
void pt_fail_writes_open(pt_fail_writes* fail, uint32_t first, pt_blocks* blocks);
