#include "kernels/portable/conv2d_act.h"

#include <string.h>

#include "kernels/portable/conv2d.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/norm_activation.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/products.h"

/* A convolution's result on its way to what follows it: the bias, what is added, and the activation, each by the very
 * operations of the op that stands for it alone, while the elements are in the processor's caches. */
typedef struct epilogue {
  const pt_call* call;
  const pt_real *bias, *residual; /* NULL: none */
  pt_real* y;
  size_t outputs, positions, groups; /* of one group; of one plane */
  pt_activation cheap;               /* in the same loop */
  pt_status (*other)(const pt_call* call);
} epilogue;

/* Those that are a pass of their own. A firmware that has none of them says so, and need not hold their code. */
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

static size_t residual_inputs(const pt_call* call) {
  return call->ints[PT_CONV_ATTRS + PT_EPILOGUE_RESIDUAL] != PT_RESIDUAL_NONE ? 1 : 0;
}

static epilogue describe(const pt_call* call) {
  const int64_t op = call->ints[PT_CONV_ATTRS + PT_EPILOGUE_ACTIVATION];
  const size_t residual = residual_inputs(call), own = call->input_count - residual;
  const pt_tensor* y = &call->outputs[0];
  epilogue e;
  memset(&e, 0, sizeof e);
  e.call = call;
  e.bias = own > 2 ? call->inputs[2].data : NULL;
  e.residual = residual ? call->inputs[own].data : NULL;
  e.y = y->data;
  e.groups = (size_t)call->ints[PT_CONV_GROUPS];
  e.outputs = y->dims[1] / e.groups;
  e.positions = (size_t)y->dims[2] * y->dims[3];
  e.cheap.p = (pt_real)call->reals[0], e.cheap.q = (pt_real)call->reals[1];
  if (pt_is_norm_activation(op))
    e.cheap.op = op;
  else
    e.other = kernel_of(op);
  return e;
}

/* Every element of y is read, where it is, before it is written. */
static void finish_row(const epilogue* e, const pt_real* made, pt_real bias, const pt_real* residual, pt_real* y,
                       size_t count) {
  const pt_real p = e->cheap.p, q = e->cheap.q;
#define PT_LOOP(op) \
  for (size_t i = 0; i < count; ++i) y[i] = pt_activate(op, p, q, BIASED + residual[i])
#define PT_LOOP_ALONE(op) \
  for (size_t i = 0; i < count; ++i) y[i] = pt_activate(op, p, q, BIASED)
#define BIASED (made[i] + bias)
  if (e->bias != NULL && residual != NULL) PT_BY_ACTIVATION(e->cheap, PT_LOOP);
  if (e->bias != NULL && residual == NULL) PT_BY_ACTIVATION(e->cheap, PT_LOOP_ALONE);
#undef BIASED
#define BIASED made[i] /* adding 0 would turn -0 into 0 */
  if (e->bias == NULL && residual != NULL) PT_BY_ACTIVATION(e->cheap, PT_LOOP);
  if (e->bias == NULL && residual == NULL) PT_BY_ACTIVATION(e->cheap, PT_LOOP_ALONE);
#undef BIASED
#undef PT_LOOP
#undef PT_LOOP_ALONE
}

static void take(const void* context, size_t batch, size_t row, size_t column, size_t count, const pt_real* made) {
  const epilogue* e = context;
  const size_t at = (batch * e->outputs + row) * e->positions + column, channel = batch % e->groups * e->outputs + row;
  static const int64_t no_flag[1] = {0};
  finish_row(e, made, e->bias != NULL ? e->bias[channel] : 0, e->residual != NULL ? e->residual + at : NULL, e->y + at,
             count);
  if (e->other != NULL) {
    pt_tensor tensor = {.data = e->y + at, .rank = 1, .dtype = PT_REAL_DTYPE};
    pt_call part = *e->call;
    tensor.dims[0] = (uint32_t)count;
    part.inputs = &tensor, part.input_count = 1, part.outputs = &tensor;
    part.ints = no_flag, part.int_count = 1;
    part.pool = NULL;
    (void)e->other(&part);
  }
}

pt_status PT_NAME(pt_conv2d_act_by)(const pt_call* call, pt_convolve convolve, pt_real* scratch) {
  const epilogue e = describe(call);
  const pt_finish finish = {take, &e, scratch};
  pt_call own = *call;
  if (call->ints[PT_CONV_ATTRS + PT_EPILOGUE_ACTIVATION] != 0 && e.cheap.op == 0 && e.other == NULL)
    return PT_E_ARGUMENT;
  own.input_count = 2, own.int_count = PT_CONV_ATTRS, own.real_count = 0;
  return convolve(&own, &finish);
}

/* The reference makes the convolution whole in the workspace, then the rest of it. */
typedef struct planes {
  const pt_finish* finish;
  const pt_real* made;
  size_t outputs, positions;
} planes;

static void finish_planes(void* arg, size_t begin, size_t end) {
  const planes* p = arg;
  for (size_t plane = begin; plane < end; ++plane)
    p->finish->take(p->finish->context, plane / p->outputs, plane % p->outputs, 0, p->positions,
                    p->made + plane * p->positions);
}

static void finish_all(const pt_call* call, const pt_finish* finish, const pt_real* made) {
  const pt_tensor* y = &call->outputs[0];
  const size_t outputs = y->dims[1] / (size_t)call->ints[PT_CONV_GROUPS];
  planes p = {finish, made, outputs, (size_t)y->dims[2] * y->dims[3]};
  PT_NAME(pt_split)(call->pool, (size_t)y->dims[0] * y->dims[1], finish_planes, &p);
}

static pt_status convolve_apart(const pt_call* call, const pt_finish* finish) {
  pt_tensor made = call->outputs[0];
  pt_call own = *call;
  made.data = finish->scratch;
  own.outputs = &made;
  const pt_status status = PT_NAME(pt_conv2d_reference)(&own);
  if (status == PT_OK) finish_all(call, finish, finish->scratch);
  return status;
}

pt_status PT_NAME(pt_conv2d_act_reference)(const pt_call* call) {
  return PT_NAME(pt_conv2d_act_by)(call, convolve_apart, call->workspace);
}
size_t PT_NAME(pt_conv2d_act_reference_workspace)(const pt_call* call) {
  return pt_elements(&call->outputs[0]) * sizeof(pt_real);
}

pt_status PT_NAME(pt_conv2d_act_blocked)(const pt_call* call) {
  return PT_NAME(pt_conv2d_act_by)(call, PT_NAME(pt_conv2d_fast), pt_act_lies_over(call) ? call->workspace : NULL);
}
size_t PT_NAME(pt_conv2d_act_blocked_workspace)(const pt_call* call) {
  return pt_act_may_lie_over(call) ? PT_NAME(pt_conv2d_scratch)(call) * sizeof(pt_real) : 0;
}

/* In strips, where the result lies over what is added; else where it belongs, and then once over it. */
static pt_status convolve_compact(const pt_call* call, const pt_finish* finish) {
  if (finish->scratch != NULL) {
    PT_NAME(pt_conv2d_compact_finish)(call, finish);
    return PT_OK;
  }
  const pt_status status = PT_NAME(pt_conv2d_compact)(call);
  if (status == PT_OK) finish_all(call, finish, call->outputs[0].data);
  return status;
}

pt_status PT_NAME(pt_conv2d_act_compact)(const pt_call* call) {
  return PT_NAME(pt_conv2d_act_by)(call, convolve_compact, pt_act_lies_over(call) ? call->workspace : NULL);
}
size_t PT_NAME(pt_conv2d_act_compact_workspace)(const pt_call* call) {
  const pt_tensor* y = &call->outputs[0];
  const size_t outputs = y->dims[1] / (size_t)call->ints[PT_CONV_GROUPS];
  const size_t rows = outputs > 1 ? outputs : y->dims[2]; /* of one output, or one of each */
  if (!pt_act_may_lie_over(call)) return 0;
  return (rows < PT_COMPACT_ROWS ? rows : PT_COMPACT_ROWS) * y->dims[3] * sizeof(pt_real);
}
