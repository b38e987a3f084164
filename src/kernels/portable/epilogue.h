/* The steps that follow a product (conv2d_act, matmul_act): a tensor that is added, and an activation. Each uses the
 * same operations as the op that it stands for, while the elements are in the processor's caches. The call's last
 * integers select the steps (PT_EPILOGUE_*), its reals are the activation's, and R is its last input. */
#pragma once

#include "kernels/portable/gemm.h"
#include "kernels/portable/norm_activation.h"

typedef struct pt_epilogue {
  const pt_call* call;
  const pt_real* residual; /* NULL: none */
  pt_real* y;
  pt_activation cheap; /* in the same loop */
  pt_status (*other)(const pt_call* call);
} pt_epilogue;

static inline int64_t pt_epilogue_int(const pt_call* call, int which) {
  return call->ints[call->int_count - PT_EPILOGUE_ATTRS + which];
}

/* The inputs of the product itself. */
static inline uint16_t pt_product_inputs(const pt_call* call) {
  return (uint16_t)(call->input_count - (pt_epilogue_int(call, PT_EPILOGUE_RESIDUAL) != PT_RESIDUAL_NONE ? 1 : 0));
}

/* May the result be written over the tensor that is added to it, and is it in this call? If so, sums cannot
 * accumulate in the result. */
static inline int pt_act_may_lie_over(const pt_call* call) {
  return pt_epilogue_int(call, PT_EPILOGUE_RESIDUAL) == PT_RESIDUAL_OVER;
}
static inline int pt_act_lies_over(const pt_call* call) {
  return pt_act_may_lie_over(call) && call->outputs[0].data == call->inputs[call->input_count - 1].data;
}

/* PT_E_ARGUMENT: the activation is not known. */
pt_status PT_NAME(pt_epilogue_of)(const pt_call* call, pt_epilogue* made);

/* Writes elements of Y from `at` on, from what a product computed of them; `bias` (NULL: none) is added to all of
 * them first. */
void PT_NAME(pt_epilogue_take)(const pt_epilogue* e, size_t at, size_t count, const pt_real* made, const pt_real* bias);

/* Computes a whole product at `made`, which is the output or a scratch of its size, by a kernel of the product; then
 * passes all of it to the finish. */
static inline pt_status pt_finish_whole(const pt_call* call, const pt_finish* finish, pt_real* made,
                                        pt_status (*product)(const pt_call*),
                                        void (*finish_all)(const pt_call*, const pt_finish*, const pt_real*)) {
  pt_tensor output = call->outputs[0];
  pt_call own = *call;
  output.data = made;
  own.outputs = &output;
  const pt_status status = product(&own);
  if (status == PT_OK) finish_all(call, finish, made);
  return status;
}
