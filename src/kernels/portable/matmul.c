#include <string.h>

#include "kernels/portable/gemm.h"
#include "kernels/portable/products.h"

/* A[.., M, K] B[.., K, N] (bias[N]) -> Y[.., M, N]; the batch dimensions of A and B broadcast to those of Y. */
typedef struct matmul {
  const pt_call* call;
  size_t batches, m, n, k;
  size_t a_row, a_k, b_k, b_column; /* strides in elements */
} matmul;

static size_t dim_from_end(const pt_tensor* tensor, size_t from_end) {
  return from_end < tensor->rank ? tensor->dims[tensor->rank - 1 - from_end] : 1;
}

static matmul describe(const pt_call* call) {
  const pt_tensor *a = &call->inputs[0], *y = &call->outputs[0];
  const int trans_a = call->ints[0] != 0, trans_b = call->ints[1] != 0;
  matmul product = {call, 1, dim_from_end(y, 1), dim_from_end(y, 0), dim_from_end(a, trans_a ? 1 : 0), 0, 0, 0, 0};
  for (size_t dim = 2; dim < y->rank; ++dim) product.batches *= dim_from_end(y, dim);
  product.a_row = trans_a ? 1 : product.k;
  product.a_k = trans_a ? product.m : 1;
  product.b_k = trans_b ? 1 : product.n;
  product.b_column = trans_b ? product.k : 1;
  return product;
}

/* The matrix of an operand that batch `batch` of Y uses. */
static size_t matrix_of(const pt_tensor* y, const pt_tensor* operand, size_t batch) {
  size_t index = 0, stride = 1;
  for (size_t dim = 2; dim < y->rank; ++dim) {
    const size_t extent = dim_from_end(y, dim), own = dim_from_end(operand, dim), at = batch % extent;
    batch /= extent;
    if (own != 1) index += at * stride;
    stride *= own;
  }
  return index;
}

static const pt_real* a_of(const void* context, size_t batch) {
  const matmul* product = context;
  const pt_tensor* a = &product->call->inputs[0];
  return (const pt_real*)a->data + matrix_of(&product->call->outputs[0], a, batch) * product->m * product->k;
}

static const pt_real* b_of(const matmul* product, size_t batch) {
  const pt_tensor* b = &product->call->inputs[1];
  return (const pt_real*)b->data + matrix_of(&product->call->outputs[0], b, batch) * product->k * product->n;
}

static pt_real* c_of(const void* context, size_t batch) {
  const matmul* product = context;
  return (pt_real*)product->call->outputs[0].data + batch * product->m * product->n;
}

static const pt_real* bias_of(const void* context, size_t batch) {
  const matmul* product = context;
  (void)batch;
  return product->call->input_count > 2 ? product->call->inputs[2].data : NULL;
}

static void a_offsets(const void* context, size_t k0, size_t count, size_t* offsets) {
  const matmul* product = context;
  for (size_t kk = 0; kk < count; ++kk) offsets[kk] = (k0 + kk) * product->a_k;
}

static void pack_b(const void* context, size_t batch, size_t k0, size_t count, size_t n0, size_t columns,
                   pt_real* panel) {
  const matmul* product = context;
  const pt_real* b = b_of(product, batch) + k0 * product->b_k + n0 * product->b_column;
  if (columns < PT_GEMM_NR) memset(panel, 0, count * PT_GEMM_NR * sizeof(pt_real));
  if (product->b_column == 1) {
    for (size_t kk = 0; kk < count; ++kk)
      memcpy(panel + kk * PT_GEMM_NR, b + kk * product->b_k, columns * sizeof(pt_real));
    return;
  }
  for (size_t column = 0; column < columns; ++column)
    for (size_t kk = 0; kk < count; ++kk)
      panel[kk * PT_GEMM_NR + column] = b[column * product->b_column + kk * product->b_k];
}

pt_status PT_NAME(pt_matmul_blocked)(const pt_call* call) {
  const matmul context = describe(call);
  const pt_product product = {context.batches, context.m, context.n, context.k, &context, a_of, context.a_row,
                              a_offsets,       pack_b,    c_of,      context.n, bias_of,  0};
  PT_NAME(pt_product_run)(&product, call->pool);
  return PT_OK;
}

static void reference_rows(void* arg, size_t begin, size_t end) {
  const matmul* product = arg;
  const pt_real* bias = bias_of(product, 0);
  for (size_t index = begin; index < end; ++index) {
    const size_t batch = index / product->m, row = index % product->m;
    const pt_real *a = a_of(product, batch) + row * product->a_row, *b = b_of(product, batch);
    pt_real* c = c_of(product, batch) + row * product->n;
    for (size_t column = 0; column < product->n; ++column) {
      pt_real sum = 0;
      for (size_t k = 0; k < product->k; ++k)
        sum += a[k * product->a_k] * b[k * product->b_k + column * product->b_column];
      c[column] = bias ? sum + bias[column] : sum;
    }
  }
}

pt_status PT_NAME(pt_matmul_reference)(const pt_call* call) {
  matmul product = describe(call);
  PT_NAME(pt_split)(call->pool, product.batches * product.m, reference_rows, &product);
  return PT_OK;
}
