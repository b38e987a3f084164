#include <string.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/layout.h"
#include "kernels/portable/parallel.h"

/* The reference of ops whose operands lie in blocks of channels: copies them into plain tensors in the workspace,
 * computes the op there, and copies the results back. */

/* Distance in memory of neighbours along the four logical dimensions; `blocked` ones step inside a block first. */
typedef struct steps {
  size_t step[4], over[4]; /* over: from block to block; a dimension that is not blocked has none */
  uint32_t block;
} steps;

static steps steps_of(const pt_arranged* of) {
  const uint32_t* d = of->plain.dims;
  const size_t b = of->block, o = (d[0] + b - 1) / b, i = (d[1] + b - 1) / b, area = (size_t)d[2] * d[3];
  switch (of->layout) {
    case PT_LAYOUT_NCHWC:
      return (steps){{i * area * b, 1, d[3] * b, b}, {0, area * b, 0, 0}, of->block};
    case PT_LAYOUT_OIHW_IO:
      return (steps){{1, b, d[3] * b * b, b * b}, {i * area * b * b, area * b * b, 0, 0}, of->block};
    case PT_LAYOUT_OIHW_OI:
      return (steps){{b, 1, d[3] * b * b, b * b}, {i * area * b * b, area * b * b, 0, 0}, of->block};
    case PT_LAYOUT_IOHW_OI:
      return (steps){{b, 1, d[3] * b * b, b * b}, {area * b * b, o * area * b * b, 0, 0}, of->block};
    case PT_LAYOUT_OHWI_O:
      return (steps){{1, b, d[3] * d[1] * b, d[1] * b}, {area * d[1] * b, 0, 0, 0}, of->block};
    default:
      return (steps){{d[1] * area, area, d[3], 1}, {0, 0, 0, 0}, 1};
  }
}

static size_t offset(const steps* s, unsigned dim, size_t index) {
  return s->over[dim] == 0 ? index * s->step[dim] : index / s->block * s->over[dim] + index % s->block * s->step[dim];
}

typedef struct copying {
  steps from, to;
  const uint32_t* dims;
  const pt_real* x;
  pt_real* y;
} copying;

static void copy_rows(void* arg, size_t begin, size_t end) {
  const copying* c = arg;
  for (size_t row = begin; row < end; ++row) {
    const size_t second = row / c->dims[2] % c->dims[1], first = row / c->dims[2] / c->dims[1];
    const size_t at[3] = {first, second, row % c->dims[2]};
    const pt_real* x = c->x;
    pt_real* y = c->y;
    for (unsigned dim = 0; dim < 3; ++dim) {
      x += offset(&c->from, dim, at[dim]);
      y += offset(&c->to, dim, at[dim]);
    }
    for (size_t column = 0; column < c->dims[3]; ++column) y[column * c->to.step[3]] = x[column * c->from.step[3]];
  }
}

/* Copies every logical element of `x` to its place in `y`. */
static void copy_arranged(const pt_call* call, const pt_arranged* x, const pt_arranged* y) {
  copying c = {steps_of(x), steps_of(y), x->plain.dims, x->plain.data, y->plain.data};
  const size_t rows = (size_t)c.dims[0] * c.dims[1] * c.dims[2];
  PT_NAME(pt_parallel)(call, rows, rows * c.dims[3] * 2, copy_rows, &c);
}

pt_status PT_NAME(pt_reorder)(const pt_call* call) {
  const pt_tensor operands[2] = {call->inputs[0], call->outputs[0]};
  pt_arranged arranged[2];
  if (!pt_arrange(PT_OP_reorder, operands, 1, 1, call->ints, arranged)) return PT_E_ARGUMENT;
  if (call->ints[1] != PT_LAYOUT_PLAIN) memset(operands[1].data, 0, pt_elements(&operands[1]) * sizeof(pt_real));
  copy_arranged(call, &arranged[0], &arranged[1]);
  return PT_OK;
}

enum { kMostOperands = 9 };

static int arrange_call(const pt_call* call, uint16_t op, pt_arranged* arranged) {
  pt_tensor operands[kMostOperands];
  const unsigned count = (unsigned)call->input_count + call->output_count;
  if (count > kMostOperands) return 0;
  for (unsigned operand = 0; operand < count; ++operand)
    operands[operand] =
        operand < call->input_count ? call->inputs[operand] : call->outputs[operand - call->input_count];
  return pt_arrange(op, operands, call->input_count, call->output_count, call->ints, arranged);
}

static size_t plain_workspace(const pt_call* call, uint16_t op) {
  pt_arranged arranged[kMostOperands];
  size_t elements = 0;
  if (!arrange_call(call, op, arranged)) return 0;
  for (unsigned operand = 0; operand < (unsigned)call->input_count + call->output_count; ++operand)
    if (arranged[operand].layout != PT_LAYOUT_PLAIN) elements += pt_elements(&arranged[operand].plain);
  return elements * sizeof(pt_real);
}

static pt_status run_plain(const pt_call* call, uint16_t op, pt_status (*kernel)(const pt_call*)) {
  pt_arranged arranged[kMostOperands];
  pt_tensor plain[kMostOperands];
  pt_call inner = *call;
  pt_real* free = call->workspace;
  pt_status status;
  const unsigned inputs = call->input_count, count = inputs + call->output_count;
  if (!arrange_call(call, op, arranged)) return PT_E_ARGUMENT;
  for (unsigned operand = 0; operand < count; ++operand) {
    plain[operand] = arranged[operand].plain;
    if (arranged[operand].layout == PT_LAYOUT_PLAIN) continue;
    plain[operand].data = free;
    free += pt_elements(&plain[operand]);
    const pt_arranged to = {plain[operand], PT_LAYOUT_PLAIN, 1};
    if (operand < inputs) copy_arranged(call, &arranged[operand], &to);
  }
  inner.inputs = plain;
  inner.outputs = plain + inputs;
  inner.workspace = free;
  status = kernel(&inner);
  for (unsigned operand = inputs; status == PT_OK && operand < count; ++operand) {
    const pt_arranged from = {plain[operand], PT_LAYOUT_PLAIN, 1};
    if (arranged[operand].layout == PT_LAYOUT_PLAIN) continue;
    memset(arranged[operand].plain.data, 0, pt_elements(&call->outputs[operand - inputs]) * sizeof(pt_real));
    copy_arranged(call, &from, &arranged[operand]);
  }
  return status;
}

#define PT_BY_PLAIN(name, kernel)                              \
  pt_status PT_NAME(pt_##name)(const pt_call* call) {          \
    return run_plain(call, PT_OP_##name, PT_NAME(kernel));     \
  }                                                            \
  size_t PT_NAME(pt_##name##_workspace)(const pt_call* call) { \
    return plain_workspace(call, PT_OP_##name);                \
  }

PT_BY_PLAIN(conv2d_nchwc, pt_conv2d_reference)
/* Calls the plain op, without the integers that describe layouts. */
static pt_status conv2d_act(const pt_call* call) {
  int64_t ints[PT_CONV_ATTRS + PT_EPILOGUE_ATTRS];
  pt_call own = *call;
  memcpy(ints, call->ints, PT_CONV_ATTRS * sizeof ints[0]);
  memcpy(ints + PT_CONV_ATTRS, call->ints + PT_CONV_NCHWC_ATTRS, PT_EPILOGUE_ATTRS * sizeof ints[0]);
  own.ints = ints, own.int_count = PT_CONV_ATTRS + PT_EPILOGUE_ATTRS;
  return PT_NAME(pt_conv2d_act_reference)(&own);
}
pt_status PT_NAME(pt_conv2d_act_nchwc)(const pt_call* call) {
  return run_plain(call, PT_OP_conv2d_act_nchwc, conv2d_act);
}
size_t PT_NAME(pt_conv2d_act_nchwc_workspace)(const pt_call* call) {
  pt_arranged arranged[kMostOperands];
  if (!arrange_call(call, PT_OP_conv2d_act_nchwc, arranged)) return 0;
  return plain_workspace(call, PT_OP_conv2d_act_nchwc) +
         pt_elements(&arranged[call->input_count].plain) * sizeof(pt_real);
}

PT_BY_PLAIN(conv2d_dx_nchwc, pt_conv2d_dx_reference)
PT_BY_PLAIN(conv2d_dw_nchwc, pt_conv2d_dw_reference)
PT_BY_PLAIN(batch_norm_nchwc, pt_batch_norm)
PT_BY_PLAIN(batch_norm_grad_nchwc, pt_batch_norm_grad)
PT_BY_PLAIN(batch_norm_eval_nchwc, pt_batch_norm_eval)
PT_BY_PLAIN(batch_norm_act_nchwc, pt_batch_norm_act)
PT_BY_PLAIN(batch_norm_act_grad_nchwc, pt_batch_norm_act_grad)
PT_BY_PLAIN(batch_norm_act_eval_nchwc, pt_batch_norm_act_eval)
PT_BY_PLAIN(max_pool_nchwc, pt_max_pool)
PT_BY_PLAIN(max_pool_grad_nchwc, pt_max_pool_grad)
PT_BY_PLAIN(avg_pool_nchwc, pt_avg_pool)
PT_BY_PLAIN(avg_pool_grad_nchwc, pt_avg_pool_grad)
