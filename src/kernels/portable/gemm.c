#include "kernels/portable/gemm.h"

#include <string.h>

#include "kernels/portable/tiles.h"

void PT_NAME(pt_split)(const pt_pool* pool, size_t count, void (*body)(void* arg, size_t begin, size_t end),
                       void* arg) {
  if (count == 0) return;
  if (pool == NULL || pool->threads <= 1 || pool->run == NULL || count == 1)
    body(arg, 0, count);
  else
    pool->run(pool->context, count, body, arg);
}

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

typedef struct run_state {
  const pt_product* product;
  pt_tile tile;
  size_t column_blocks, row_blocks, rows_per_block;
} run_state;

/* One k block of one (row tile, panel): continues the chains of C, which are zero before the first block. */
static void run_tile(const run_state* state, size_t batch, size_t row0, size_t column0, size_t columns, size_t k0,
                     size_t count, const size_t* offsets, const size_t* panel_rows, const pt_real* panel) {
  const pt_product* product = state->product;
  const size_t rows = least(PT_GEMM_MR, product->m - row0);
  const pt_real* first = product->a_of(product->context, batch);
  pt_real* c = product->c_of(product->context, batch) + row0 * product->c_row + column0;
  const pt_real* a[PT_GEMM_MR];
  pt_real acc[PT_GEMM_MR * PT_GEMM_NR];
  memset(acc, 0, sizeof acc);
  for (size_t row = 0; row < PT_GEMM_MR; ++row) {
    a[row] =
        first + (row0 + least(row, rows - 1)) * product->a_row; /* rows beyond the last repeat it and are not stored */
    if (k0 > 0 && row < rows) memcpy(acc + row * PT_GEMM_NR, c + row * product->c_row, columns * sizeof(pt_real));
  }
  state->tile(a, offsets, panel, panel_rows, count, acc);
  for (size_t row = 0; row < rows; ++row)
    memcpy(c + row * product->c_row, acc + row * PT_GEMM_NR, columns * sizeof(pt_real));
}

static void add_bias(const pt_product* product, size_t batch, size_t row0, size_t rows, size_t column0,
                     size_t columns) {
  if (product->bias_of == NULL) return;
  const pt_real* bias = product->bias_of(product->context, batch);
  if (bias == NULL) return;
  for (size_t row = row0; row < row0 + rows; ++row) {
    pt_real* c = product->c_of(product->context, batch) + row * product->c_row + column0;
    if (product->bias_per_row)
      for (size_t column = 0; column < columns; ++column) c[column] += bias[row];
    else
      for (size_t column = 0; column < columns; ++column) c[column] += bias[column0 + column];
  }
}

/* One job: up to PT_GEMM_NB columns of some rows, over all of k. */
static void run_job(const run_state* state, size_t job) {
  const pt_product* product = state->product;
  const size_t row_block = job % state->row_blocks, column_block = job / state->row_blocks % state->column_blocks;
  const size_t batch = job / (state->row_blocks * state->column_blocks);
  const size_t row0 = row_block * state->rows_per_block, rows = least(state->rows_per_block, product->m - row0);
  const size_t column0 = column_block * PT_GEMM_NB, columns = least(PT_GEMM_NB, product->n - column0);
  pt_real panels[PT_GEMM_NB / PT_GEMM_NR][PT_GEMM_KC * PT_GEMM_NR];
  size_t offsets[PT_GEMM_KC], panel_rows[PT_GEMM_KC];
  for (size_t kk = 0; kk < PT_GEMM_KC; ++kk) panel_rows[kk] = kk * PT_GEMM_NR;
  for (size_t k0 = 0; k0 < product->k; k0 += PT_GEMM_KC) {
    const size_t count = least(PT_GEMM_KC, product->k - k0);
    product->a_offsets(product->context, k0, count, offsets);
    for (size_t panel = 0; panel * PT_GEMM_NR < columns; ++panel)
      product->pack_b(product->context, batch, k0, count, column0 + panel * PT_GEMM_NR,
                      least(PT_GEMM_NR, columns - panel * PT_GEMM_NR), panels[panel]);
    for (size_t row = 0; row < rows; row += PT_GEMM_MR)
      for (size_t panel = 0; panel * PT_GEMM_NR < columns; ++panel)
        run_tile(state, batch, row0 + row, column0 + panel * PT_GEMM_NR,
                 least(PT_GEMM_NR, columns - panel * PT_GEMM_NR), k0, count, offsets, panel_rows, panels[panel]);
  }
  if (product->k == 0)
    for (size_t row = row0; row < row0 + rows; ++row)
      memset(product->c_of(product->context, batch) + row * product->c_row + column0, 0, columns * sizeof(pt_real));
  add_bias(product, batch, row0, rows, column0, columns);
}

static void run_jobs(void* arg, size_t begin, size_t end) {
  for (size_t job = begin; job < end; ++job) run_job((const run_state*)arg, job);
}

void PT_NAME(pt_product_run)(const pt_product* product, const pt_pool* pool) {
  if (product->batches == 0 || product->m == 0 || product->n == 0) return;
  run_state state = {product, PT_NAME(pt_tiles_here)().of_8x32, (product->n + PT_GEMM_NB - 1) / PT_GEMM_NB, 1, 0};
  const size_t threads = pool != NULL ? pool->threads : 1, jobs = product->batches * state.column_blocks;
  state.rows_per_block = product->m;
  if (threads > 1 && jobs < 4 * threads) { /* too few jobs for the threads: split the rows too */
    const size_t parts = (4 * threads + jobs - 1) / jobs;
    state.rows_per_block = (product->m / parts / PT_GEMM_MR + 1) * PT_GEMM_MR;
  }
  state.row_blocks = (product->m + state.rows_per_block - 1) / state.rows_per_block;
  PT_NAME(pt_split)(pool, jobs * state.row_blocks, run_jobs, &state);
}
