/* Operands in blocks of channels. */
#include "kernels/portable/layout.h"
#include "runtime/op_rules.h"

static int is_arranged(pt_op_use* use, pt_arranged* arranged) {
  return pt_want_given(use) &&
         (pt_arrange(use->op, use->operands, use->input_count, use->output_count, use->ints, arranged) ||
          PT_REFUSE(use, "its operands do not lie as its layouts say"));
}
static int reorder(pt_op_use* use) {
  pt_arranged arranged[2];
  return is_arranged(use, arranged);
}

/* The plain tensors that the operands stand for obey the rule of the op that it computes. */
static int nchwc(pt_op_use* use) {
  pt_arranged arranged[PT_MAX_OPERANDS];
  pt_tensor operands[PT_MAX_OPERANDS];
  int64_t ints[PT_MAX_ATTRS];
  pt_op_use plain = *use;
  unsigned at;
  if (!is_arranged(use, arranged)) return 0;
  for (at = 0; at < (unsigned)use->input_count + use->output_count; ++at) operands[at] = arranged[at].plain;
  for (at = 0; at < use->int_count; ++at) ints[at] = use->ints[at];
  plain.op = pt_plain_op(use->op);
  if (plain.op == PT_OP_conv2d_act) /* behind the integers of the product, not behind those of its layouts */
    for (at = PT_CONV_NCHWC_ATTRS; at < use->int_count; ++at)
      ints[at - PT_CONV_NCHWC_ATTRS + PT_CONV_ATTRS] = use->ints[at];
  plain.operands = operands, plain.ints = ints;
  if (!pt_find_record(plain.op)->shape(&plain)) return 0;
  for (at = 0; at < plain.made_count; ++at)
    if (!pt_same_dims(&plain.made[at], given(&plain, at)))
      return PT_REFUSE(use, "its outputs are not what the op gives");
  return 1;
}

PT_FAMILY(pt_block_records, PT_BLOCK_OPERATORS)
