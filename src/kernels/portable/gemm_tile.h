/* One instance of the tile, included by tiles.c for every instruction set and size.
 *   PT_TILE           the function's name
 *   PT_TILE_TARGET    its target attribute, or nothing
 *   PT_TILE_BYTES     bytes of a vector; PT_TILE_N is a multiple of its elements
 *   PT_TILE_HELD      rows held in registers at once (divides PT_TILE_M)
 *   PT_TILE_M, PT_TILE_N   rows and columns
 * acc[M][N] += a[row][a_at[kk]] * b[b_at[kk] + 0 .. N), kk ascending. Vectors lie along n, so every element keeps its
 * own chain. */
typedef pt_real PT_TILE_VECTOR(PT_TILE)
    __attribute__((vector_size(PT_TILE_BYTES), aligned(sizeof(pt_real)), may_alias));

PT_TILE_TARGET static void PT_TILE(const pt_real* const* a, const size_t* a_at, const pt_real* b, const size_t* b_at,
                                   size_t count, pt_real* acc) {
  typedef PT_TILE_VECTOR(PT_TILE) vector;
  enum {
    kLanes = PT_TILE_BYTES / sizeof(pt_real),
    kVectors = PT_TILE_HELD == 1               ? PT_TILE_N / kLanes < 8 ? PT_TILE_N / kLanes : 8
               : PT_TILE_N % (2 * kLanes) == 0 ? 2
                                               : 1,
    kWide = kVectors * kLanes
  };
  for (size_t row0 = 0; row0 < PT_TILE_M; row0 += PT_TILE_HELD) {
    for (size_t column = 0; column < PT_TILE_N; column += kWide) {
      vector sum[PT_TILE_HELD][kVectors];
      for (size_t row = 0; row < PT_TILE_HELD; ++row)
        for (size_t v = 0; v < kVectors; ++v)
          sum[row][v] = *(const vector*)(acc + (row0 + row) * PT_TILE_N + column + v * kLanes);
      for (size_t kk = 0; kk < count; ++kk) {
        const pt_real* from = b + b_at[kk] + column;
        const size_t at = a_at[kk];
        vector part[kVectors];
        for (size_t v = 0; v < kVectors; ++v) part[v] = *(const vector*)(from + v * kLanes);
        for (size_t row = 0; row < PT_TILE_HELD; ++row) {
          const pt_real scalar = a[row0 + row][at];
          for (size_t v = 0; v < kVectors; ++v) sum[row][v] += part[v] * scalar;
        }
      }
      for (size_t row = 0; row < PT_TILE_HELD; ++row)
        for (size_t v = 0; v < kVectors; ++v)
          *(vector*)(acc + (row0 + row) * PT_TILE_N + column + v * kLanes) = sum[row][v];
    }
  }
}
#undef PT_TILE
#undef PT_TILE_TARGET
#undef PT_TILE_BYTES
#undef PT_TILE_HELD
#undef PT_TILE_M
#undef PT_TILE_N
