/* attention and its gradient: by plain loops, a row at a time, and by the blocked product, on blocks that fit a cache. */
#include "kernels/portable/attention.h"

#include "kernels/portable/gemm.h"
#include "kernels/portable/kernels.h"

static void plain(const pt_factor* a, const pt_factor* b, size_t m, size_t n, size_t k, int goes_on, pt_real* c,
                  size_t c_row, void* scratch) {
  (void)scratch;
  for (size_t row = 0; row < m; ++row)
    for (size_t column = 0; column < n; ++column) {
      pt_real sum = goes_on ? c[row * c_row + column] : 0;
      for (size_t at = 0; at < k; ++at)
        sum += a->at[row * a->row_step + at * a->column_step] * b->at[at * b->row_step + column * b->column_step];
      c[row * c_row + column] = sum;
    }
}

typedef struct factors {
  const pt_factor *a, *b;
  pt_real* c;
} factors;

static const pt_real* a_of(const void* context, size_t batch) {
  (void)batch;
  return ((const factors*)context)->a->at;
}
static pt_real* c_of(const void* context, size_t batch) {
  (void)batch;
  return ((const factors*)context)->c;
}
static void a_offsets(const void* context, size_t k0, size_t count, size_t* offsets) {
  const pt_factor* a = ((const factors*)context)->a;
  for (size_t kk = 0; kk < count; ++kk) offsets[kk] = (k0 + kk) * a->column_step;
}
static void pack_b(const void* context, size_t batch, size_t k0, size_t count, size_t n0, size_t columns,
                   pt_real* panel) {
  const pt_factor* b = ((const factors*)context)->b;
  (void)batch;
  pt_pack_strided(b->at + k0 * b->row_step + n0 * b->column_step, b->row_step, b->column_step, count, columns, panel);
}

static void blocked(const pt_factor* a, const pt_factor* b, size_t m, size_t n, size_t k, int goes_on, pt_real* c,
                    size_t c_row, void* scratch) {
  (void)scratch;
  const factors context = {a, b, c};
  const pt_product product = {1,     m,           n,         k,      &context,
                              a_of,  a->row_step, a_offsets, pack_b, c_of,
                              c_row, NULL,        0,         NULL,   goes_on ? PT_GOES_ON : PT_ALL_TERMS};
  PT_NAME(pt_product_run)(&product, NULL);
}

static const pt_attention_form kPlain = {plain, 1, 0, 0}, kBlocked = {blocked, 8, 1 << 16, 0};

PT_ATTENTION_KERNELS(reference, kPlain)
PT_ATTENTION_KERNELS(blocked, kBlocked)
