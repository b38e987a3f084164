#include "block_pager.h"

#include <string.h>

#include "runtime/plan_bytes.h"

enum { WHOLE = PT_BLOCK_BYTES };

static pt_status in_range(const pt_block_pager* pager, uint64_t at, size_t bytes) {
  const uint64_t capacity = (uint64_t)pager->count * WHOLE;
  return at <= capacity && bytes <= capacity - at ? PT_OK : PT_E_FULL;
}

uint32_t pt_block_sum(const uint8_t* block) {
  const uint32_t crc = pt_crc32(block, WHOLE);
  return crc == 0 ? 1 : crc;
}

/* Blocks of the plan's storage, counted from its first. */
static pt_status read_blocks(const pt_block_pager* pager, uint32_t block, uint8_t* data, uint32_t count) {
  pt_status status = pager->blocks->read(pager->blocks->context, pager->first + block, data, count);
  uint32_t at;
  if (pager->sums == NULL) return status;
  for (at = 0; at < count && status == PT_OK; ++at)
    if (pt_block_sum(data + (size_t)at * WHOLE) != pager->sums[block + at]) status = PT_E_IO;
  return status;
}

static pt_status write_blocks(pt_block_pager* pager, uint32_t block, const uint8_t* data, uint32_t count) {
  uint32_t at;
  for (at = 0; at < count && pager->sums != NULL; ++at)
    pager->sums[block + at] = pt_block_sum(data + (size_t)at * WHOLE);
  pager->bytes_written += (uint64_t)count * WHOLE;
  return pager->blocks->write(pager->blocks->context, pager->first + block, data, count);
}

/* Whole blocks at `at`, or the part of one that the transfer shares: how many of `bytes`. */
static size_t next_part(uint64_t at, size_t bytes, uint32_t* skip) {
  *skip = (uint32_t)(at % WHOLE);
  if (*skip == 0 && bytes >= WHOLE) return bytes / WHOLE * WHOLE;
  return bytes < (size_t)(WHOLE - *skip) ? bytes : (size_t)(WHOLE - *skip);
}

static pt_status read_part(pt_block_pager* pager, uint64_t at, uint8_t* data, size_t part, uint32_t skip) {
  const uint32_t block = (uint32_t)(at / WHOLE);
  pt_status status;
  if (part >= WHOLE) return read_blocks(pager, block, data, (uint32_t)(part / WHOLE));
  status = read_blocks(pager, block, pager->staging, 1);
  if (status == PT_OK) memcpy(data, pager->staging + skip, part);
  return status;
}

static pt_status write_part(pt_block_pager* pager, uint64_t at, const uint8_t* data, size_t part, uint32_t skip) {
  const uint32_t block = (uint32_t)(at / WHOLE);
  pt_status status = PT_OK;
  if (part >= WHOLE) return write_blocks(pager, block, data, (uint32_t)(part / WHOLE));
  if (skip != 0)
    status = read_blocks(pager, block, pager->staging, 1);
  else
    memset(pager->staging, 0, WHOLE);
  if (status != PT_OK) return status;
  memcpy(pager->staging + skip, data, part);
  return write_blocks(pager, block, pager->staging, 1);
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
  if (status == PT_OK && pager->may_write != NULL) status = pager->may_write(pager->owner, at, data, bytes);
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
