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
 * accumulate in the result, so that there are no parts of it. */
static inline int pt_act_may_lie_over(const pt_call* call) {
  return call->terms == PT_ALL_TERMS && pt_epilogue_int(call, PT_EPILOGUE_RESIDUAL) == PT_RESIDUAL_OVER;
}
static inline int pt_act_lies_over(const pt_call* call) {
  return pt_act_may_lie_over(call) && call->outputs[0].data == call->inputs[call->input_count - 1].data;
}

/* PT_E_ARGUMENT: the activation is not known. */
pt_status PT_NAME(pt_epilogue_of)(const pt_call* call, pt_epilogue* made);

/* Writes elements of Y from `at` on, from what a product computed of them; `bias` (NULL: none) is added to all of
 * them first. */
void PT_NAME(pt_epilogue_take)(const pt_epilogue* e, size_t at, size_t count, const pt_real* made, const pt_real* bias);

/* Computes a whole product by a kernel of it, in the output or, where the finish has one, in a scratch of its size; then
 * passes all of it to the finish. NULL: the product is not complete. */
static inline pt_status pt_finish_whole(const pt_call* call, const pt_finish* finish,
                                        pt_status (*product)(const pt_call*),
                                        void (*finish_all)(const pt_call*, const pt_finish*, const pt_real*)) {
  pt_tensor output = call->outputs[0];
  pt_call own = *call;
  if (finish != NULL && finish->scratch != NULL) output.data = finish->scratch;
  own.outputs = &output;
  const pt_status status = product(&own);
  if (status == PT_OK && finish != NULL) finish_all(call, finish, (const pt_real*)output.data);
  return status;
}
