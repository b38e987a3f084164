/* Updates of parameters, and ops on gradients before the update. */
#include "runtime/op_rules.h"

/* w g states.. -> w' states'.. */
static int states(pt_op_use* use) {
  return pt_want_group(use) && pt_want_outputs(use, use->input_count - 1u) && pt_same(use) &&
         pt_make_all(use, in(use, 0), use->input_count - 2u);
}
static int sgd(pt_op_use* use) {
  return pt_want_group(use) && pt_want_below(use, 0, 2, PT_TEXT("a flag must be 0 or 1, not {}")) && states(use);
}
/* The last real, the sum to begin with, may be absent. */
static int want_adagrads(pt_op_use* use, unsigned reals) {
  return use->real_count == reals || use->real_count == reals + 1 ||
         pt_refuse(use, PT_TEXT("it does not have {} integer and {} real attributes"), use->int_count, use->real_count);
}
static int adagrad(pt_op_use* use) {
  return want_adagrads(use, 3) && states(use);
}
/* w g s avg? v? */
static int rmsprop(pt_op_use* use) {
  if (!pt_want_group(use) || !pt_want_below(use, 0, 2, PT_TEXT("a flag must be 0 or 1, not {}"))) return 0;
  if (use->input_count < 3 + use->ints[0] || use->input_count > 4 + use->ints[0])
    return PT_REFUSE(use, "a running average is there where it is centered");
  return states(use);
}

/* w I dY states.. -> w' states'.. */
static int rows(pt_op_use* use) {
  const pt_tensor *w = in(use, 0), *indices = in(use, 1);
  pt_tensor gradient = *indices;
  unsigned d, state;
  if (!pt_want_group(use)) return 0;
  if (w->rank < 1) return PT_REFUSE(use, "what it updates has no rows");
  if (indices->rank + w->rank - 1u > PT_MAX_RANK)
    return PT_REFUSE(use, "the gradient of the rows has too many dimensions");
  gradient.rank = (uint8_t)(indices->rank + w->rank - 1u);
  for (d = 1; d < w->rank; ++d) gradient.dims[indices->rank + d - 1u] = w->dims[d];
  if (!pt_want_dims(use, in(use, 2), &gradient, PT_TEXT("the gradient of the rows"))) return 0;
  for (state = 3; state < use->input_count; ++state)
    if (!pt_want_dims(use, in(use, state), w, PT_TEXT("a state of the rows"))) return 0;
  return pt_make_all(use, w, use->input_count - 2u);
}
static int adagrad_rows(pt_op_use* use) {
  return want_adagrads(use, 2) && rows(use);
}

static int norm(pt_op_use* use) {
  return pt_make_all(use, NULL, 1);
}
static int clip_norm(pt_op_use* use) {
  const pt_tensor scalar = {NULL, {0}, 0, 0};
  return pt_want_dims(use, in(use, 1), &scalar, PT_TEXT("the norm")) && pt_make_all(use, in(use, 0), 1);
}
static int accumulated(pt_op_use* use) {
  return pt_same(use) && pt_make_all(use, in(use, 0), 1);
}

/* The operator's own rule, which the kernel calls, checks the rest. */
static int keyed(pt_op_use* use) {
  return use->int_count > 0 && use->ints[0] > 0;
}
static int custom_update(pt_op_use* use) {
  unsigned at;
  if (!keyed(use) || use->output_count + 1u != use->input_count) return 0;
  for (at = 0; at + 1u < use->input_count; ++at)
    if (!pt_same_dims(in(use, at + 1u), in(use, 0)) || !pt_same_dims(given(use, at), in(use, 0))) return 0;
  return 1;
}

PT_FAMILY(pt_update_records, PT_UPDATE_OPERATORS)
