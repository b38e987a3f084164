#include "kernels/portable/compact.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/parts.h"
#include "kernels/portable/update_group.h"

/* Updates a weight while its gradient is computed, so that the gradient is never a tensor. "reference" and
 * "compact_whole" compute the gradient in the workspace and then update; "compact" updates a strip of the weight as
 * soon as the strip's gradient is complete. All call the kernels of the product and of the optimizer, so that the
 * bits are those of the two ops. */
enum { kWeight = 2, kMostInputs = 5, kMostOutputs = 4 }; /* w g and three states */

typedef struct update {
  const pt_call* call;
  pt_status (*rule)(const pt_call* call);
  const int64_t* ints; /* of the update: its flag where it has one, its group where it is in one */
  uint16_t int_count;
} update;

static pt_status (*rule_of(int64_t op))(const pt_call*) {
  switch (op) {
#define PT_UPDATE(name) \
  case PT_OP_##name:    \
    return PT_NAME(pt_##name);
    PT_PRODUCT_UPDATES(PT_UPDATE)
#undef PT_UPDATE
    default:
      return NULL;
  }
}

static pt_tensor elements_of(const pt_tensor* whole, size_t at, size_t count) {
  pt_tensor part = {.data = (pt_real*)whole->data + at, .rank = 1, .dtype = PT_REAL_DTYPE};
  part.dims[0] = (uint32_t)count;
  return part;
}

static void take(const void* context, size_t batch, size_t row, size_t at, size_t count, const pt_real* made) {
  const update* u = context;
  const unsigned states = u->call->output_count - 1u;
  pt_tensor inputs[kMostInputs], outputs[kMostOutputs];
  pt_call part = *u->call;
  (void)batch, (void)row;
  inputs[0] = elements_of(&u->call->inputs[kWeight], at, count);
  inputs[1] = inputs[0], inputs[1].data = (pt_real*)(uintptr_t)made;
  for (unsigned state = 0; state < states; ++state)
    inputs[2 + state] = elements_of(&u->call->inputs[kWeight + 1 + state], at, count);
  for (unsigned output = 0; output <= states; ++output)
    outputs[output] = elements_of(&u->call->outputs[output], at, count);
  part.inputs = inputs, part.input_count = (uint16_t)(2 + states);
  part.outputs = outputs;
  part.ints = u->ints, part.int_count = u->int_count;
  part.pool = NULL;
  (void)u->rule(&part);
}

static pt_status update_of(const pt_call* call, int product_ints, update* made) {
  const int64_t op = call->ints[product_ints + PT_UPDATE_OP];
  const int first = product_ints + PT_UPDATE_ATTRS - pt_group_place(op); /* an update without a flag passes it over */
  *made = (update){call, rule_of(op), call->ints + first, (uint16_t)(call->int_count - first)};
  return made->rule == NULL || call->output_count > kMostOutputs ? PT_E_ARGUMENT : PT_OK;
}

typedef pt_status (*product)(const pt_call* call);
typedef void (*strips)(const pt_call* call, const pt_finish* finish);

static pt_status whole(const pt_call* call, int product_ints, product gradient) {
  pt_tensor made = call->outputs[0];
  pt_call part = *call;
  update u;
  pt_status status = update_of(call, product_ints, &u);
  if (status != PT_OK) return status;
  made.data = call->workspace;
  if (pt_pass(call) != 0) { /* PT_UPDATE_ALONE */
    take(&u, 0, 0, 0, pt_elements(&made), made.data);
    return PT_OK;
  }
  part.input_count = 2, part.outputs = &made, part.output_count = 1;
  status = gradient(&part);
  if (status == PT_OK && !pt_is_unfinished(call)) take(&u, 0, 0, 0, pt_elements(&made), made.data);
  return status;
}

static pt_status strip_by_strip(const pt_call* call, int product_ints, strips gradient) {
  update u;
  const pt_finish finish = {take, &u, call->workspace};
  const pt_status status = update_of(call, product_ints, &u);
  pt_call factors = *call;
  factors.input_count = kWeight;
  if (status == PT_OK) gradient(&factors, &finish);
  return status;
}

/* Defines the kernels of one product and the functions for their workspace: the whole gradient, or a strip of it. */
#define PT_UPDATE_KERNELS(update, gradient, ints)                          \
  pt_status PT_NAME(update##_reference)(const pt_call* call) {             \
    return whole(call, ints, PT_NAME(gradient##_reference));               \
  }                                                                        \
  pt_status PT_NAME(update##_compact)(const pt_call* call) {               \
    return strip_by_strip(call, ints, PT_NAME(gradient##_compact_finish)); \
  }                                                                        \
  pt_status PT_NAME(update##_compact_whole)(const pt_call* call) {         \
    return whole(call, ints, PT_NAME(gradient##_compact));                 \
  }                                                                        \
  size_t PT_NAME(update##_workspace)(const pt_call* call) {                \
    return pt_elements(&call->outputs[0]) * sizeof(pt_real);               \
  }                                                                        \
  size_t PT_NAME(update##_compact_workspace)(const pt_call* call) {        \
    return PT_NAME(gradient##_compact_scratch)(call) * sizeof(pt_real);    \
  }

PT_UPDATE_KERNELS(pt_matmul_update, pt_matmul, PT_MATMUL_ATTRS)
PT_UPDATE_KERNELS(pt_conv2d_dw_update, pt_conv2d_dw, PT_CONV_ATTRS)
