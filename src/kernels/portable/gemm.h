/* The engine of all products: C[m,n] = sum over k of A[m,k] B[k,n]. Each output element is ONE sum in ascending k
 * from +0, a multiplication rounded before its addition. Tiles of k, and calls with the next k, continue the sum through
 * C itself.
 *
 * A is read in place through a table of k offsets. The caller's function packs B into small panels on the stack, so
 * that convolutions need no im2col buffer. Stack: about PT_GEMM_KC * (PT_GEMM_NB + 8) elements. */
#pragma once

#include <string.h>

#include "kernels/portable/real.h"

enum { PT_GEMM_MR = 8, PT_GEMM_NR = 32, PT_GEMM_KC = 64, PT_GEMM_NB = 128 };

/* Takes elements as soon as they are complete, in place of a store to C: `count` of one row, from `column` on. */
typedef struct pt_finish {
  void (*take)(const void* context, size_t batch, size_t row, size_t column, size_t count, const pt_real* made);
  const void* context;
  pt_real*
      scratch; /* where sums accumulate: as many elements as the product's scratch function says; NULL: in C, from which `take` gets the elements */
} pt_finish;

typedef struct pt_product {
  size_t batches, m, n, k;
  const void* context;
  /* The first element of A of a batch; element (row, k) lies at row * a_row + offset(k). */
  const pt_real* (*a_of)(const void* context, size_t batch);
  size_t a_row;
  void (*a_offsets)(const void* context, size_t k0, size_t count, size_t* offsets);
  /* Writes B[k0 + kk, n0 + j] to panel[kk * PT_GEMM_NR + j] for kk < count, j < columns <= PT_GEMM_NR; the rest of each
   * row is 0. */
  void (*pack_b)(const void* context, size_t batch, size_t k0, size_t count, size_t n0, size_t columns, pt_real* panel);
  pt_real* (*c_of)(const void* context, size_t batch);
  size_t c_row;
  /* Added once, after the sum: per row or per column, or NULL. */
  const pt_real* (*bias_of)(const void* context, size_t batch);
  int bias_per_row;
  const pt_finish* finish; /* NULL: elements go to C; with a scratch c_of is not called */
  uint8_t terms; /* pt_terms; of a product whose sums lie in C, without a finish where they are not complete */
} pt_product;

/* pack_b for a B whose element (k, column) lies at b + k * k_step + column * column_step. */
static inline void pt_pack_strided(const pt_real* b, size_t k_step, size_t column_step, size_t count, size_t columns,
                                   pt_real* panel) {
  if (columns < PT_GEMM_NR) memset(panel, 0, count * PT_GEMM_NR * sizeof(pt_real));
  if (column_step == 1) {
    for (size_t kk = 0; kk < count; ++kk) memcpy(panel + kk * PT_GEMM_NR, b + kk * k_step, columns * sizeof(pt_real));
    return;
  }
  for (size_t column = 0; column < columns; ++column) {
    const pt_real* from = b + column * column_step;
    if (k_step == 1) {
      PT_UNROLLED
      for (size_t kk = 0; kk < count; ++kk) panel[kk * PT_GEMM_NR + column] = from[kk];
    } else {
      for (size_t kk = 0; kk < count; ++kk) panel[kk * PT_GEMM_NR + column] = from[kk * k_step];
    }
  }
}

/* Most rows are as wide as a panel: a number that the compiler knows takes no call. */
static inline void pt_zero_row(pt_real* to, size_t columns) {
  if (columns == PT_GEMM_NR)
    memset(to, 0, PT_GEMM_NR * sizeof(pt_real));
  else
    memset(to, 0, columns * sizeof(pt_real));
}

/* Runs the product; threads share the outputs, never one sum. */
void PT_NAME(pt_product_run)(const pt_product* product, const pt_pool* pool);
/* Of one batch, in eighths of a tile's multiply-accumulates; an element that is packed counts as two. */
double PT_NAME(pt_product_work)(const pt_product* product);
/* Elements of scratch for a product that has a finish. */
size_t PT_NAME(pt_product_scratch)(const pt_product* product, const pt_pool* pool);

/* Calls body over [0, count), on the pool's threads where there are some. */
void PT_NAME(pt_split)(const pt_pool* pool, size_t count, void (*body)(void* arg, size_t begin, size_t end), void* arg);

/* The same in pt_shares pieces, each of which gets its number: code that needs scratch gives each piece its own. */
typedef void (*pt_share_body)(void* arg, size_t share, size_t begin, size_t end);
void PT_NAME(pt_split_shares)(const pt_pool* pool, size_t count, pt_share_body body, void* arg);
static inline size_t pt_shares(const pt_pool* pool, size_t count) {
  const size_t threads = pool != NULL && pool->threads > 1 ? pool->threads : 1;
  return threads < count ? threads : count;
}
