#include <stddef.h>

#include "kernels/portable/kernel_rows.h"
#include "kernels/portable/parts.h"

/* Compiled into the float library alone: the look-up is the same for every table. */
#ifndef PT_REAL_DOUBLE

/* Kernels that move elements are listed under the first type of their element size. */
static uint8_t moved_as(uint16_t op, uint8_t dtype) {
  switch (op) {
    case PT_OP_transpose:
    case PT_OP_concat:
    case PT_OP_split:
    case PT_OP_slice:
    case PT_OP_slice_grad:
    case PT_OP_assign_slice:
    case PT_OP_gather:
    case PT_OP_gather_elements:
    case PT_OP_where:
      return dtype == PT_F64 ? PT_I64 : dtype == PT_I32 ? PT_F32 : dtype == PT_BOOL ? PT_U8 : dtype;
    default:
      return dtype;
  }
}

const pt_kernel* pt_kernel_find(const pt_kernel_table* table, uint16_t op, uint8_t dtype, uint16_t algorithm,
                                uint8_t engine) {
  const uint8_t key = moved_as(op, dtype);
  for (size_t row = 0; row < table->count; ++row) {
    const pt_kernel* kernel = &table->kernels[row];
    if (kernel->op == op && kernel->dtype == key && kernel->algorithm == algorithm && kernel->engine == engine)
      return kernel;
  }
  return NULL;
}

int pt_kernel_makes_parts(uint16_t op, uint16_t algorithm) {
#ifdef PT_NO_PARTS
  (void)op, (void)algorithm;
  return 0;
#else
  switch (op) {
    case PT_OP_matmul:
    case PT_OP_matmul_act:
    case PT_OP_conv2d:
    case PT_OP_conv2d_act:
    case PT_OP_conv2d_dx:
    case PT_OP_conv2d_dz:
    case PT_OP_conv2d_dw:
      return algorithm <= PT_COMPACT;
    case PT_OP_matmul_update:
    case PT_OP_conv2d_dw_update: /* "compact" has no room for the whole gradient */
      return algorithm == 0 || algorithm == PT_COMPACT_WHOLE;
    case PT_OP_batch_norm:
    case PT_OP_batch_norm_act:
    case PT_OP_batch_norm_grad:
    case PT_OP_batch_norm_act_grad:
    case PT_OP_attention_grad:
    case PT_OP_layer_norm_grad:
    case PT_OP_gather_grad:
    case PT_OP_cross_entropy:
    case PT_OP_nll:
    case PT_OP_soft_cross_entropy:
    case PT_OP_mse:
    case PT_OP_l1:
    case PT_OP_smooth_l1:
    case PT_OP_bce_with_logits:
    case PT_OP_kl_div:
      return 1;
    default:
      return 0;
  }
#endif
}

#else
typedef int pt_find_is_in_the_float_library;
#endif
