/* The geometry that the matrix products share: A[.., M, K] B[.., K, N] (bias[N]) -> Y[.., M, N]; the batch dimensions
 * of A and B broadcast to those of Y. */
#pragma once

#include "kernels/portable/gemm.h"

typedef struct matmul_shape {
  const pt_call* call;
  size_t batches, m, n, k;
  size_t a_row, a_k, b_k, b_column; /* strides in elements */
} matmul_shape;

static inline size_t matmul_dim(const pt_tensor* tensor, size_t from_end) {
  return from_end < tensor->rank ? tensor->dims[tensor->rank - 1 - from_end] : 1;
}

static inline matmul_shape matmul_shape_of(const pt_call* call) {
  const pt_tensor *a = &call->inputs[0], *y = &call->outputs[0];
  const int trans_a = call->ints[0] != 0, trans_b = call->ints[1] != 0;
  matmul_shape product = {call, 1, matmul_dim(y, 1), matmul_dim(y, 0), matmul_dim(a, trans_a ? 1 : 0), 0, 0, 0, 0};
  for (size_t dim = 2; dim < y->rank; ++dim) product.batches *= matmul_dim(y, dim);
  product.a_row = trans_a ? 1 : product.k;
  product.a_k = trans_a ? product.m : 1;
  product.b_k = trans_b ? 1 : product.n;
  product.b_column = trans_b ? product.k : 1;
  return product;
}

/* The matrix of an operand that batch `batch` of Y uses. */
static inline size_t matmul_matrix(const pt_tensor* y, const pt_tensor* operand, size_t batch) {
  size_t index = 0, stride = 1;
  for (size_t dim = 2; dim < y->rank; ++dim) {
    const size_t extent = matmul_dim(y, dim), own = matmul_dim(operand, dim), at = batch % extent;
    batch /= extent;
    if (own != 1) index += at * stride;
    stride *= own;
  }
  return index;
}

/* The operands of one batch. */
static inline const pt_real* matmul_a(const matmul_shape* product, size_t batch) {
  const pt_tensor* a = &product->call->inputs[0];
  return (const pt_real*)a->data + matmul_matrix(&product->call->outputs[0], a, batch) * product->m * product->k;
}
static inline const pt_real* matmul_b(const matmul_shape* product, size_t batch) {
  const pt_tensor* b = &product->call->inputs[1];
  return (const pt_real*)b->data + matmul_matrix(&product->call->outputs[0], b, batch) * product->k * product->n;
}

/* Products that pass their elements to a finish (gemm.h). `call` is a call of matmul, or starts with the operands of one. */
/* The blocked algorithm. A finish without scratch reads complete elements from the output. */
pt_status PT_NAME(pt_matmul_fast)(const pt_call* call, const pt_finish* finish);
/* Number of elements that a finish needs as scratch. */
size_t PT_NAME(pt_matmul_scratch)(const pt_call* call);
