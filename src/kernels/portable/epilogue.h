/* What follows a product's elements on their way out of it (conv2d_act, matmul_act): what is added, and the activation,
 * each by the very operations of the op that stands for it alone, while the elements are in the processor's caches. The
 * call's last integers say it (PT_EPILOGUE_*), its reals are the activation's, and R is its last input. */
#ifndef PANTOUM_KERNELS_PORTABLE_EPILOGUE_H
#define PANTOUM_KERNELS_PORTABLE_EPILOGUE_H

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

/* May the result lie over what is added to it, and does it? Chains cannot grow there. */
static inline int pt_act_may_lie_over(const pt_call* call) {
  return pt_epilogue_int(call, PT_EPILOGUE_RESIDUAL) == PT_RESIDUAL_OVER;
}
static inline int pt_act_lies_over(const pt_call* call) {
  return pt_act_may_lie_over(call) && call->outputs[0].data == call->inputs[call->input_count - 1].data;
}

/* PT_E_ARGUMENT: it knows no such activation. */
pt_status PT_NAME(pt_epilogue_of)(const pt_call* call, pt_epilogue* made);

/* Elements of Y from `at` on, of what a product made of them; `bias` is added to all of them before, NULL: none. */
void PT_NAME(pt_epilogue_take)(const pt_epilogue* e, size_t at, size_t count, const pt_real* made, const pt_real* bias);

#endif
