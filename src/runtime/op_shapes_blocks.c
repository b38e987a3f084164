/* Operands in blocks of channels. */
#include "kernels/portable/layout.h"
#include "runtime/op_rules.h"

static int reorder(const pt_op_view* view) {
  pt_arranged arranged[2];
  return pt_arrange(view->op, view->operands, 1, 1, view->ints, arranged);
}

/* What it means in plain tensors obeys the rule of the op that it computes. */
static int nchwc(const pt_op_view* view) {
  pt_op_view plain = *view;
  pt_arranged arranged[PT_MAX_OPERANDS];
  unsigned operand, at;
  if (!pt_arrange(view->op, view->operands, view->input_count, view->output_count, view->ints, arranged)) return 0;
  for (operand = 0; operand < (unsigned)view->input_count + view->output_count; ++operand)
    plain.operands[operand] = arranged[operand].plain;
  plain.op = pt_plain_op(view->op);
  if (plain.op == PT_OP_conv2d_act)
    for (at = PT_CONV_NCHWC_ATTRS; at < PT_CONV_NCHWC_ATTRS + PT_EPILOGUE_ATTRS && at < PT_MAX_ATTRS; ++at)
      plain.ints[at - PT_CONV_NCHWC_ATTRS + PT_CONV_ATTRS] = view->ints[at];
  return pt_find_rule(plain.op)->shape(&plain);
}

/* why: one row per operator, and nothing that two tables could share. */
static const pt_op_rule rules[] = {
    {PT_OP_reorder, 1, 1, 1, 1, 2, 0, REAL, reorder},
    {PT_OP_conv2d_nchwc, 2, 3, 1, 1, PT_CONV_NCHWC_ATTRS, 0, REAL, nchwc},
    {PT_OP_conv2d_dx_nchwc, 2, 2, 1, 1, PT_CONV_NCHWC_ATTRS, 0, REAL, nchwc},
    {PT_OP_conv2d_dw_nchwc, 2, 2, 1, 1, PT_CONV_NCHWC_ATTRS, 0, REAL, nchwc},
    {PT_OP_conv2d_act_nchwc, 2, 4, 1, 1, PT_CONV_NCHWC_ATTRS + PT_EPILOGUE_ATTRS, PT_EPILOGUE_REALS, REAL, nchwc},
    {PT_OP_batch_norm_nchwc, 3, 3, 3, 3, 0, 1, REAL, nchwc},
    {PT_OP_batch_norm_grad_nchwc, 5, 5, 3, 3, 0, 1, REAL, nchwc},
    {PT_OP_batch_norm_eval_nchwc, 5, 5, 1, 1, 0, 1, REAL, nchwc},
    {PT_OP_batch_norm_act_nchwc, 3, 3, 3, 3, PT_NORM_ACT_ATTRS, PT_NORM_ACT_REALS, REAL, nchwc},
    {PT_OP_batch_norm_act_grad_nchwc, 6, 6, 3, 3, PT_NORM_ACT_ATTRS, PT_NORM_ACT_REALS, REAL, nchwc},
    {PT_OP_batch_norm_act_eval_nchwc, 5, 5, 1, 1, PT_NORM_ACT_ATTRS, PT_NORM_ACT_REALS, REAL, nchwc},
    {PT_OP_max_pool_nchwc, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, nchwc},
    {PT_OP_max_pool_grad_nchwc, 2, 2, 1, 1, PT_POOL_ATTRS, 0, REAL, nchwc},
    {PT_OP_avg_pool_nchwc, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, nchwc},
    {PT_OP_avg_pool_grad_nchwc, 1, 1, 1, 1, PT_POOL_ATTRS, 0, REAL, nchwc},
};

const pt_op_family pt_block_rules = {rules, sizeof rules / sizeof rules[0]};
