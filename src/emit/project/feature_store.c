#include "feature_store.h"

#include <string.h>

#include "runtime/plan_bytes.h"

#define MAGIC 0x46544e50u /* "PNTF" */

typedef struct record {
  uint32_t magic, crc; /* of the key */
  pt_feature_key key;
} record;

enum { SUM_BYTES = 4, SUMS_AT_ONCE = 16 };

static uint32_t blocks_of(uint32_t bytes_each, uint32_t samples) {
  return (uint32_t)(((uint64_t)bytes_each * samples + PT_BLOCK_BYTES - 1) / PT_BLOCK_BYTES);
}

/* Blocks for the rows of the first `list_count` features and, behind the rows of each feature, for their checksums. */
static uint32_t row_blocks(const pt_feature* list, uint32_t list_count, uint32_t samples, int checked) {
  uint32_t which, sum = 0;
  for (which = 0; which < list_count; ++which)
    sum += blocks_of(list[which].row_bytes, samples) + (checked ? blocks_of(SUM_BYTES, samples) : 0);
  return sum;
}

uint32_t pt_feature_blocks(const pt_feature* list, uint32_t list_count, uint32_t samples, int checked) {
  return list_count == 0 ? 0 : 1 + row_blocks(list, list_count, samples, checked);
}

void pt_features_open(pt_features* features, pt_blocks* blocks, uint32_t first_block, const pt_feature* list,
                      uint32_t list_count, int checked, uint8_t* buffer) {
  memset(features, 0, sizeof *features);
  features->checked = (uint8_t)(checked != 0);
  features->list = list;
  features->list_count = list_count;
  features->record = first_block;
  features->buffer = buffer;
  features->pager.blocks = blocks;
  features->pager.staging = buffer;
  features->pager.first = first_block + 1;
}

/* ---- the record ---- */

static uint32_t key_crc(const pt_feature_key* key) {
  uint8_t bytes[sizeof *key];
  memcpy(bytes, key, sizeof bytes);
  return pt_crc32(bytes, sizeof bytes);
}

static pt_status write_record(pt_features* features, const record* made) {
  const pt_blocks* blocks = features->pager.blocks;
  pt_status status;
  memset(features->buffer, 0, PT_BLOCK_BYTES);
  memcpy(features->buffer, made, sizeof *made);
  status = blocks->write(blocks->context, features->record, features->buffer, 1);
  features->record_bytes += PT_BLOCK_BYTES;
  return status == PT_OK ? blocks->sync(blocks->context) : status;
}

/* Makes room for the samples of the key. */
static pt_status make_space(pt_features* features, const pt_feature_key* key) {
  const uint32_t rows = row_blocks(features->list, features->list_count, key->count, features->checked);
  features->key.count = 0;
  features->pager.count = rows;
  return pt_blocks_within(features->pager.blocks->count, features->record, rows + 1);
}

pt_status pt_features_find(pt_features* features, const pt_feature_key* key) {
  const pt_blocks* blocks = features->pager.blocks;
  record found;
  pt_status status = make_space(features, key);
  if (status == PT_OK) status = blocks->read(blocks->context, features->record, features->buffer, 1);
  if (status != PT_OK) return status;
  memcpy(&found, features->buffer, sizeof found);
  if (found.magic != MAGIC || found.crc != key_crc(&found.key)) return PT_E_STATE;
  if (memcmp(&found.key, key, sizeof *key) != 0) return PT_E_STATE;
  features->key = *key;
  return PT_OK;
}

pt_status pt_features_begin(pt_features* features, const pt_feature_key* key) {
  static const record none;
  pt_status status = make_space(features, key);
  if (status == PT_OK) status = write_record(features, &none);
  features->key = *key;
  return status;
}

pt_status pt_features_end(pt_features* features) {
  const pt_blocks* blocks = features->pager.blocks;
  pt_status status = blocks->sync(blocks->context);
  record made;
  made.magic = MAGIC;
  made.crc = key_crc(&features->key);
  made.key = features->key;
  return status == PT_OK ? write_record(features, &made) : status;
}

/* ---- the rows ---- */

/* The place of a row, in bytes from the pager's first byte. */
static uint64_t place_of(const pt_features* features, uint32_t which, uint32_t sample) {
  const uint64_t before = row_blocks(features->list, which, features->key.count, features->checked);
  return before * PT_BLOCK_BYTES + (uint64_t)sample * features->list[which].row_bytes;
}

static uint64_t place_of_sum(const pt_features* features, uint32_t which, uint32_t sample) {
  const uint64_t rows = blocks_of(features->list[which].row_bytes, features->key.count);
  return place_of(features, which, 0) + rows * PT_BLOCK_BYTES + (uint64_t)sample * SUM_BYTES;
}

/* The checksum of a row, its place and the key: the same bytes at another place have another checksum. */
static uint32_t sum_of(const pt_features* features, uint32_t which, uint32_t sample, const uint8_t* row) {
  const uint32_t place[3] = {key_crc(&features->key), which, sample};
  uint8_t bytes[sizeof place];
  memcpy(bytes, place, sizeof bytes);
  return pt_crc32_more(pt_crc32(bytes, sizeof bytes), row, features->list[which].row_bytes);
}

/* Writes the checksums of rows, or compares them with the stored ones, a few at a time. */
static pt_status move_sums(pt_features* features, uint32_t which, uint32_t sample, uint32_t rows, const uint8_t* data,
                           int writes) {
  const pt_pager pager = pt_block_pager_interface(&features->pager);
  const uint32_t row_bytes = features->list[which].row_bytes;
  pt_status status = PT_OK;
  while (rows > 0 && status == PT_OK) {
    uint32_t sums[SUMS_AT_ONCE], there[SUMS_AT_ONCE], at;
    const uint32_t part = rows < SUMS_AT_ONCE ? rows : SUMS_AT_ONCE;
    const uint64_t place = place_of_sum(features, which, sample);
    for (at = 0; at < part; ++at) sums[at] = sum_of(features, which, sample + at, data + (size_t)at * row_bytes);
    status = writes ? pager.write(pager.context, place, sums, part * sizeof *sums, 0, 0)
                    : pager.read(pager.context, place, there, part * sizeof *there, 0, 0);
    if (status == PT_OK && !writes && memcmp(sums, there, part * sizeof *sums) != 0) status = PT_E_IO;
    sample += part, rows -= part, data += (size_t)part * row_bytes;
  }
  return status;
}

pt_status pt_features_put(pt_features* features, uint32_t which, uint32_t sample, uint32_t rows, const void* data) {
  const pt_pager pager = pt_block_pager_interface(&features->pager);
  const pt_status status = pager.write(pager.context, place_of(features, which, sample), data,
                                       (size_t)rows * features->list[which].row_bytes, 0, 0);
  if (status != PT_OK || !features->checked) return status;
  return move_sums(features, which, sample, rows, (const uint8_t*)data, 1);
}

pt_status pt_features_get(pt_features* features, uint32_t which, uint32_t sample, uint32_t rows, void* data) {
  const pt_pager pager = pt_block_pager_interface(&features->pager);
  const pt_status status = pager.read(pager.context, place_of(features, which, sample), data,
                                      (size_t)rows * features->list[which].row_bytes, 0, 0);
  if (status != PT_OK || !features->checked) return status;
  return move_sums(features, which, sample, rows, (const uint8_t*)data, 0);
}
