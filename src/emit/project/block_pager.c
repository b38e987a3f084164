#include "block_pager.h"

#include <string.h>

enum { WHOLE = PT_BLOCK_BYTES };

static pt_status in_range(const pt_block_pager* pager, uint64_t at, size_t bytes) {
  const uint64_t room = (uint64_t)pager->count * WHOLE;
  return at <= room && bytes <= room - at ? PT_OK : PT_E_FULL;
}

static uint32_t block_of(const pt_block_pager* pager, uint64_t at) {
  return pager->first + (uint32_t)(at / WHOLE);
}

/* Whole blocks at `at`, or the part of one that the transfer shares: how many of `bytes`. */
static size_t next_part(uint64_t at, size_t bytes, uint32_t* skip) {
  *skip = (uint32_t)(at % WHOLE);
  if (*skip == 0 && bytes >= WHOLE) return bytes / WHOLE * WHOLE;
  return bytes < (size_t)(WHOLE - *skip) ? bytes : (size_t)(WHOLE - *skip);
}

static pt_status read_part(pt_block_pager* pager, uint64_t at, uint8_t* data, size_t part, uint32_t skip) {
  const pt_blocks* blocks = pager->blocks;
  pt_status status;
  if (part >= WHOLE) return blocks->read(blocks->context, block_of(pager, at), data, (uint32_t)(part / WHOLE));
  status = blocks->read(blocks->context, block_of(pager, at), pager->staging, 1);
  if (status == PT_OK) memcpy(data, pager->staging + skip, part);
  return status;
}

static pt_status write_part(pt_block_pager* pager, uint64_t at, const uint8_t* data, size_t part, uint32_t skip) {
  const pt_blocks* blocks = pager->blocks;
  const uint32_t block = block_of(pager, at);
  pt_status status = PT_OK;
  pager->bytes_written += part >= WHOLE ? part : (size_t)WHOLE;
  if (part >= WHOLE) return blocks->write(blocks->context, block, data, (uint32_t)(part / WHOLE));
  if (skip != 0)
    status = blocks->read(blocks->context, block, pager->staging, 1);
  else
    memset(pager->staging, 0, WHOLE);
  if (status != PT_OK) return status;
  memcpy(pager->staging + skip, data, part);
  return blocks->write(blocks->context, block, pager->staging, 1);
}

static pt_status page_in(void* context, uint64_t at, void* data, size_t bytes, uint32_t ticket, uint32_t after) {
  pt_block_pager* pager = (pt_block_pager*)context;
  uint8_t* to = (uint8_t*)data;
  pt_status status = in_range(pager, at, bytes);
  (void)ticket, (void)after;
  while (status == PT_OK && bytes > 0) {
    uint32_t skip;
    const size_t part = next_part(at, bytes, &skip);
    status = read_part(pager, at, to, part, skip);
    to += part, at += part, bytes -= part;
  }
  return status;
}

static pt_status page_out(void* context, uint64_t at, const void* data, size_t bytes, uint32_t ticket, uint32_t after) {
  pt_block_pager* pager = (pt_block_pager*)context;
  const uint8_t* from = (const uint8_t*)data;
  pt_status status = in_range(pager, at, bytes);
  (void)ticket, (void)after;
  while (status == PT_OK && bytes > 0) {
    uint32_t skip;
    const size_t part = next_part(at, bytes, &skip);
    status = write_part(pager, at, from, part, skip);
    from += part, at += part, bytes -= part;
  }
  return status;
}

static pt_status done(void* context, uint32_t ticket) {
  (void)context, (void)ticket;
  return PT_OK;
}

pt_pager pt_block_pager_interface(pt_block_pager* pager) {
  pt_pager made;
  made.context = pager;
  made.read = page_in;
  made.write = page_out;
  made.wait = done;
  return made;
}
