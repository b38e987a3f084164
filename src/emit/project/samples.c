#include "samples.h"

#include <string.h>

static void normalize(const pt_rows* rows, const uint8_t* from, float* to) {
  const uint32_t part = rows->elements / rows->plane_count;
  uint32_t plane, element;
  for (plane = 0; plane < rows->plane_count; ++plane) {
    const float mean = rows->planes[2 * plane], deviation = rows->planes[2 * plane + 1];
    for (element = plane * part; element < (plane + 1) * part; ++element) {
      float x;
      if (rows->conversion == PT_ROWS_U8_NORMALIZED)
        x = (float)from[element] / 255.0f;
      else
        memcpy(&x, from + 4 * (size_t)element, sizeof x);
      to[element] = (x - mean) / deviation;
    }
  }
}

static void widen(const pt_rows* rows, const uint8_t* from, void* data) {
  uint32_t element;
  for (element = 0; element < rows->elements; ++element) {
    if (rows->conversion == PT_ROWS_U8_TO_F32) ((float*)data)[element] = (float)from[element];
    if (rows->conversion == PT_ROWS_U8_TO_I32) ((int32_t*)data)[element] = from[element];
    if (rows->conversion == PT_ROWS_U8_TO_I64) ((int64_t*)data)[element] = from[element];
    if (rows->conversion == PT_ROWS_I32_TO_I64) {
      int32_t x;
      memcpy(&x, from + 4 * (size_t)element, sizeof x);
      ((int64_t*)data)[element] = x;
    }
  }
}

static pt_status row(void* context, uint32_t which, uint32_t sample, void* data) {
  const pt_sample_set* set = (const pt_sample_set*)context;
  const pt_rows* rows = &set->rows[which];
  const size_t bytes = (size_t)rows->elements * rows->stored_bytes;
  const uint8_t* from = rows->data + sample * bytes;
  if (sample >= set->count) return PT_E_DATA;
  if (rows->conversion == PT_ROWS_AS_THEY_ARE)
    memcpy(data, from, bytes);
  else if (rows->conversion <= PT_ROWS_F32_NORMALIZED)
    normalize(rows, from, (float*)data);
  else
    widen(rows, from, data);
  return PT_OK;
}

pt_samples pt_samples_of(const pt_sample_set* set) {
  pt_samples made;
  union { /* the context is only read */
    const pt_sample_set* given;
    void* kept;
  } context;
  context.given = set;
  made.context = context.kept;
  made.count = set->count;
  made.identity = set->identity;
  made.row = row;
  return made;
}
