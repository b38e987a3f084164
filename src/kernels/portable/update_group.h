/* Learning rate and weight decay of an update: those of the step and of the op, or those of the parameter's group. */
#ifndef PANTOUM_KERNELS_PORTABLE_UPDATE_GROUP_H
#define PANTOUM_KERNELS_PORTABLE_UPDATE_GROUP_H

#include "pantoum/pantoum.h"

/* The place of the group's index among the integers of an update, behind those that each has; -1: the op is no update
 * of a parameter that may be in a group. */
static inline int pt_group_place(int64_t op) {
  switch (op) {
    case PT_OP_sgd:
    case PT_OP_rmsprop:
      return 1;
    case PT_OP_sgd_rows:
    case PT_OP_adagrad_rows:
    case PT_OP_adam_rows:
    case PT_OP_adam:
    case PT_OP_adamw:
    case PT_OP_adagrad:
      return 0;
    case PT_OP_matmul_update:
      return (int)PT_MATMUL_ATTRS + (int)PT_UPDATE_ATTRS;
    case PT_OP_conv2d_dw_update:
      return (int)PT_CONV_ATTRS + (int)PT_UPDATE_ATTRS;
    default:
      return -1;
  }
}

/* `place`: of the group's index; `decay`: the op's own. */
static inline pt_group pt_group_of(const pt_call* call, unsigned place, double decay) {
  const pt_scalars* scalars = call->scalars;
  pt_group made;
  made.lr = scalars->lr, made.weight_decay = decay;
  if (call->int_count > place && scalars->groups != NULL && (uint64_t)call->ints[place] < scalars->group_count) {
    const pt_group* group = &scalars->groups[call->ints[place]];
    if (group->lr >= 0) made.lr = group->lr;
    if (group->weight_decay >= 0) made.weight_decay = group->weight_decay;
  }
  return made;
}

#endif
