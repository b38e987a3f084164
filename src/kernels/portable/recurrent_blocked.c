/* Many time steps of an LSTM or a GRU, their weight packed once: panels of columns, each with all rows of B, which stay in
 * a cache while the rows of the batch pass. */
#include <string.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/recurrent.h"
#include "kernels/portable/tiles.h"

#ifdef PT_SEQUENCE_TILES /* a back end's own */
pt_tiles PT_SEQUENCE_TILES(void);
#else
#define PT_SEQUENCE_TILES PT_NAME(pt_tiles_here)
#endif

enum {
  kTallRows = 8,
  kTallColumns = 32,
  kFlatColumns = 128,
  kDepth = 64,
  kFewRows = 4,
  kSums = kTallRows * kTallColumns
};

/* Few rows would leave most of a tall tile unused. */
static size_t panel_columns(const pt_step_weight* weight) {
  return weight->batch < kFewRows ? kFlatColumns : kTallColumns;
}

static size_t panels_of(const pt_step_weight* weight) {
  const size_t columns = panel_columns(weight);
  return (weight->n + columns - 1) / columns;
}

/* Rows of R' are columns of R: a few at a time, so that what is read stays in the cache. */
static void turn(const pt_real* from, size_t k, size_t columns, size_t wide, pt_real* to) {
  for (size_t k0 = 0; k0 < k; k0 += kTallRows)
    for (size_t at = 0; at < columns; ++at)
      for (size_t row = k0; row < pt_least(k0 + kTallRows, k); ++row) to[row * wide + at] = from[at * k + row];
}

static void pack(void* arg, size_t begin, size_t end) {
  const pt_step_weight* weight = arg;
  const size_t wide = panel_columns(weight);
  const pt_real* r = weight->r->data;
  for (size_t panel = begin; panel < end; ++panel) {
    const size_t first = panel * wide, columns = pt_least(wide, weight->n - first);
    pt_real* to = (pt_real*)weight->prepared + panel * weight->k * wide;
    if (columns < wide) memset(to, 0, weight->k * wide * sizeof(pt_real));
    if (weight->transposed)
      turn(r + first * weight->k, weight->k, columns, wide, to);
    else
      for (size_t row = 0; row < weight->k; ++row)
        memcpy(to + row * wide, r + row * weight->n + first, columns * sizeof(pt_real));
  }
}

static void prepare(const pt_step_weight* weight) {
  PT_NAME(pt_parallel)(weight->call, panels_of(weight), weight->k * weight->n, pack, (void*)weight);
}

static void multiply(const pt_step_weight* weight, const pt_real* a, pt_real* c, size_t rows) {
  const size_t wide = panel_columns(weight), tall = wide == kTallColumns ? kTallRows : 1;
  const pt_tiles tiles = PT_SEQUENCE_TILES();
  const pt_tile tile = tall == 1 ? tiles.of_1x128 : tiles.of_8x32;
  size_t along[kDepth], down[kDepth];
  for (size_t k = 0; k < kDepth; ++k) along[k] = k, down[k] = k * wide;
  for (size_t first = 0; first < weight->n; first += wide) {
    const pt_real* panel = (const pt_real*)weight->prepared + first * weight->k;
    const size_t columns = pt_least(wide, weight->n - first);
    for (size_t row0 = 0; row0 < rows; row0 += tall) {
      const size_t here = pt_least(tall, rows - row0);
      const pt_real* from[kTallRows];
      pt_real sums[kSums] = {0};
      for (size_t row = 0; row < tall; ++row) /* those beyond the last repeat it and are not stored */
        from[row] = a + (row0 + pt_least(row, here - 1)) * weight->k;
      for (size_t k0 = 0; k0 < weight->k; k0 += kDepth) {
        tile(from, along, panel + k0 * wide, down, pt_least(kDepth, weight->k - k0), sums, wide, here, columns);
        for (size_t row = 0; row < tall; ++row) from[row] += kDepth;
      }
      for (size_t row = 0; row < here; ++row)
        memcpy(c + (row0 + row) * weight->n + first, sums + row * wide, columns * sizeof(pt_real));
    }
  }
}

static const pt_step_product blocked = {prepare, multiply};

static size_t workspace(const pt_call* call, pt_sequence_kind kind) {
  const pt_step_weight weight = PT_NAME(pt_sequence_weight)(call, kind);
  const size_t panels = panels_of(&weight) * weight.k * panel_columns(&weight);
  return (PT_NAME(pt_sequence_scratch)(call, kind) + panels) * sizeof(pt_real);
}

#define PT_SEQUENCE(op, kind)                                        \
  pt_status PT_NAME(pt_##op##_blocked)(const pt_call* call) {        \
    return PT_NAME(pt_sequence_run)(call, kind, &blocked);           \
  }                                                                  \
  size_t PT_NAME(pt_##op##_blocked_workspace)(const pt_call* call) { \
    return workspace(call, kind);                                    \
  }
PT_SEQUENCE(lstm_sequence, PT_LSTM_FORWARD)
PT_SEQUENCE(lstm_sequence_grad, PT_LSTM_BACKWARD)
PT_SEQUENCE(gru_sequence, PT_GRU_FORWARD)
PT_SEQUENCE(gru_sequence_grad, PT_GRU_BACKWARD)
