#include "kernels/portable/gemm.h"

#include <string.h>

#include "kernels/portable/tiles.h"

enum { kTall = 64 }; /* rows */

/* Are elements accumulated in a scratch? */
static int is_apart(const pt_product* product) {
  return product->finish != NULL && product->finish->scratch != NULL;
}

typedef struct run_state {
  const pt_product* product;
  pt_tile tile;
  size_t unit; /* of the tile's columns */
  int packs;   /* as the tiles say */
  size_t width, column_blocks, row_blocks, rows_per_block;
  int goes_on; /* sums continue from the values in C */
} run_state;

/* Computes up to PT_GEMM_NB columns of some rows, over all of k; (row, column) lies at c[row * c_row + column]. */
typedef struct job {
  size_t batch, row0, rows, column0, columns;
  pt_real* c;
  size_t c_row;
} job;

/* The rows of A of one row tile in one k block. */
typedef struct tile_rows {
  size_t row0, rows, k0, count;
  const pt_real* a[PT_GEMM_MR];
  const size_t* offsets;
} tile_rows;

static tile_rows rows_of(const pt_product* product, const job* j, size_t row0, size_t k0, size_t count,
                         const size_t* offsets) {
  const pt_real* first = product->a_of(product->context, j->batch) + (j->row0 + row0) * product->a_row;
  tile_rows of = {row0, pt_least(PT_GEMM_MR, j->rows - row0), k0, count, {NULL}, offsets};
  for (size_t row = 0; row < PT_GEMM_MR; ++row) /* rows beyond the last repeat it and are not stored */
    of.a[row] = first + pt_least(row, of.rows - 1) * product->a_row;
  return of;
}

/* Are there enough panels for a copy of the rows, which do not lie well? */
static int packs_rows(const run_state* state, const job* j, size_t count, const size_t* offsets) {
  return state->packs && j->columns > 2 * PT_GEMM_NR && state->product->a_row != 1 &&
         offsets[count - 1] - offsets[0] != count - 1;
}

/* Copies the rows: those of one k lie side by side. */
static void pack_rows(tile_rows* of, pt_real* packed, const size_t* packed_at) {
  for (size_t kk = 0; kk < of->count; ++kk)
    for (size_t row = 0; row < PT_GEMM_MR; ++row) packed[kk * PT_GEMM_MR + row] = of->a[row][of->offsets[kk]];
  for (size_t row = 0; row < PT_GEMM_MR; ++row) of->a[row] = packed + row;
  of->offsets = packed_at;
}

/* Computes one k block of one (row tile, panel): continues the sums in C; the first block starts from zero, unless they go on. */
static void run_tile(const run_state* state, const job* j, const tile_rows* of, size_t column0,
                     const size_t* panel_rows, const pt_real* panel) {
  const size_t rows = of->rows, columns = pt_least(PT_GEMM_NR, j->columns - column0);
  pt_real* c = j->c + of->row0 * j->c_row + column0;
  const int goes_on = of->k0 > 0 || state->goes_on, in_place = rows == PT_GEMM_MR && columns % state->unit == 0;
  pt_real acc[PT_GEMM_MR * PT_GEMM_NR];
  if (in_place) {
    for (size_t row = 0; !goes_on && row < PT_GEMM_MR; ++row) pt_zero_row(c + row * j->c_row, columns);
    state->tile(of->a, of->offsets, panel, panel_rows, of->count, c, j->c_row, rows, columns);
    return;
  }
  memset(acc, 0, sizeof acc);
  for (size_t row = 0; goes_on && row < rows; ++row)
    memcpy(acc + row * PT_GEMM_NR, c + row * j->c_row, columns * sizeof(pt_real));
  state->tile(of->a, of->offsets, panel, panel_rows, of->count, acc, PT_GEMM_NR, rows, columns);
  for (size_t row = 0; row < rows; ++row) memcpy(c + row * j->c_row, acc + row * PT_GEMM_NR, columns * sizeof(pt_real));
}

static void add_bias(const pt_product* product, const job* j) {
  if (product->bias_of == NULL || (product->terms & PT_UNFINISHED) != 0) return;
  const pt_real* bias = product->bias_of(product->context, j->batch);
  if (bias == NULL) return;
  for (size_t row = 0; row < j->rows; ++row) {
    pt_real* c = j->c + row * j->c_row;
    if (product->bias_per_row)
      for (size_t column = 0; column < j->columns; ++column) c[column] += bias[j->row0 + row];
    else
      for (size_t column = 0; column < j->columns; ++column) c[column] += bias[j->column0 + column];
  }
}

static job job_at(const run_state* state, size_t index, size_t share) {
  const pt_product* product = state->product;
  job j;
  j.batch = index / (state->row_blocks * state->column_blocks);
  j.row0 = index % state->row_blocks * state->rows_per_block;
  j.rows = pt_least(state->rows_per_block, product->m - j.row0);
  j.column0 = index / state->row_blocks % state->column_blocks * state->width;
  j.columns = pt_least(state->width, product->n - j.column0);
  if (is_apart(product)) {
    j.c_row = state->width;
    j.c = product->finish->scratch + share * state->rows_per_block * j.c_row;
  } else {
    j.c_row = product->c_row;
    j.c = product->c_of(product->context, j.batch) + j.row0 * j.c_row + j.column0;
  }
  return j;
}

static void run_job(const run_state* state, const job* j) {
  const pt_product* product = state->product;
  pt_real panels[PT_GEMM_NB / PT_GEMM_NR][PT_GEMM_KC * PT_GEMM_NR];
  pt_real packed[PT_GEMM_MR * PT_GEMM_KC];
  size_t offsets[PT_GEMM_KC], panel_rows[PT_GEMM_KC], packed_at[PT_GEMM_KC];
  for (size_t kk = 0; kk < PT_GEMM_KC; ++kk) panel_rows[kk] = kk * PT_GEMM_NR, packed_at[kk] = kk * PT_GEMM_MR;
  for (size_t k0 = 0; k0 < product->k; k0 += PT_GEMM_KC) {
    const size_t count = pt_least(PT_GEMM_KC, product->k - k0);
    product->a_offsets(product->context, k0, count, offsets);
    for (size_t panel = 0; panel * PT_GEMM_NR < j->columns; ++panel)
      product->pack_b(product->context, j->batch, k0, count, j->column0 + panel * PT_GEMM_NR,
                      pt_least(PT_GEMM_NR, j->columns - panel * PT_GEMM_NR), panels[panel]);
    const int packs = packs_rows(state, j, count, offsets);
    for (size_t row = 0; row < j->rows; row += PT_GEMM_MR) {
      tile_rows of = rows_of(product, j, row, k0, count, offsets);
      if (packs) pack_rows(&of, packed, packed_at);
      for (size_t panel = 0; panel * PT_GEMM_NR < j->columns; ++panel)
        run_tile(state, j, &of, panel * PT_GEMM_NR, panel_rows, panels[panel]);
    }
  }
  if (product->k == 0 && !state->goes_on)
    for (size_t row = 0; row < j->rows; ++row) memset(j->c + row * j->c_row, 0, j->columns * sizeof(pt_real));
  add_bias(product, j);
}

static void run_jobs(void* arg, size_t share, size_t begin, size_t end) {
  const run_state* state = arg;
  const pt_finish* finish = state->product->finish;
  for (size_t index = begin; index < end; ++index) {
    const job j = job_at(state, index, share);
    run_job(state, &j);
    for (size_t row = 0; finish != NULL && row < j.rows; ++row)
      finish->take(finish->context, j.batch, j.row0 + row, j.column0, j.columns, j.c + row * j.c_row);
  }
}

/* Rows are split too where there are too few jobs for the threads. Narrow jobs of many rows need little scratch. */
static run_state cut(const pt_product* product, const pt_pool* pool) {
  const size_t width = is_apart(product) && product->m > kTall ? PT_GEMM_NR : PT_GEMM_NB;
  const pt_tiles tiles = PT_NAME(pt_tiles_here)();
  run_state state = {product,
                     tiles.of_8x32,
                     tiles.unit,
                     tiles.packs,
                     width,
                     (product->n + width - 1) / width,
                     1,
                     0,
                     (product->terms & PT_GOES_ON) != 0};
  const size_t threads = pool != NULL ? pool->threads : 1, jobs = product->batches * state.column_blocks;
  size_t rows = product->m;
  if (threads > 1 && jobs < 4 * threads) {
    const size_t parts = (4 * threads + jobs - 1) / jobs;
    rows = (product->m / parts / PT_GEMM_MR + 1) * PT_GEMM_MR;
  }
  state.rows_per_block = pt_least(rows, product->m);
  state.row_blocks = (product->m + state.rows_per_block - 1) / state.rows_per_block;
  return state;
}

static int is_empty(const pt_product* product) {
  return product->batches == 0 || product->m == 0 || product->n == 0;
}

double PT_NAME(pt_product_work)(const pt_product* product) {
  const pt_tiles here = PT_NAME(pt_tiles_here)();
  const size_t rows = (product->m + PT_GEMM_MR - 1) / PT_GEMM_MR * PT_GEMM_MR,
               tiles = rows * pt_tile_columns(&here, product->n), blocks = (product->k + PT_GEMM_KC - 1) / PT_GEMM_KC;
  return (double)(tiles * product->k) / 8 + (double)(tiles * blocks) + 2. * (double)(product->n * product->k);
}

void PT_NAME(pt_product_run)(const pt_product* product, const pt_pool* pool) {
  if (is_empty(product)) return;
  run_state state = cut(product, pool);
  PT_NAME(pt_split_shares)(pool, product->batches * state.column_blocks * state.row_blocks, run_jobs, &state);
}

size_t PT_NAME(pt_product_scratch)(const pt_product* product, const pt_pool* pool) {
  if (is_empty(product)) return 0;
  const run_state state = cut(product, pool);
  const size_t jobs = product->batches * state.column_blocks * state.row_blocks;
  return pt_shares(pool, jobs) * state.rows_per_block * state.width;
}
