/* matmul: the blocked product of gemm.h on packed panels of b, and the reference. Both sum over k in ascending order. */
#include "kernels/portable/matmul.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parts.h"

static const pt_real* a_of(const void* context, size_t batch) {
  return matmul_a(context, batch);
}

static pt_real* c_of(const void* context, size_t batch) {
  const matmul_shape* product = context;
  return (pt_real*)product->call->outputs[0].data + batch * product->m * product->n;
}

static const pt_real* bias_of(const void* context, size_t batch) {
  const matmul_shape* product = context;
  (void)batch;
  return product->call->input_count > 2 ? product->call->inputs[2].data : NULL;
}

static void a_offsets(const void* context, size_t k0, size_t count, size_t* offsets) {
  const matmul_shape* product = context;
  for (size_t kk = 0; kk < count; ++kk) offsets[kk] = (k0 + kk) * product->a_k;
}

static void pack_b(const void* context, size_t batch, size_t k0, size_t count, size_t n0, size_t columns,
                   pt_real* panel) {
  const matmul_shape* product = context;
  pt_pack_strided(matmul_b(product, batch) + k0 * product->b_k + n0 * product->b_column, product->b_k,
                  product->b_column, count, columns, panel);
}

static pt_product product_of(const matmul_shape* of, const pt_finish* finish) {
  const pt_product product = {of->batches, of->m, of->n, of->k,   of, a_of,   of->a_row,      a_offsets,
                              pack_b,      c_of,  of->n, bias_of, 0,  finish, of->call->terms};
  return product;
}

pt_status PT_NAME(pt_matmul_fast)(const pt_call* call, const pt_finish* finish) {
  const matmul_shape shape = matmul_shape_of(call);
  const pt_product product = product_of(&shape, finish);
  PT_NAME(pt_product_run)(&product, call->pool);
  return PT_OK;
}

size_t PT_NAME(pt_matmul_scratch)(const pt_call* call) {
  pt_real somewhere;
  const pt_finish finish = {NULL, NULL, &somewhere}; /* has some */
  const matmul_shape shape = matmul_shape_of(call);
  const pt_product product = product_of(&shape, &finish);
  return PT_NAME(pt_product_scratch)(&product, call->pool);
}

pt_status PT_NAME(pt_matmul_blocked)(const pt_call* call) {
  return PT_NAME(pt_matmul_fast)(call, NULL);
}

static void reference_rows(void* arg, size_t begin, size_t end) {
  const matmul_shape* product = arg;
  const pt_real* bias = pt_is_unfinished(product->call) ? NULL : bias_of(product, 0);
  const int goes_on = pt_goes_on(product->call);
  for (size_t index = begin; index < end; ++index) {
    const size_t batch = index / product->m, row = index % product->m;
    const pt_real *a = a_of(product, batch) + row * product->a_row, *b = matmul_b(product, batch);
    pt_real* c = c_of(product, batch) + row * product->n;
    for (size_t column = 0; column < product->n; ++column) {
      pt_real sum = goes_on ? c[column] : 0;
      for (size_t k = 0; k < product->k; ++k)
        sum += a[k * product->a_k] * b[k * product->b_k + column * product->b_column];
      c[column] = bias ? sum + bias[column] : sum;
    }
  }
}

pt_status PT_NAME(pt_matmul_reference)(const pt_call* call) {
  matmul_shape product = matmul_shape_of(call);
  PT_NAME(pt_split)(call->pool, product.batches * product.m, reference_rows, &product);
  return PT_OK;
}
