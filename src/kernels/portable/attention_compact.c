/* attention and its gradient for processors with little memory: four rows of scores at a time. */
#include "kernels/portable/attention.h"
#include "kernels/portable/compact.h"
#include "kernels/portable/kernels.h"

enum { kRows = 4 };

/* Adds up to four further terms (k <= 4) to every sum in C. */
static void add_terms(const pt_factor* a, const pt_factor* b, size_t m, size_t n, size_t k, pt_real* c, size_t c_row) {
  const size_t x = a->column_step, y = b->row_step;
  for (size_t row = 0; row < m; ++row, c += c_row) {
    const pt_real *left = a->at + row * a->row_step, *right = b->at;
    const pt_real a0 = left[0], a1 = k > 1 ? left[x] : 0, a2 = k > 2 ? left[2 * x] : 0, a3 = k > 3 ? left[3 * x] : 0;
    for (size_t column = 0; column < n; ++column, right += b->column_step) {
      pt_real sum = c[column] + a0 * right[0];
      if (k > 1) sum += a1 * right[y];
      if (k > 2) sum += a2 * right[2 * y];
      if (k > 3) sum += a3 * right[3 * y];
      c[column] = sum;
    }
  }
}

static void compact(const pt_factor* a, const pt_factor* b, size_t m, size_t n, size_t k, int goes_on, pt_real* c,
                    size_t c_row, void* scratch) {
  (void)scratch;
  if (goes_on) {
    add_terms(a, b, m, n, k, c, c_row);
    return;
  }
  pt_nest nest = {m,
                  n,
                  {1, 1, k},
                  {0, 0, (ptrdiff_t)a->column_step},
                  {0, 0, (ptrdiff_t)b->row_step},
                  (ptrdiff_t)a->row_step,
                  (ptrdiff_t)b->column_step,
                  (ptrdiff_t)c_row,
                  1,
                  0};
  PT_NAME(pt_nest_run)(&nest, a->at, b->at, c);
}

static const pt_attention_form kCompact = {compact, kRows, 0, 0};

PT_ATTENTION_KERNELS(compact, kCompact)
