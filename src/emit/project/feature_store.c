#include "feature_store.h"

#include <string.h>

#include "runtime/plan_bytes.h"

#define MAGIC 0x46544e50u /* "PNTF" */

typedef struct record {
  uint32_t magic, crc; /* of the key */
  pt_feature_key key;
} record;

static uint32_t blocks_of(const pt_feature* feature, uint32_t samples) {
  return (uint32_t)(((uint64_t)feature->row_bytes * samples + PT_BLOCK_BYTES - 1) / PT_BLOCK_BYTES);
}

static uint32_t row_blocks(const pt_feature* list, uint32_t list_count, uint32_t samples) {
  uint32_t which, sum = 0;
  for (which = 0; which < list_count; ++which) sum += blocks_of(&list[which], samples);
  return sum;
}

uint32_t pt_feature_blocks(const pt_feature* list, uint32_t list_count, uint32_t samples) {
  return list_count == 0 ? 0 : 1 + row_blocks(list, list_count, samples);
}

void pt_features_open(pt_features* features, pt_blocks* blocks, uint32_t first_block, const pt_feature* list,
                      uint32_t list_count, uint8_t* buffer) {
  memset(features, 0, sizeof *features);
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

/* Room for the samples of the key. */
static pt_status make_space(pt_features* features, const pt_feature_key* key) {
  const uint32_t rows = row_blocks(features->list, features->list_count, key->count);
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

/* In the pager's bytes. */
static uint64_t place_of(const pt_features* features, uint32_t which, uint32_t sample) {
  const uint64_t before = row_blocks(features->list, which, features->key.count);
  return before * PT_BLOCK_BYTES + (uint64_t)sample * features->list[which].row_bytes;
}

pt_status pt_features_put(pt_features* features, uint32_t which, uint32_t sample, uint32_t rows, const void* data) {
  const pt_pager pager = pt_block_pager_interface(&features->pager);
  return pager.write(pager.context, place_of(features, which, sample), data,
                     (size_t)rows * features->list[which].row_bytes, 0, 0);
}

pt_status pt_features_get(pt_features* features, uint32_t which, uint32_t sample, uint32_t rows, void* data) {
  const pt_pager pager = pt_block_pager_interface(&features->pager);
  return pager.read(pager.context, place_of(features, which, sample), data,
                    (size_t)rows * features->list[which].row_bytes, 0, 0);
}
