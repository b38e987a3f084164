#include "kernels/portable/epilogue.h"

#include <string.h>

#include "kernels/portable/kernels.h"

enum { kMostExtent = 1 << 30 }; /* elements in one pass */

/* Activations that take a separate pass. A firmware without any of them defines PT_CHEAP_EPILOGUES and leaves out
 * their code. */
static pt_status (*kernel_of(int64_t op))(const pt_call*) {
  switch (op) {
#ifndef PT_CHEAP_EPILOGUES
#define PT_ACTIVATION(name) \
  case PT_OP_##name:        \
    return PT_NAME(pt_##name);
    PT_EPILOGUES(PT_ACTIVATION)
#undef PT_ACTIVATION
#endif
    default:
      return NULL;
  }
}

pt_status PT_NAME(pt_epilogue_of)(const pt_call* call, pt_epilogue* made) {
  const int64_t op = pt_epilogue_int(call, PT_EPILOGUE_ACTIVATION);
  const uint16_t own = pt_product_inputs(call);
  memset(made, 0, sizeof *made);
  made->call = call;
  made->residual = own < call->input_count ? call->inputs[own].data : NULL;
  made->y = call->outputs[0].data;
  made->cheap.p = (pt_real)call->reals[0], made->cheap.q = (pt_real)call->reals[1];
  if (pt_is_norm_activation(op))
    made->cheap.op = op;
  else
    made->other = kernel_of(op);
  return op != 0 && made->cheap.op == 0 && made->other == NULL ? PT_E_ARGUMENT : PT_OK;
}

/* Each element of y is read from its own place before it is written. */
static void finish(const pt_epilogue* e, const pt_real* made, const pt_real* first, const pt_real* residual, pt_real* y,
                   size_t count) {
  const pt_real p = e->cheap.p, q = e->cheap.q, bias = first != NULL ? *first : 0;
#define PT_LOOP(op) \
  for (size_t i = 0; i < count; ++i) y[i] = pt_activate(op, p, q, BIASED + residual[i])
#define PT_LOOP_ALONE(op) \
  for (size_t i = 0; i < count; ++i) y[i] = pt_activate(op, p, q, BIASED)
#define BIASED (made[i] + bias)
  if (first != NULL && residual != NULL) PT_BY_ACTIVATION(e->cheap, PT_LOOP);
  if (first != NULL && residual == NULL) PT_BY_ACTIVATION(e->cheap, PT_LOOP_ALONE);
#undef BIASED
#define BIASED made[i] /* adding 0 would turn -0 into 0 */
  if (first == NULL && residual != NULL) PT_BY_ACTIVATION(e->cheap, PT_LOOP);
  if (first == NULL && residual == NULL) PT_BY_ACTIVATION(e->cheap, PT_LOOP_ALONE);
#undef BIASED
#undef PT_LOOP
#undef PT_LOOP_ALONE
}

void PT_NAME(pt_epilogue_take)(const pt_epilogue* e, size_t at, size_t count, const pt_real* made,
                               const pt_real* bias) {
  static const int64_t no_flag[1] = {0};
  finish(e, made, bias, e->residual != NULL ? e->residual + at : NULL, e->y + at, count);
  if (e->other != NULL) {
    pt_tensor tensor = {.rank = 1, .dtype = PT_REAL_DTYPE};
    pt_call part = *e->call;
    part.inputs = &tensor, part.input_count = 1, part.outputs = &tensor;
    part.ints = no_flag, part.int_count = 1;
    part.pool = NULL;
    for (size_t done = 0; done < count; done += tensor.dims[0]) { /* an extent has 32 bits */
      tensor.data = e->y + at + done;
      tensor.dims[0] = count - done < kMostExtent ? (uint32_t)(count - done) : kMostExtent;
      (void)e->other(&part);
    }
  }
}
