/* Storage as numbered blocks of 512 bytes: what a driver offers, and all that the pager of a firmware asks for. */
#pragma once

#include <stdint.h>

#include "pantoum/pantoum.h"

enum { PT_BLOCK_BYTES = 512 };

/* Filled in by a driver, which keeps what `context` points to; calls are synchronous, one at a time. `data` is the
 * caller's, count * 512 bytes, of any alignment. After an error the contents of the blocks asked for are unknown.
 *   PT_E_FULL  blocks beyond the end were asked for, or the storage has no space; nothing was transferred
 *   PT_E_IO    the device did not answer, refused, or gave damaged data */
typedef struct pt_blocks {
  void* context;
  uint32_t count; /* blocks of the whole storage */
  pt_status (*read)(void* context, uint32_t block, void* data, uint32_t count);
  pt_status (*write)(void* context, uint32_t block, const void* data, uint32_t count);
  /* Returns when everything written will be read again after a loss of power, as far as the device can promise it. */
  pt_status (*sync)(void* context);
} pt_blocks;

/* PT_OK where blocks [block, block + count) lie within `total`, else PT_E_FULL. */
static inline pt_status pt_blocks_within(uint32_t total, uint32_t block, uint32_t count) {
  return count <= total && block <= total - count ? PT_OK : PT_E_FULL;
}
