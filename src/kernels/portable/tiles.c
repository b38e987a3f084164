/* The register tiles of the blocked product, one instance per (rows, columns, instruction set), and the choice among
 * them at run time. All give the same bits. */
#include "kernels/portable/tiles.h"

#if defined(__GNUC__)
/* acc[row][column] += a[row][a_at[kk]] * b[b_at[kk] + column], kk ascending, by vectors of BYTES. HELD rows, a divisor
 * of ROWS, are held in registers at once. Vectors lie along the columns, so every element keeps its own chain. */
#define PT_TILE(NAME, TARGET, BYTES, HELD, ROWS, COLUMNS)                                                    \
  TARGET static void NAME(const pt_real* const* a, const size_t* a_at, const pt_real* b, const size_t* b_at, \
                          size_t count, pt_real* acc, size_t acc_row, size_t rows, size_t columns) {         \
    typedef pt_real vector __attribute__((vector_size(BYTES), aligned(sizeof(pt_real)), may_alias));         \
    enum {                                                                                                   \
      kLanes = BYTES / sizeof(pt_real),                                                                      \
      kVectors = HELD == 1                     ? COLUMNS / kLanes < 8 ? COLUMNS / kLanes : 8                 \
                 : COLUMNS % (2 * kLanes) == 0 ? 2                                                           \
                                               : 1,                                                          \
      kWide = kVectors * kLanes                                                                              \
    };                                                                                                       \
    for (size_t row0 = 0; row0 < (HELD == ROWS ? ROWS : rows); row0 += HELD) {                               \
      for (size_t column = 0; column < (kWide == COLUMNS ? COLUMNS : columns); column += kWide) {            \
        vector sum[HELD][kVectors];                                                                          \
        for (size_t row = 0; row < HELD; ++row)                                                              \
          for (size_t v = 0; v < kVectors; ++v)                                                              \
            sum[row][v] = *(const vector*)(acc + (row0 + row) * acc_row + column + v * kLanes);              \
        for (size_t kk = 0; kk < count; ++kk) {                                                              \
          const pt_real* from = b + b_at[kk] + column;                                                       \
          const size_t at = a_at[kk];                                                                        \
          vector part[kVectors];                                                                             \
          for (size_t v = 0; v < kVectors; ++v) part[v] = *(const vector*)(from + v * kLanes);               \
          for (size_t row = 0; row < HELD; ++row) {                                                          \
            const pt_real scalar = a[row0 + row][at];                                                        \
            for (size_t v = 0; v < kVectors; ++v) sum[row][v] += part[v] * scalar;                           \
          }                                                                                                  \
        }                                                                                                    \
        for (size_t row = 0; row < HELD; ++row)                                                              \
          for (size_t v = 0; v < kVectors; ++v)                                                              \
            *(vector*)(acc + (row0 + row) * acc_row + column + v * kLanes) = sum[row][v];                    \
      }                                                                                                      \
    }                                                                                                        \
  }

#if defined(__aarch64__) && !defined(PT_REAL_DOUBLE)
#include "kernels/portable/tiles_aarch64.h"
#else
PT_TILE(plain_8x32, /* any */, 16, 4, 8, 32)
PT_TILE(plain_8x16, /* any */, 16, 4, 8, 16)
PT_TILE(plain_8x8, /* any */, 16, 4, 8, 8)
PT_TILE(plain_1x128, /* any */, 16, 1, 1, 128)
enum { kPlainUnit = 8, kPlainPacks = 0 };
#endif

#ifdef PT_HAS_AVX
PT_TILE(avx2_8x32, PT_AVX2, 32, 4, 8, 32)
PT_TILE(avx2_8x16, PT_AVX2, 32, 4, 8, 16)
PT_TILE(avx2_8x8, PT_AVX2, 32, 8, 8, 8)
PT_TILE(avx2_1x128, PT_AVX2, 32, 1, 1, 128)
#ifndef PT_REAL_DOUBLE
PT_TILE(avx512_8x32, PT_AVX512, 64, 8, 8, 32)
PT_TILE(avx512_8x16, PT_AVX512, 64, 8, 8, 16)
PT_TILE(avx512_1x128, PT_AVX512, 64, 1, 1, 128)
#endif
#endif

pt_tiles PT_NAME(pt_tiles_here)(void) {
#ifdef PT_HAS_AVX
#ifndef PT_REAL_DOUBLE
  if (__builtin_cpu_supports("avx512f")) return (pt_tiles){avx512_8x32, avx512_8x16, avx2_8x8, avx512_1x128, 32, 0};
#endif
  if (__builtin_cpu_supports("avx2")) return (pt_tiles){avx2_8x32, avx2_8x16, avx2_8x8, avx2_1x128, 16, 0};
#endif
  return (pt_tiles){plain_8x32, plain_8x16, plain_8x8, plain_1x128, kPlainUnit, kPlainPacks};
}

#else

static void plain(const pt_real* const* a, const size_t* a_at, const pt_real* b, const size_t* b_at, size_t count,
                  pt_real* acc, size_t acc_row, size_t rows, size_t columns) {
  for (size_t kk = 0; kk < count; ++kk)
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column)
        acc[row * acc_row + column] += b[b_at[kk] + column] * a[row][a_at[kk]];
}
#define PT_PLAIN(m, n)                                                                                           \
  static void plain_##m##x##n(const pt_real* const* a, const size_t* a_at, const pt_real* b, const size_t* b_at, \
                              size_t count, pt_real* acc, size_t acc_row, size_t rows, size_t columns) {         \
    plain(a, a_at, b, b_at, count, acc, acc_row, rows, columns);                                                 \
  }
PT_PLAIN(8, 32)
PT_PLAIN(8, 16)
PT_PLAIN(8, 8)
PT_PLAIN(1, 128)

pt_tiles PT_NAME(pt_tiles_here)(void) {
  return (pt_tiles){plain_8x32, plain_8x16, plain_8x8, plain_1x128, 1, 0};
}

#endif
