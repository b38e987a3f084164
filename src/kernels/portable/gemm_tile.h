/* One instance of the tile, included by gemm.c once per instruction set.
 *   PT_TILE           the function's name
 *   PT_TILE_TARGET    its target attribute, or nothing
 *   PT_TILE_BYTES     bytes of a vector
 *   PT_TILE_ROWS      rows held in registers at once (divides PT_GEMM_MR)
 * acc[MR][NR] += a[row][offset[kk]] * b[kk][NR], kk ascending. Vectors lie along n, so every element keeps its own chain. */
typedef pt_real PT_TILE_VECTOR(PT_TILE) __attribute__((vector_size(PT_TILE_BYTES), aligned(sizeof(pt_real)), may_alias));

PT_TILE_TARGET static void PT_TILE(const pt_real* const* a, const size_t* offsets, const pt_real* b, size_t count,
                                   pt_real* acc) {
  typedef PT_TILE_VECTOR(PT_TILE) vector;
  enum { kLanes = PT_TILE_BYTES / sizeof(pt_real), kWide = 2 * kLanes };
  for (size_t row0 = 0; row0 < PT_GEMM_MR; row0 += PT_TILE_ROWS) {
    for (size_t column = 0; column < PT_GEMM_NR; column += kWide) {
      vector sum[PT_TILE_ROWS][2];
      for (size_t row = 0; row < PT_TILE_ROWS; ++row) {
        sum[row][0] = *(const vector*)(acc + (row0 + row) * PT_GEMM_NR + column);
        sum[row][1] = *(const vector*)(acc + (row0 + row) * PT_GEMM_NR + column + kLanes);
      }
      for (size_t kk = 0; kk < count; ++kk) {
        const vector b0 = *(const vector*)(b + kk * PT_GEMM_NR + column);
        const vector b1 = *(const vector*)(b + kk * PT_GEMM_NR + column + kLanes);
        const size_t at = offsets[kk];
        for (size_t row = 0; row < PT_TILE_ROWS; ++row) {
          const pt_real scalar = a[row0 + row][at];
          sum[row][0] += b0 * scalar;
          sum[row][1] += b1 * scalar;
        }
      }
      for (size_t row = 0; row < PT_TILE_ROWS; ++row) {
        *(vector*)(acc + (row0 + row) * PT_GEMM_NR + column) = sum[row][0];
        *(vector*)(acc + (row0 + row) * PT_GEMM_NR + column + kLanes) = sum[row][1];
      }
    }
  }
}
#undef PT_TILE
#undef PT_TILE_TARGET
#undef PT_TILE_BYTES
#undef PT_TILE_ROWS
