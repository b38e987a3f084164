/* The register tiles of the blocked product, one instance of gemm_tile.h per (rows, columns, instruction set), and the
 * choice among them at run time. All give the same bits. */
#include "kernels/portable/tiles.h"

#if defined(__GNUC__)
#define PT_TILE_VECTOR_(name) name##_vector
#define PT_TILE_VECTOR(name) PT_TILE_VECTOR_(name)

#define PT_TILE plain_8x32
#define PT_TILE_TARGET
#define PT_TILE_BYTES 16
#define PT_TILE_HELD 4
#define PT_TILE_M 8
#define PT_TILE_N 32
#include "kernels/portable/gemm_tile.h"

#define PT_TILE plain_8x16
#define PT_TILE_TARGET
#define PT_TILE_BYTES 16
#define PT_TILE_HELD 4
#define PT_TILE_M 8
#define PT_TILE_N 16
#include "kernels/portable/gemm_tile.h"

#define PT_TILE plain_8x8
#define PT_TILE_TARGET
#define PT_TILE_BYTES 16
#define PT_TILE_HELD 4
#define PT_TILE_M 8
#define PT_TILE_N 8
#include "kernels/portable/gemm_tile.h"

#define PT_TILE plain_1x128
#define PT_TILE_TARGET
#define PT_TILE_BYTES 16
#define PT_TILE_HELD 1
#define PT_TILE_M 1
#define PT_TILE_N 128
#include "kernels/portable/gemm_tile.h"

#if defined(__x86_64__)
#define PT_AVX2 __attribute__((target("avx2")))
#ifdef __clang__
#define PT_AVX512 __attribute__((target("avx512f")))
#else
#define PT_AVX512 __attribute__((target("avx512f,prefer-vector-width=512")))
#endif

#define PT_TILE avx2_8x32
#define PT_TILE_TARGET PT_AVX2
#define PT_TILE_BYTES 32
#define PT_TILE_HELD 4
#define PT_TILE_M 8
#define PT_TILE_N 32
#include "kernels/portable/gemm_tile.h"

#define PT_TILE avx2_8x16
#define PT_TILE_TARGET PT_AVX2
#define PT_TILE_BYTES 32
#define PT_TILE_HELD 4
#define PT_TILE_M 8
#define PT_TILE_N 16
#include "kernels/portable/gemm_tile.h"

#define PT_TILE avx2_8x8
#define PT_TILE_TARGET PT_AVX2
#define PT_TILE_BYTES 32
#define PT_TILE_HELD 8
#define PT_TILE_M 8
#define PT_TILE_N 8
#include "kernels/portable/gemm_tile.h"

#define PT_TILE avx2_1x128
#define PT_TILE_TARGET PT_AVX2
#define PT_TILE_BYTES 32
#define PT_TILE_HELD 1
#define PT_TILE_M 1
#define PT_TILE_N 128
#include "kernels/portable/gemm_tile.h"

#ifndef PT_REAL_DOUBLE
#define PT_TILE avx512_8x32
#define PT_TILE_TARGET PT_AVX512
#define PT_TILE_BYTES 64
#define PT_TILE_HELD 8
#define PT_TILE_M 8
#define PT_TILE_N 32
#include "kernels/portable/gemm_tile.h"

#define PT_TILE avx512_8x16
#define PT_TILE_TARGET PT_AVX512
#define PT_TILE_BYTES 64
#define PT_TILE_HELD 8
#define PT_TILE_M 8
#define PT_TILE_N 16
#include "kernels/portable/gemm_tile.h"

#define PT_TILE avx512_1x128
#define PT_TILE_TARGET PT_AVX512
#define PT_TILE_BYTES 64
#define PT_TILE_HELD 1
#define PT_TILE_M 1
#define PT_TILE_N 128
#include "kernels/portable/gemm_tile.h"
#endif
#endif

pt_tiles PT_NAME(pt_tiles_here)(void) {
#if defined(__x86_64__)
#ifndef PT_REAL_DOUBLE
  if (__builtin_cpu_supports("avx512f")) return (pt_tiles){avx512_8x32, avx512_8x16, avx2_8x8, avx512_1x128};
#endif
  if (__builtin_cpu_supports("avx2")) return (pt_tiles){avx2_8x32, avx2_8x16, avx2_8x8, avx2_1x128};
#endif
  return (pt_tiles){plain_8x32, plain_8x16, plain_8x8, plain_1x128};
}

#else

static void plain(size_t rows, size_t columns, const pt_real* const* a, const size_t* a_at, const pt_real* b,
                  const size_t* b_at, size_t count, pt_real* acc) {
  for (size_t kk = 0; kk < count; ++kk)
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column)
        acc[row * columns + column] += b[b_at[kk] + column] * a[row][a_at[kk]];
}
#define PT_PLAIN(m, n)                                                                                           \
  static void plain_##m##x##n(const pt_real* const* a, const size_t* a_at, const pt_real* b, const size_t* b_at, \
                              size_t count, pt_real* acc) {                                                      \
    plain(m, n, a, a_at, b, b_at, count, acc);                                                                   \
  }
PT_PLAIN(8, 32)
PT_PLAIN(8, 16)
PT_PLAIN(8, 8)
PT_PLAIN(1, 128)

pt_tiles PT_NAME(pt_tiles_here)(void) {
  return (pt_tiles){plain_8x32, plain_8x16, plain_8x8, plain_1x128};
}

#endif
