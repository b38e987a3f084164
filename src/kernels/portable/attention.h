/* Attention in blocks of rows: the workspace holds only some whole rows of scores at a time, and the backward pass
 * computes them again. Every number is computed by the same operations in the same order as by the ops that attention
 * stands for (matmul, scale, add, where, softmax and their gradients), so the bits are the same. dK and dV, to which
 * several rows contribute, are sums over ascending rows, as in kernels.h. Threads split rows in the forward pass and
 * matrices of the batch in the backward pass. */
#pragma once

#include "kernels/portable/real.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element (row, column) lies at at[row * row_step + column * column_step]. */
typedef struct pt_factor {
  const pt_real* at;
  size_t row_step, column_step;
} pt_factor;

/* c[row * c_row + column] = sum over k of a(row, k) b(k, column); the sum starts from +0 or, if `goes_on`, from the
 * value in C. */
typedef void (*pt_attention_product)(const pt_factor* a, const pt_factor* b, size_t m, size_t n, size_t k, int goes_on,
                                     pt_real* c, size_t c_row, void* scratch);

/* How products are computed, and how many rows of scores the workspace holds: `rows`, or more as long as they have at
 * most `elements` elements. Each thread's share of the work has `scratch` bytes of its own, a multiple of 64. */
typedef struct pt_attention_form {
  pt_attention_product product;
  size_t rows, elements, scratch;
} pt_attention_form;

void PT_NAME(pt_attention_run)(const pt_call* call, const pt_attention_form* form);
void PT_NAME(pt_attention_grad_run)(const pt_call* call, const pt_attention_form* form);
/* Calls the form's product with the extents and strides of the first two blocks of the first matrix and of its last
 * block; the contents of the operands do not matter. */
void PT_NAME(pt_attention_show)(const pt_call* call, int backward, const pt_attention_form* form);
/* Size of the workspace in bytes. */
size_t PT_NAME(pt_attention_bytes)(const pt_call* call, const pt_attention_form* form);
size_t PT_NAME(pt_attention_grad_bytes)(const pt_call* call, const pt_attention_form* form);

/* Defines the kernels of one algorithm, forward and backward, and the functions that give their workspace. */
#define PT_ATTENTION_KERNELS(algorithm, form)                                               \
  PT_ATTENTION_KERNEL(pt_attention_##algorithm, pt_attention_run, pt_attention_bytes, form) \
  PT_ATTENTION_KERNEL(pt_attention_grad_##algorithm, pt_attention_grad_run, pt_attention_grad_bytes, form)
#define PT_ATTENTION_KERNEL(kernel, run, bytes, form)       \
  pt_status PT_NAME(kernel)(const pt_call* call) {          \
    PT_NAME(run)(call, &(form));                            \
    return PT_OK;                                           \
  }                                                         \
  size_t PT_NAME(kernel##_workspace)(const pt_call* call) { \
    return PT_NAME(bytes)(call, &(form));                   \
  }

#ifdef __cplusplus
}
#endif
