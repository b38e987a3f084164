/* Attention in blocks of rows: scores stand in the workspace alone, some whole rows of them at a time, and backward
 * makes them again. Every number is made by the operations, in the order, of the ops that it stands for (matmul, scale,
 * add, where, softmax and their gradients): the same bits. What several rows add to (dK, dV) is one chain over
 * ascending rows, as in kernels.h; threads split rows forward, matrices of the batch backward. */
#ifndef PANTOUM_KERNELS_PORTABLE_ATTENTION_H
#define PANTOUM_KERNELS_PORTABLE_ATTENTION_H

#include "kernels/portable/real.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element (row, column) lies at at[row * row_step + column * column_step]. */
typedef struct pt_factor {
  const pt_real* at;
  size_t row_step, column_step;
} pt_factor;

/* c[row * c_row + column] = sum over k of a(row, k) b(k, column), from +0 or, where it goes on, from what C has. */
typedef void (*pt_attention_product)(const pt_factor* a, const pt_factor* b, size_t m, size_t n, size_t k, int goes_on,
                                     pt_real* c, size_t c_row, void* scratch);

/* How products are made, and how many rows stand in the workspace: `rows`, or more of them as long as they have no more
 * than so many elements. Every share of the work has `scratch` bytes of its own for them, a multiple of 64. */
typedef struct pt_attention_form {
  pt_attention_product product;
  size_t rows, elements, scratch;
} pt_attention_form;

void PT_NAME(pt_attention_run)(const pt_call* call, const pt_attention_form* form);
void PT_NAME(pt_attention_grad_run)(const pt_call* call, const pt_attention_form* form);
/* Calls the form's product as the first two blocks of the first matrix and its last one do: for their extents and
 * strides, whatever the operands hold. */
void PT_NAME(pt_attention_show)(const pt_call* call, int backward, const pt_attention_form* form);
/* In bytes. */
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

#endif
