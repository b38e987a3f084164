#include "kernels/portable/compact.h"

#include "kernels/portable/kernels.h"

/* Without a floating-point unit nearly all of a product's time is spent in library calls: separate loops for known
 * strides would only cost flash. */
#if defined(__arm__) && !defined(__ARM_FP)
#define PT_FLOATS_IN_SOFTWARE
#endif

/* Four neighbouring elements of C, and the addresses of four operands with the step between them. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) && !defined(PT_REAL_DOUBLE)
#include <arm_mve.h>
typedef float32x4_t lanes;
typedef struct places {
  const pt_real* at;
  uint32x4_t offsets;
  int together;
} places;

static const lanes kZero = {0, 0, 0, 0};
static const uint32x4_t kCount = {0, 1, 2, 3};

PT_INLINE places places_of(const pt_real* at, ptrdiff_t step) {
  const uint32_t apart = (uint32_t)step;
  return (places){at, vmulq_n_u32(kCount, apart), __builtin_constant_p(step) && step == 1};
}
PT_INLINE lanes load(const places* p) {
  return p->together ? vldrwq_f32(p->at) : vldrwq_gather_shifted_offset_f32(p->at, p->offsets);
}
PT_INLINE void move(places* p, ptrdiff_t step) {
  p->at += step;
}
PT_INLINE lanes add(lanes sum, pt_real left, lanes right) {
  return vaddq_f32(sum, vmulq_n_f32(right, left));
}
PT_INLINE void store(pt_real* at, ptrdiff_t step, lanes sum) {
  vstrwq_scatter_shifted_offset_f32(at, vmulq_n_u32(kCount, (uint32_t)step), sum);
}
#else
typedef struct lanes {
  pt_real of0, of1, of2, of3;
} lanes;
typedef struct places {
  const pt_real* at;
  ptrdiff_t step;
} places;

static const lanes kZero = {0, 0, 0, 0};

PT_INLINE places places_of(const pt_real* at, ptrdiff_t step) {
  return (places){at, step};
}
PT_INLINE lanes load(const places* p) {
  return (lanes){p->at[0], p->at[p->step], p->at[2 * p->step], p->at[3 * p->step]};
}
PT_INLINE void move(places* p, ptrdiff_t step) {
  p->at += step;
}
PT_INLINE lanes add(lanes sum, pt_real left, lanes right) {
  return (lanes){sum.of0 + left * right.of0, sum.of1 + left * right.of1, sum.of2 + left * right.of2,
                 sum.of3 + left * right.of3};
}
PT_INLINE void store(pt_real* at, ptrdiff_t step, lanes sum) {
  at[0] = sum.of0, at[step] = sum.of1, at[2 * step] = sum.of2, at[3 * step] = sum.of3;
}
#endif

/* A constant in a firmware that makes no parts (parts.h), which then has no passes for them. */
static int goes_on(const pt_nest* n) {
#ifdef PT_NO_PARTS
  (void)n;
  return 0;
#else
  return n->goes_on;
#endif
}

/* Four sums that C holds. */
PT_INLINE lanes held(const pt_real* c, ptrdiff_t step) {
  const places four = places_of(c, step);
  return load(&four);
}
PT_INLINE lanes go_on(const pt_real* at, int first) {
  return first ? kZero : held(at, 1);
}

/* Computes 4 rows and 4 columns. The strides of the innermost loop, and whether sums go on, are parameters, so that
 * callers can pass constants. */
PT_INLINE void tile_4x4(const pt_nest* n, ptrdiff_t column, ptrdiff_t a_step, ptrdiff_t b_step, int on,
                        const pt_real* a, const pt_real* b, pt_real* c) {
  lanes sum0 = kZero, sum1 = kZero, sum2 = kZero, sum3 = kZero;
  if (on) {
    sum0 = held(c, n->c_column), sum1 = held(c + n->c_row, n->c_column);
    sum2 = held(c + 2 * n->c_row, n->c_column), sum3 = held(c + 3 * n->c_row, n->c_column);
  }
  for (size_t i = n->count[0]; i > 0; --i, a += n->a_step[0], b += n->b_step[0]) {
    const pt_real *aj = a, *bj = b;
    for (size_t j = n->count[1]; j > 0; --j, aj += n->a_step[1], bj += n->b_step[1]) {
      const pt_real *a0 = aj, *a1 = a0 + n->a_row, *a2 = a1 + n->a_row, *a3 = a2 + n->a_row;
      places four = places_of(bj, column);
      for (size_t k = n->count[2]; k > 0; --k, move(&four, b_step)) {
        const lanes row = load(&four);
        sum0 = add(sum0, *a0, row), a0 += a_step;
        sum1 = add(sum1, *a1, row), a1 += a_step;
        sum2 = add(sum2, *a2, row), a2 += a_step;
        sum3 = add(sum3, *a3, row), a3 += a_step;
      }
    }
  }
  store(c, n->c_column, sum0);
  store(c + n->c_row, n->c_column, sum1);
  store(c + 2 * n->c_row, n->c_column, sum2);
  store(c + 3 * n->c_row, n->c_column, sum3);
}

#ifndef PT_FLOATS_IN_SOFTWARE
/* The same for an innermost loop of three terms that are contiguous in A, such as a row of a 3 x 3 kernel: the loop
 * is unrolled, and contiguous columns share their loads. */
PT_INLINE lanes add_three(lanes sum, const pt_real* a, lanes x, lanes y, lanes z) {
  return add(add(add(sum, a[0], x), a[1], y), a[2], z);
}
PT_INLINE void tile_of_threes(const pt_nest* n, ptrdiff_t column, ptrdiff_t b_step, const pt_real* a, const pt_real* b,
                              pt_real* c) {
  lanes sum0 = kZero, sum1 = kZero, sum2 = kZero, sum3 = kZero;
  const ptrdiff_t row = n->a_row;
  for (size_t i = n->count[0]; i > 0; --i, a += n->a_step[0], b += n->b_step[0]) {
    const pt_real *aj = a, *bj = b;
    for (size_t j = n->count[1]; j > 0; --j, aj += n->a_step[1], bj += n->b_step[1]) {
      const places first = places_of(bj, column), second = places_of(bj + b_step, column),
                   third = places_of(bj + 2 * b_step, column);
      const lanes x = load(&first), y = load(&second), z = load(&third);
      sum0 = add_three(sum0, aj, x, y, z);
      sum1 = add_three(sum1, aj + row, x, y, z);
      sum2 = add_three(sum2, aj + 2 * row, x, y, z);
      sum3 = add_three(sum3, aj + 3 * row, x, y, z);
    }
  }
  store(c, n->c_column, sum0);
  store(c + n->c_row, n->c_column, sum1);
  store(c + 2 * n->c_row, n->c_column, sum2);
  store(c + 3 * n->c_row, n->c_column, sum3);
}
#endif

/* Adds one or two terms to 4 rows. The sums start from +0 if these are the first terms, else from the values in C.
 * The number of columns is a multiple of four. */
PT_INLINE void add_terms(const pt_nest* n, int terms, int first, const pt_real* a, const pt_real* b, pt_real* c) {
  const ptrdiff_t row = n->a_row, k = terms > 1 ? n->a_step[2] : 0, c_row = n->c_row;
  const pt_real a0 = a[0], a1 = a[row], a2 = a[2 * row], a3 = a[3 * row];
  const pt_real b0 = a[k], b1 = a[row + k], b2 = a[2 * row + k], b3 = a[3 * row + k];
  pt_real *c0 = c, *c1 = c0 + c_row, *c2 = c1 + c_row, *c3 = c2 + c_row;
  for (size_t column = n->columns / 4; column > 0; --column, c0 += 4, c1 += 4, c2 += 4, c3 += 4, b += 4) {
    const places four = places_of(b, 1), next = places_of(b + (terms > 1 ? n->b_step[2] : 0), 1);
    const lanes x = load(&four), y = load(&next);
    lanes sum0 = add(go_on(c0, first), a0, x), sum1 = add(go_on(c1, first), a1, x);
    store(c0, 1, terms > 1 ? add(sum0, b0, y) : sum0);
    store(c1, 1, terms > 1 ? add(sum1, b1, y) : sum1);
    sum0 = add(go_on(c2, first), a2, x), sum1 = add(go_on(c3, first), a3, x);
    store(c2, 1, terms > 1 ? add(sum0, b2, y) : sum0);
    store(c3, 1, terms > 1 ? add(sum1, b3, y) : sum1);
  }
}

/* Computes 8 rows of one column. */
PT_INLINE void tile_8x1(const pt_nest* n, ptrdiff_t row, ptrdiff_t a_step, int on, const pt_real* a, const pt_real* b,
                        pt_real* c) {
  lanes sum0 = kZero, sum1 = kZero;
  if (on) sum0 = held(c, n->c_row), sum1 = held(c + 4 * n->c_row, n->c_row);
  for (size_t i = n->count[0]; i > 0; --i, a += n->a_step[0], b += n->b_step[0]) {
    const pt_real *aj = a, *bj = b;
    for (size_t j = n->count[1]; j > 0; --j, aj += n->a_step[1], bj += n->b_step[1]) {
      places four = places_of(aj, row), next = places_of(aj + 4 * row, row);
      const pt_real* bk = bj;
      for (size_t k = n->count[2]; k > 0; --k, bk += n->b_step[2]) {
        sum0 = add(sum0, *bk, load(&four)), move(&four, a_step);
        sum1 = add(sum1, *bk, load(&next)), move(&next, a_step);
      }
    }
  }
  store(c, n->c_row, sum0);
  store(c + 4 * n->c_row, n->c_row, sum1);
}

PT_INLINE void single(const pt_nest* n, int on, const pt_real* a, const pt_real* b, pt_real* c) {
  pt_real sum = on ? *c : 0;
  for (size_t i = n->count[0]; i > 0; --i, a += n->a_step[0], b += n->b_step[0]) {
    const pt_real *aj = a, *bj = b;
    for (size_t j = n->count[1]; j > 0; --j, aj += n->a_step[1], bj += n->b_step[1]) {
      const pt_real *ak = aj, *bk = bj;
      for (size_t k = n->count[2]; k > 0; --k, ak += n->a_step[2], bk += n->b_step[2]) sum += *ak * *bk;
    }
  }
  *c = sum;
}

/* Computes all rows of 4 columns. The last tile overlaps rows that are computed already, and writes the same values
 * again: sums that go on are cut so that none overlaps (run_on). */
PT_INLINE void four_columns(const pt_nest* n, ptrdiff_t column, ptrdiff_t a_step, ptrdiff_t b_step, int on,
                            const pt_real* a, const pt_real* b, pt_real* c) {
  for (size_t row = 0; row < n->rows; row += 4) {
    const ptrdiff_t at = (ptrdiff_t)(row + 4 <= n->rows ? row : n->rows - 4);
    tile_4x4(n, column, a_step, b_step, on, a + at * n->a_row, b, c + at * n->c_row);
  }
}
#ifndef PT_FLOATS_IN_SOFTWARE
PT_INLINE void columns_of_threes(const pt_nest* n, ptrdiff_t column, ptrdiff_t b_step, const pt_real* a,
                                 const pt_real* b, pt_real* c) {
  for (size_t row = 0; row < n->rows; row += 4) {
    const ptrdiff_t at = (ptrdiff_t)(row + 4 <= n->rows ? row : n->rows - 4);
    tile_of_threes(n, column, b_step, a + at * n->a_row, b, c + at * n->c_row);
  }
}
#endif
PT_INLINE void one_column(const pt_nest* n, ptrdiff_t row, ptrdiff_t a_step, int on, const pt_real* a, const pt_real* b,
                          pt_real* c) {
  for (size_t first = 0; first < n->rows; first += 8) {
    const ptrdiff_t at = (ptrdiff_t)(first + 8 <= n->rows ? first : n->rows - 8);
    tile_8x1(n, row, a_step, on, a + at * row, b, c + at * n->c_row);
  }
}

/* Separate functions, so that strides of 1 are constants and each loop has all registers. */
#define PT_PASS(name, run)                                                               \
  PT_APART void name(const pt_nest* n, const pt_real* a, const pt_real* b, pt_real* c) { \
    run;                                                                                 \
  }
PT_PASS(columns_together, four_columns(n, 1, n->a_step[2], n->b_step[2], 0, a, b, c))
PT_PASS(columns_apart, four_columns(n, n->b_column, n->a_step[2], n->b_step[2], 0, a, b, c))
PT_PASS(columns_on, four_columns(n, n->b_column, n->a_step[2], n->b_step[2], 1, a, b, c))
#ifndef PT_FLOATS_IN_SOFTWARE
PT_PASS(columns_and_a_together, four_columns(n, 1, 1, n->b_step[2], 0, a, b, c))
PT_PASS(a_and_b_together, four_columns(n, n->b_column, 1, 1, 0, a, b, c))
PT_PASS(columns_together_on, four_columns(n, 1, n->a_step[2], n->b_step[2], 1, a, b, c))
PT_PASS(threes_forward, columns_of_threes(n, 1, 1, a, b, c))
PT_PASS(threes_backward, columns_of_threes(n, 1, -1, a, b, c))
PT_PASS(threes_apart, columns_of_threes(n, n->b_column, 1, a, b, c))
#endif
PT_PASS(rows_together, one_column(n, 1, n->a_step[2], 0, a, b, c))
PT_PASS(steps_together, one_column(n, n->a_row, 1, 0, a, b, c))
PT_PASS(rows_apart, one_column(n, n->a_row, n->a_step[2], 0, a, b, c))
PT_PASS(rows_on, one_column(n, n->a_row, n->a_step[2], 1, a, b, c))
PT_APART void one_by_one(const pt_nest* n, const pt_real* a, const pt_real* b, pt_real* c) {
  for (size_t row = 0; row < n->rows; ++row, a += n->a_row, c += n->c_row) single(n, 0, a, b, c);
}
PT_APART void one_by_one_on(const pt_nest* n, const pt_real* a, const pt_real* b, pt_real* c) {
  for (size_t row = 0; row < n->rows; ++row, a += n->a_row, c += n->c_row) single(n, 1, a, b, c);
}

/* Moves loops of one turn outwards, so that the innermost loops have work to do. */
static void sink_loops(pt_nest* n) {
  for (int turn = 0; turn < 2 && n->count[2] == 1; ++turn) {
    for (int loop = 2; loop > 0; --loop) {
      n->count[loop] = n->count[loop - 1];
      n->a_step[loop] = n->a_step[loop - 1];
      n->b_step[loop] = n->b_step[loop - 1];
    }
    n->count[0] = 1;
  }
}

PT_INLINE void swap(ptrdiff_t* left, ptrdiff_t* right) {
  const ptrdiff_t kept = *left;
  *left = *right, *right = kept;
}

/* Transposes the product: A and B change places, which changes no bit. */
static void turn(pt_nest* n) {
  const size_t rows = n->rows;
  n->rows = n->columns, n->columns = rows;
  for (int loop = 0; loop < 3; ++loop) swap(&n->a_step[loop], &n->b_step[loop]);
  swap(&n->a_row, &n->b_column);
  swap(&n->c_row, &n->c_column);
}

typedef void (*pass)(const pt_nest* n, const pt_real* a, const pt_real* b, pt_real* c);

static pass pass_of_four(const pt_nest* n) {
#ifdef PT_FLOATS_IN_SOFTWARE
  return goes_on(n) ? columns_on : n->b_column == 1 ? columns_together : columns_apart;
#else
  if (goes_on(n)) return n->b_column == 1 ? columns_together_on : columns_on;
  const int columns = n->b_column == 1, a = n->a_step[2] == 1, b = n->b_step[2] == 1;
  if (a && n->count[2] == 3) {
    if (b) return columns ? threes_forward : threes_apart;
    if (columns && n->b_step[2] == -1) return threes_backward;
  }
  if (columns) return a ? columns_and_a_together : columns_together;
  return a && b ? a_and_b_together : columns_apart;
#endif
}
static pass pass_of_one(const pt_nest* n) {
  if (goes_on(n)) return n->rows < 8 ? one_by_one_on : rows_on;
  if (n->rows < 8) return one_by_one;
  return n->a_row == 1 ? rows_together : n->a_step[2] == 1 ? steps_together : rows_apart;
}

static void run(const pt_nest* n, const pt_real* a, const pt_real* b, pt_real* c) {
  const pass four = pass_of_four(n), one = pass_of_one(n);
  size_t column = 0;
  for (; n->rows >= 4 && column + 4 <= n->columns; column += 4, b += 4 * n->b_column, c += 4 * n->c_column)
    four(n, a, b, c);
  const size_t left = n->columns - column;
  if (n->rows >= 4 && column > 0 && left > 0 && (left == 3 || n->rows < 8) && !goes_on(n)) {
    const ptrdiff_t back = (ptrdiff_t)(4 - left);
    four(n, a, b - back * n->b_column, c - back * n->c_column);
    return;
  }
  for (; column < n->columns; ++column, b += n->b_column, c += n->c_column) one(n, a, b, c);
}

PT_APART void one_term(const pt_nest* n, const pt_real* a, const pt_real* b, pt_real* c) {
  add_terms(n, 1, 1, a, b, c);
}
PT_APART void two_terms(const pt_nest* n, int first, const pt_real* a, const pt_real* b, pt_real* c) {
  add_terms(n, 2, first, a, b, c);
}

/* Is the sum so short (at most 4 terms) that a tile would not be faster? One that goes on is read once by a tile. */
static int is_flat(const pt_nest* n) {
  return n->rows >= 4 && n->columns >= 4 && n->b_column == 1 && n->c_column == 1 && n->count[2] > 0 &&
         n->count[2] <= 4 && n->count[1] == 1 && n->count[0] == 1 && !goes_on(n);
}

static void run_flat(const pt_nest* n, const pt_real* a, const pt_real* b, pt_real* c) {
  const ptrdiff_t terms = (ptrdiff_t)n->count[2], odd = terms % 2;
  for (size_t row = 0; row < n->rows; row += 4) {
    const ptrdiff_t at = (ptrdiff_t)(row + 4 <= n->rows ? row : n->rows - 4);
    const pt_real* from = a + at * n->a_row;
    if (odd > 0) one_term(n, from, b, c + at * n->c_row);
    for (ptrdiff_t k = odd; k < terms; k += 2)
      two_terms(n, k == 0, from + k * n->a_step[2], b + k * n->b_step[2], c + at * n->c_row);
  }
}

static void run_nest(pt_nest* n, const pt_real* a, const pt_real* b, pt_real* c) {
  const size_t columns = n->columns, done = is_flat(n) ? columns / 4 * 4 : 0;
  if (done > 0) run_flat(n, a, b, c);
  n->columns -= done;
  run(n, a, b + (ptrdiff_t)done * n->b_column, c + (ptrdiff_t)done * n->c_column);
  n->columns = columns;
}

/* Runs rows of sums that go on: eights, four, and what is left, so that a tile never overlaps rows whose terms another
 * one has added. */
static void run_rows(pt_nest* n, const pt_real* a, const pt_real* b, pt_real* c) {
  const size_t rows = n->rows;
  for (size_t row = 0, left = rows; left > 0; row += n->rows, left = rows - row) {
    n->rows = left >= 8 ? left / 8 * 8 : left > 4 ? 4 : left;
    run_nest(n, a + (ptrdiff_t)row * n->a_row, b, c + (ptrdiff_t)row * n->c_row);
  }
  n->rows = rows;
}

/* The one to three rows that are left become columns of a turned product, where eights of columns are computed at once. */
static void run_on(pt_nest* n, const pt_real* a, const pt_real* b, pt_real* c) {
  const size_t rows = n->rows, last = rows % 4;
  n->rows = rows - last;
  run_rows(n, a, b, c);
  if (last == 0) return;
  a += (ptrdiff_t)n->rows * n->a_row, c += (ptrdiff_t)n->rows * n->c_row;
  n->rows = last;
  turn(n);
  run_rows(n, b, a, c);
  turn(n);
  n->rows = rows;
}

static void run_either(pt_nest* n, const pt_real* a, const pt_real* b, pt_real* c) {
  if (goes_on(n))
    run_on(n, a, b, c);
  else
    run_nest(n, a, b, c);
}

void PT_NAME(pt_nest_run)(pt_nest* n, const pt_real* a, const pt_real* b, pt_real* c) {
  sink_loops(n);
  if ((n->rows < 4 && n->columns > n->rows) || (n->b_column != 1 && n->a_row == 1 && n->columns >= 4)) {
    turn(n);
    run_either(n, b, a, c);
    turn(n);
  } else {
    run_either(n, a, b, c);
  }
}

/* The start of the next four positions of a line of `count`. The last four overlap positions that are computed
 * already. */
PT_INLINE ptrdiff_t four_from(size_t at, size_t count) {
  return (ptrdiff_t)(at + 4 <= count ? at : count - 4);
}

/* A 3 x 3 window over lines of four positions or more: the window stays in registers, and four positions share their
 * loads. */
PT_INLINE lanes add_row(lanes sum, pt_real w0, pt_real w1, pt_real w2, const pt_real* x, ptrdiff_t along,
                        ptrdiff_t step) {
  const places p0 = places_of(x, step), p1 = places_of(x + along, step), p2 = places_of(x + 2 * along, step);
  const lanes x0 = load(&p0), x1 = load(&p1), x2 = load(&p2);
  return add(add(add(sum, w0, x0), w1, x1), w2, x2);
}
PT_INLINE void three_columns(const pt_window* t, size_t lines, size_t count, const pt_real* w, const pt_real* x,
                             ptrdiff_t x_along, ptrdiff_t x_move, pt_real* c, ptrdiff_t c_move) {
  const ptrdiff_t down = t->w_down, along = t->w_along, x_down = t->x_down;
  const pt_real a0 = w[0], a1 = w[along], a2 = w[2 * along];
  const pt_real *w1 = w + down, *w2 = w1 + down;
  const pt_real b0 = w1[0], b1 = w1[along], b2 = w1[2 * along], d0 = w2[0], d1 = w2[along], d2 = w2[2 * along];
  for (; lines > 0; --lines, x += t->x_line, c += t->c_line) {
    for (size_t at = 0; at < count; at += 4) {
      const ptrdiff_t from = four_from(at, count);
      const pt_real *x0 = x + from * x_move, *x1 = x0 + x_down, *x2 = x1 + x_down;
      lanes sum = add_row(kZero, a0, a1, a2, x0, x_along, x_move);
      sum = add_row(sum, b0, b1, b2, x1, x_along, x_move);
      sum = add_row(sum, d0, d1, d2, x2, x_along, x_move);
      store(c + from * c_move, c_move, sum);
    }
  }
}

#define PT_WINDOW(name, run)                                                                                           \
  PT_APART void name(const pt_window* t, size_t lines, size_t count, const pt_real* w, const pt_real* x, pt_real* c) { \
    run;                                                                                                               \
  }
PT_WINDOW(window_forward, three_columns(t, lines, count, w, x, 1, 1, c, 1))
PT_WINDOW(window_backward, three_columns(t, lines, count, w, x, -1, 1, c, 1))
PT_WINDOW(window_apart, three_columns(t, lines, count, w, x, t->x_along, t->x_move, c, t->c_move))

/* A window of any size, four positions at a time. The remaining positions are computed one by one where there is only
 * one, or where the sums continue from C. */
PT_INLINE lanes four_under(const pt_window* t, lanes sum, const pt_real* w, const pt_real* x, ptrdiff_t x_move) {
  for (size_t r = t->rows; r > 0; --r, x += t->x_down, w += t->w_down) {
    places four = places_of(x, x_move);
    const pt_real* weight = w;
    for (size_t q = t->columns; q > 0; --q, weight += t->w_along, move(&four, t->x_along))
      sum = add(sum, *weight, load(&four));
  }
  return sum;
}
PT_INLINE pt_real one_under(const pt_window* t, pt_real sum, const pt_real* w, const pt_real* x) {
  for (size_t r = t->rows; r > 0; --r, x += t->x_down, w += t->w_down) {
    const pt_real *weight = w, *from = x;
    for (size_t q = t->columns; q > 0; --q, weight += t->w_along, from += t->x_along) sum += *weight * *from;
  }
  return sum;
}
PT_INLINE void any_columns(const pt_window* t, size_t lines, size_t count, const pt_real* w, const pt_real* x,
                           ptrdiff_t x_move, pt_real* c, ptrdiff_t c_move) {
  const size_t fours = count >= 4 && count % 4 > 1 && !t->goes_on ? count : count / 4 * 4;
  for (; lines > 0; --lines, x += t->x_line, c += t->c_line) {
    for (size_t at = 0; at < fours; at += 4) {
      const ptrdiff_t from = four_from(at, fours);
      pt_real* made = c + from * c_move;
      const places begun = places_of(made, c_move);
      store(made, c_move, four_under(t, t->goes_on ? load(&begun) : kZero, w, x + from * x_move, x_move));
    }
    for (size_t at = fours; at < count; ++at) {
      pt_real* made = c + (ptrdiff_t)at * c_move;
      *made = one_under(t, t->goes_on ? *made : 0, w, x + (ptrdiff_t)at * x_move);
    }
  }
}
PT_WINDOW(window_of_any_size, any_columns(t, lines, count, w, x, t->x_move, c, t->c_move))
#ifndef PT_FLOATS_IN_SOFTWARE
PT_WINDOW(window_together, any_columns(t, lines, count, w, x, 1, c, 1))
#else
#define window_together window_of_any_size
#endif

void PT_NAME(pt_window_run)(const pt_window* t, size_t lines, size_t count, const pt_real* w, const pt_real* x,
                            pt_real* c) {
  const int together = t->x_move == 1 && t->c_move == 1;
  if (t->columns != PT_TAPS || t->rows != PT_TAPS || t->goes_on || count < 4)
    (together ? window_together : window_of_any_size)(t, lines, count, w, x, c);
  else if (together && t->x_along == 1)
    window_forward(t, lines, count, w, x, c);
  else if (together && t->x_along == -1)
    window_backward(t, lines, count, w, x, c);
  else
    window_apart(t, lines, count, w, x, c);
}

void PT_NAME(pt_add_bias)(pt_real* c, const pt_real* bias, size_t samples, size_t rows, size_t columns) {
  for (size_t sample = 0; sample < samples; ++sample)
    for (size_t row = 0; row < rows; ++row)
      for (const pt_real* const end = c + columns; c < end; ++c) *c += bias[row];
}
