/* What a frozen backbone makes of every sample, computed once and kept in storage behind the journal.
 *
 *   the first block   the record: of whose samples and which backbone the features are; written last, so that what it
 *                     speaks of is whole
 *   then              each feature's rows, sample by sample, and where they are checked a CRC-32 of each behind them; both
 *                     begin with a block */
#pragma once

#include "block_pager.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor of the plan where the backbone's program leaves it, and the input of a step that takes its place;
 * `row_bytes` for each sample. */
typedef struct pt_feature {
  uint32_t made, read, row_bytes;
} pt_feature;

/* What tells kept features from others: the plan, the weights and the samples by checksums, and how many samples. */
typedef struct pt_feature_key {
  uint32_t plan, weights, samples, count;
} pt_feature_key;

typedef struct pt_features {
  const pt_feature* list;
  uint32_t list_count;
  uint32_t record;       /* its block */
  uint8_t checked;       /* rows have sums */
  uint8_t* buffer;       /* one block, aligned to 4; the caller's, as the rest is */
  pt_block_pager pager;  /* on the rows */
  pt_feature_key key;    /* of what is kept; count 0: nothing is */
  uint32_t made;         /* samples since it was opened */
  uint64_t record_bytes; /* written, beside the pager's */
} pt_features;

/* Blocks of storage for so many samples. */
uint32_t pt_feature_blocks(const pt_feature* list, uint32_t list_count, uint32_t samples, int checked);
void pt_features_open(pt_features* features, pt_blocks* blocks, uint32_t first_block, const pt_feature* list,
                      uint32_t list_count, int checked, uint8_t* buffer);
/* PT_E_STATE: what is kept is not whole, or another key's. PT_E_FULL: the storage has no space for so many samples. */
pt_status pt_features_find(pt_features* features, const pt_feature_key* key);
/* Forgets what is kept; then rows are put, the samples in order; then it is kept under the key. */
pt_status pt_features_begin(pt_features* features, const pt_feature_key* key);
pt_status pt_features_put(pt_features* features, uint32_t which, uint32_t sample, uint32_t rows, const void* data);
pt_status pt_features_end(pt_features* features);
/* Rows of kept samples, all in [0, key.count). PT_E_IO: not what was put there, where they are checked. */
pt_status pt_features_get(pt_features* features, uint32_t which, uint32_t sample, uint32_t rows, void* data);

#ifdef __cplusplus
}
#endif
