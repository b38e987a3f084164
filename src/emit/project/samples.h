/* A set of samples in read-only memory, stored as narrow as they came, made wide on their way into the batch. */
#pragma once

#include "trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How stored elements become the batch's. */
enum {
  PT_ROWS_AS_THEY_ARE = 0,
  PT_ROWS_U8_NORMALIZED = 1, /* (x / 255 - mean) / deviation, of each plane */
  PT_ROWS_F32_NORMALIZED = 2,
  PT_ROWS_U8_TO_F32 = 3,
  PT_ROWS_U8_TO_I64 = 4,
  PT_ROWS_U8_TO_I32 = 5,
  PT_ROWS_I32_TO_I64 = 6
};

/* One array: `elements` a row. */
typedef struct pt_rows {
  const uint8_t* data;
  const float* planes; /* mean, deviation for each of plane_count equal parts of a row */
  uint32_t elements, plane_count;
  uint8_t stored_bytes, conversion; /* bytes of an element; PT_ROWS_... */
} pt_rows;

typedef struct pt_sample_set {
  const pt_rows* rows;      /* as the model's rows[]: inputs, then targets */
  uint32_t count, identity; /* identity: a checksum of the rows */
} pt_sample_set;

/* The set, which outlives what is returned. */
pt_samples pt_samples_of(const pt_sample_set* set);

#ifdef __cplusplus
}
#endif
