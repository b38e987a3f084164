/* A pager on storage of blocks: what a transfer shares of a block goes through a staging buffer of one block. */
#pragma once

#include "blocks.h"
#include "pantoum/pantoum.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pt_block_pager {
  pt_blocks* blocks;
  uint8_t* staging;       /* PT_BLOCK_BYTES, aligned to 4; the caller's, as `blocks` is */
  uint32_t first, count;  /* the blocks that the plan's storage lies in */
  uint32_t* sums;         /* pt_block_sum of each of them, 0: not written yet; NULL: blocks are not checked */
  uint64_t bytes_written; /* whole blocks, since it was opened: they take flash endurance */
  /* Asked before a write; what it refuses is not written. NULL: all is. */
  pt_status (*may_write)(void* owner, uint64_t at, const void* data, size_t bytes);
  void* owner;
} pt_block_pager;

/* The CRC-32 of a block, which 0 is none of. */
uint32_t pt_block_sum(const uint8_t* block);
/* The interface of the interpreter; transfers are done when it returns. Slots of a plan begin with a block and own it
 * to its end, so a write that begins with a block reads nothing. PT_E_FULL beyond `count`; PT_E_IO a block that is not
 * what was written there, where blocks are checked; what the storage says. */
pt_pager pt_block_pager_interface(pt_block_pager* pager);

#ifdef __cplusplus
}
#endif
