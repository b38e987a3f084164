#include "kernels/onednn/fused_tiles.h"

#include <immintrin.h>

/* Rows of a tile, two vectors of each at a time: as many sums as registers hold. */
#define PT_FUSED_TILE(name, isa, vector, lanes, load, store, set, fma, rows, held, columns)                   \
  __attribute__((target(isa))) static void name(const float* const* a, const size_t* a_at, const float* b,    \
                                                const size_t* b_at, size_t count, float* acc, size_t acc_row, \
                                                size_t wanted_rows, size_t wanted_columns) {                  \
    (void)wanted_rows, (void)wanted_columns;                                                                  \
    for (size_t row0 = 0; row0 < (rows); row0 += (held))                                                      \
      for (size_t column = 0; column < (columns); column += 2 * (lanes)) {                                    \
        vector left[held], right[held];                                                                       \
        for (size_t row = 0; row < (held); ++row) {                                                           \
          left[row] = load(acc + (row0 + row) * acc_row + column);                                            \
          right[row] = load(acc + (row0 + row) * acc_row + column + (lanes));                                 \
        }                                                                                                     \
        for (size_t kk = 0; kk < count; ++kk) {                                                               \
          const vector first = load(b + b_at[kk] + column), second = load(b + b_at[kk] + column + (lanes));   \
          for (size_t row = 0; row < (held); ++row) {                                                         \
            const vector scalar = set(a[row0 + row][a_at[kk]]);                                               \
            left[row] = fma(first, scalar, left[row]);                                                        \
            right[row] = fma(second, scalar, right[row]);                                                     \
          }                                                                                                   \
        }                                                                                                     \
        for (size_t row = 0; row < (held); ++row) {                                                           \
          store(acc + (row0 + row) * acc_row + column, left[row]);                                            \
          store(acc + (row0 + row) * acc_row + column + (lanes), right[row]);                                 \
        }                                                                                                     \
      }                                                                                                       \
  }

#define PT_AVX2_TILE(name, rows, held, columns)                                                                        \
  PT_FUSED_TILE(name, "avx2,fma", __m256, 8, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps, _mm256_fmadd_ps, rows, \
                held, columns)
#define PT_AVX512_TILE(name, rows, held, columns)                                                                      \
  PT_FUSED_TILE(name, "avx512f", __m512, 16, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_set1_ps, _mm512_fmadd_ps, rows, \
                held, columns)

PT_AVX2_TILE(avx2_8x32, 8, 4, 32)
PT_AVX2_TILE(avx2_1x128, 1, 1, 128)
PT_AVX512_TILE(avx512_8x32, 8, 8, 32)
PT_AVX512_TILE(avx512_1x128, 1, 1, 128)

/* Never chosen where a processor has FMA. */
static void rounding(const float* const* a, const size_t* a_at, const float* b, const size_t* b_at, size_t count,
                     float* acc, size_t acc_row, size_t rows, size_t columns) {
  for (size_t kk = 0; kk < count; ++kk)
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column)
        acc[row * acc_row + column] += b[b_at[kk] + column] * a[row][a_at[kk]];
}
pt_tiles pt_fused_tiles_here(void) {
  if (__builtin_cpu_supports("avx512f")) return (pt_tiles){avx512_8x32, NULL, NULL, avx512_1x128, 32, 0};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return (pt_tiles){avx2_8x32, NULL, NULL, avx2_1x128, 32, 0};
  return (pt_tiles){rounding, NULL, NULL, rounding, 1, 0};
}
