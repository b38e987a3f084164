/* A pager on storage that reads and writes whole blocks. If a transfer covers only a part of a block, that block passes through a staging buffer. */
#pragma once

#include "blocks.h"
#include "pantoum/pantoum.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pt_block_pager {
  pt_blocks* blocks;
  uint8_t* staging;      /* PT_BLOCK_BYTES bytes, aligned to 4; the caller owns them, and `blocks` */
  uint32_t first, count; /* the first block of the plan's storage; the number of its blocks */
  uint32_t* sums;        /* pt_block_sum of each block, 0: the block is not written yet; NULL: blocks are not checked */
  uint64_t bytes_written; /* in whole blocks, since the pager was opened: each of them wears the flash */
  /* Called before a write; unless it returns PT_OK, the write is refused with its status. NULL: every write is allowed. */
  pt_status (*may_write)(void* owner, uint64_t at, const void* data, size_t bytes);
  void* owner;
} pt_block_pager;

/* Returns the CRC-32 of a block, or 1 if that is 0. */
uint32_t pt_block_sum(const uint8_t* block);
/* Returns the interface for the interpreter; its read and write return when the transfer is done. A slot of a plan begins at the start of a block and
 * shares no block with another slot, so a write that begins at the start of a block needs no read. A transfer fails with PT_E_FULL: it goes beyond
 * `count` blocks; PT_E_IO: blocks are checked, and one is not what was last written there; any status of the storage. */
pt_pager pt_block_pager_interface(pt_block_pager* pager);

#ifdef __cplusplus
}
#endif
