/* The tiles of tiles.c for processors that multiply a vector by one element of another and have 32 vectors: a
 * multiplication and an addition for each four sums, and few instructions beside them. Sixteen vectors of sums are
 * held at once. Elements of A are read four at a time where they lie side by side: those of four rows (A is transposed),
 * or of four kk. Written without inner loops, so that sums are in registers at every level of optimization. */
#pragma once

typedef pt_real memory_vector __attribute__((vector_size(16), aligned(sizeof(pt_real)), may_alias));
typedef pt_real vector __attribute__((vector_size(16)));

#ifdef __clang__
#define PT_ROLLED
#else
#define PT_ROLLED _Pragma("GCC unroll 1")
#endif

/* M(argument, 0), M(argument, 1), .. */
#define PT_TIMES_1(M, ARGUMENT) M(ARGUMENT, 0)
#define PT_TIMES_2(M, ARGUMENT) PT_TIMES_1(M, ARGUMENT) M(ARGUMENT, 1)
#define PT_TIMES_3(M, ARGUMENT) PT_TIMES_2(M, ARGUMENT) M(ARGUMENT, 2)
#define PT_TIMES_4(M, ARGUMENT) PT_TIMES_2(M, ARGUMENT) M(ARGUMENT, 2) M(ARGUMENT, 3)
#define PT_TIMES_16(M, ARGUMENT)                                                                              \
  PT_TIMES_4(M, ARGUMENT)                                                                                     \
  M(ARGUMENT, 4)                                                                                              \
  M(ARGUMENT, 5)                                                                                              \
  M(ARGUMENT, 6) M(ARGUMENT, 7) M(ARGUMENT, 8) M(ARGUMENT, 9) M(ARGUMENT, 10) M(ARGUMENT, 11) M(ARGUMENT, 12) \
      M(ARGUMENT, 13) M(ARGUMENT, 14) M(ARGUMENT, 15)

/* The rows of a block. */
#define PT_ROWS_1(M, ARGUMENT) M(ARGUMENT, 0)
#define PT_ROWS_4(M, ARGUMENT) M(ARGUMENT, 0) M(ARGUMENT, 1) M(ARGUMENT, 2) M(ARGUMENT, 3)

/* An empty statement hides where a pointer comes from: what lies behind it is then read and written in pairs. */
#define PT_LOAD_SUM(ROW, V) vector sum##ROW##_##V = acc##ROW[V];
#define PT_LOAD_ROW(V, ROW)                                      \
  memory_vector* acc##ROW = (memory_vector*)(acc + (ROW)*c_row); \
  __asm__("" : "+r"(acc##ROW));                                  \
  PT_TIMES_##V(PT_LOAD_SUM, ROW)
#define PT_STORE_SUM(ROW, V) acc##ROW[V] = sum##ROW##_##V;
#define PT_STORE_ROW(V, ROW) PT_TIMES_##V(PT_STORE_SUM, ROW)
#define PT_A_ROW(V, ROW) const pt_real* a##ROW = a[ROW];
#define PT_A_FOUR(AT, ROW) const vector four##ROW = *(const memory_vector*)(a##ROW + (AT));

/* The vectors of B at a kk. */
#define PT_PART(FROM, V) vector part##V = ((const memory_vector*)(FROM))[V];
#define PT_READ(AT, VECTORS)         \
  const pt_real* from = b + (AT);    \
  __asm__ volatile("" : "+r"(from)); \
  PT_TIMES_##VECTORS(PT_PART, from)
/* sum += part * element, rounded twice. ELEMENT is a vector in a register and the number of an element. Multiplications stay in the order in
 * which they are written: compilers that look for more to do at once run out of registers. */
#define PT_ADD_PRODUCT(SUM, PART, ELEMENT) PT_ADD_PRODUCT_OF(SUM, PART, PT_BOTH ELEMENT)
#define PT_BOTH(FROM, NUMBER) FROM, NUMBER
#define PT_ADD_PRODUCT_OF(...) PT_ADD_PRODUCT_IN(__VA_ARGS__)
#define PT_ADD_PRODUCT_IN(SUM, PART, FROM, NUMBER)                                                   \
  {                                                                                                  \
    vector product;                                                                                  \
    __asm__ volatile("fmul %0.4s, %1.4s, %2.s[" #NUMBER "]" : "=w"(product) : "w"(PART), "w"(FROM)); \
    SUM += product;                                                                                  \
  }
#define PT_ADD_0(ELEMENT, V) PT_ADD_PRODUCT(sum0_##V, part##V, ELEMENT)
#define PT_ADD_1(ELEMENT, V) PT_ADD_PRODUCT(sum1_##V, part##V, ELEMENT)
#define PT_ADD_2(ELEMENT, V) PT_ADD_PRODUCT(sum2_##V, part##V, ELEMENT)
#define PT_ADD_3(ELEMENT, V) PT_ADD_PRODUCT(sum3_##V, part##V, ELEMENT)
/* One kk: the elements of A are lane LANE of each row's four; or the lanes of one vector; or one by one. */
#define PT_ADD_LANE_1(V, LANE) PT_TIMES_##V(PT_ADD_0, (four0, LANE))
#define PT_ADD_LANE_4(V, LANE)                                                                                      \
  PT_TIMES_##V(PT_ADD_0, (four0, LANE)) PT_TIMES_##V(PT_ADD_1, (four1, LANE)) PT_TIMES_##V(PT_ADD_2, (four2, LANE)) \
      PT_TIMES_##V(PT_ADD_3, (four3, LANE))
#define PT_ADD_ALL(V, ALL)                                                                           \
  PT_TIMES_##V(PT_ADD_0, (ALL, 0)) PT_TIMES_##V(PT_ADD_1, (ALL, 1)) PT_TIMES_##V(PT_ADD_2, (ALL, 2)) \
      PT_TIMES_##V(PT_ADD_3, (ALL, 3))
#define PT_ADD_EACH_1(V, AT) PT_TIMES_##V(PT_ADD_0, (a0[AT], 0))
#define PT_ADD_EACH_4(V, AT)                                                                                  \
  PT_TIMES_##V(PT_ADD_0, (a0[AT], 0)) PT_TIMES_##V(PT_ADD_1, (a1[AT], 0)) PT_TIMES_##V(PT_ADD_2, (a2[AT], 0)) \
      PT_TIMES_##V(PT_ADD_3, (a3[AT], 0))

/* NAME0 to NAME3, which are read in pairs. */
#define PT_FOUR_NUMBERS(NAME, AT)                                                    \
  size_t NAME##0 = (AT)[0], NAME##1 = (AT)[1], NAME##2 = (AT)[2], NAME##3 = (AT)[3]; \
  __asm__ volatile("" : "+r"(NAME##0), "+r"(NAME##1), "+r"(NAME##2), "+r"(NAME##3));
#define PT_LANE_STEP(ROWS, VECTORS, LANE) \
  {                                       \
    PT_READ(b##LANE, VECTORS)             \
    PT_ADD_LANE_##ROWS(VECTORS, LANE)     \
  }
#define PT_FOUR_STEPS(ROWS, VECTORS, AT)                                                        \
  {                                                                                             \
    PT_FOUR_NUMBERS(b, b_at + kk)                                                               \
    PT_ROWS_##ROWS(PT_A_FOUR, AT) PT_LANE_STEP(ROWS, VECTORS, 0) PT_LANE_STEP(ROWS, VECTORS, 1) \
        PT_LANE_STEP(ROWS, VECTORS, 2) PT_LANE_STEP(ROWS, VECTORS, 3)                           \
  }
#define PT_SINGLE_STEP(ROWS, VECTORS) \
  {                                   \
    const size_t at = a_at[kk];       \
    PT_READ(b_at[kk], VECTORS)        \
    PT_ADD_EACH_##ROWS(VECTORS, at)   \
  }
#define PT_ALL_STEP(VECTORS, A_AT, B_AT)                            \
  {                                                                 \
    const vector all = *(const memory_vector*)(first_row + (A_AT)); \
    PT_READ(B_AT, VECTORS)                                          \
    PT_ADD_ALL(VECTORS, all)                                        \
  }

#define PT_BLOCK_HEAD(NAME)                                                                                         \
  static void NAME(const pt_real* const* a, const size_t* a_at, const pt_real* b, const size_t* b_at, size_t count, \
                   pt_real* acc, size_t c_row)

/* ROWS x (4 * VECTORS) sums, of rows that lie `c_row` elements apart. */
#define PT_BLOCK(NAME, ROWS, VECTORS)                                                                             \
  PT_BLOCK_HEAD(NAME##_along_k) {                                                                                 \
    size_t kk = 0;                                                                                                \
    const size_t first = a_at[0];                                                                                 \
    PT_ROWS_##ROWS(PT_A_ROW, _) PT_ROWS_##ROWS(PT_LOAD_ROW, VECTORS) for (; kk + 4 <= count; kk += 4)             \
        PT_FOUR_STEPS(ROWS, VECTORS, first + kk) PT_ROLLED for (; kk < count; ++kk) PT_SINGLE_STEP(ROWS, VECTORS) \
            PT_ROWS_##ROWS(PT_STORE_ROW, VECTORS)                                                                 \
  }                                                                                                               \
  PT_BLOCK_HEAD(NAME##_some_fours) {                                                                              \
    const size_t kk = 0;                                                                                          \
    PT_ROWS_##ROWS(PT_A_ROW, _)                                                                                   \
        PT_ROWS_##ROWS(PT_LOAD_ROW, VECTORS) while (count > 0) if (count >= 4 && a_at[3] - a_at[0] == 3) {        \
      PT_FOUR_STEPS(ROWS, VECTORS, a_at[0])                                                                       \
      a_at += 4, b_at += 4, count -= 4;                                                                           \
    }                                                                                                             \
    else {                                                                                                        \
      PT_SINGLE_STEP(ROWS, VECTORS)                                                                               \
      ++a_at, ++b_at, --count;                                                                                    \
    }                                                                                                             \
    PT_ROWS_##ROWS(PT_STORE_ROW, VECTORS)                                                                         \
  }
#define PT_ROWS_BLOCK(NAME, VECTORS)                                                                             \
  PT_BLOCK_HEAD(NAME##_along_rows) {                                                                             \
    size_t kk = 0;                                                                                               \
    const pt_real* first_row = a[0];                                                                             \
    PT_ROWS_4(PT_LOAD_ROW, VECTORS)                                                                              \
    for (; kk + 4 <= count; kk += 4) {                                                                           \
      PT_FOUR_NUMBERS(a, a_at + kk)                                                                              \
      PT_FOUR_NUMBERS(b, b_at + kk)                                                                              \
      PT_ALL_STEP(VECTORS, a0, b0)                                                                               \
      PT_ALL_STEP(VECTORS, a1, b1)                                                                               \
      PT_ALL_STEP(VECTORS, a2, b2)                                                                               \
      PT_ALL_STEP(VECTORS, a3, b3)                                                                               \
    }                                                                                                            \
    PT_ROLLED for (; kk < count; ++kk) PT_ALL_STEP(VECTORS, a_at[kk], b_at[kk]) PT_ROWS_4(PT_STORE_ROW, VECTORS) \
  }

PT_BLOCK(block_4x16, 4, 4)
PT_ROWS_BLOCK(block_4x16, 4)
PT_BLOCK(block_4x12, 4, 3)
PT_ROWS_BLOCK(block_4x12, 3)
PT_BLOCK(block_4x8, 4, 2)
PT_ROWS_BLOCK(block_4x8, 2)
PT_BLOCK(block_4x4, 4, 1)
PT_ROWS_BLOCK(block_4x4, 1)
PT_BLOCK(block_1x64, 1, 16)
PT_BLOCK(block_1x16, 1, 4)

static int along_k(const size_t* a_at, size_t count) {
  return count > 0 && a_at[count - 1] - a_at[0] == count - 1;
}
static int along_rows(const pt_real* const* a, size_t rows) {
  for (size_t row = 1; row < rows; ++row)
    if (a[row] != a[0] + row) return 0;
  return rows % 4 == 0;
}

typedef void (*block)(const pt_real* const* a, const size_t* a_at, const pt_real* b, const size_t* b_at, size_t count,
                      pt_real* acc, size_t c_row);
/* By their columns. */
typedef struct blocks {
  block of_16, of_12, of_8, of_4;
} blocks;
#define PT_BLOCKS(WAY) \
  { block_4x16_##WAY, block_4x12_##WAY, block_4x8_##WAY, block_4x4_##WAY }
static const blocks ways[] = {PT_BLOCKS(along_rows), PT_BLOCKS(along_k), PT_BLOCKS(some_fours)};

static void plain_8x32(const pt_real* const* a, const size_t* a_at, const pt_real* b, const size_t* b_at, size_t count,
                       pt_real* acc, size_t acc_row, size_t rows, size_t columns) {
  const blocks* way = &ways[along_rows(a, rows) ? 0 : along_k(a_at, count) ? 1 : 2];
  for (size_t row = 0; row < rows; row += 4, acc += 4 * acc_row) {
    size_t column = 0;
    for (; column + 12 < columns; column += 16)
      way->of_16(a + row, a_at, b + column, b_at, count, acc + column, acc_row);
    if (column < columns)
      (column + 8 < columns   ? way->of_12
       : column + 4 < columns ? way->of_8
                              : way->of_4)(a + row, a_at, b + column, b_at, count, acc + column, acc_row);
  }
}

static void plain_1x128(const pt_real* const* a, const size_t* a_at, const pt_real* b, const size_t* b_at, size_t count,
                        pt_real* acc, size_t acc_row, size_t rows, size_t columns) {
  const int along = along_k(a_at, count);
  size_t column = 0;
  (void)rows;
  for (; column + 48 < columns; column += 64)
    (along ? block_1x64_along_k : block_1x64_some_fours)(a, a_at, b + column, b_at, count, acc + column, acc_row);
  for (; column < columns; column += 16)
    (along ? block_1x16_along_k : block_1x16_some_fours)(a, a_at, b + column, b_at, count, acc + column, acc_row);
}
enum { kPlainUnit = 4, kPlainPacks = 1 };
#define plain_8x16 plain_8x32
#define plain_8x8 plain_8x32
