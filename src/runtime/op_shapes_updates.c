/* Updates of parameters, and gradients on their way to them. */
#include "runtime/op_rules.h"

static int sgd(const pt_op_view* view) {
  return pt_flagged_same(view) && view->input_count == view->output_count + 1;
}

static int rmsprop(const pt_op_view* view) {
  return sgd(view) && view->input_count >= 3 + view->ints[0] && view->input_count <= 4 + view->ints[0];
}

static int sgd_rows(const pt_op_view* view) {
  const pt_tensor *w = in(view, 0), *indices = in(view, 1), *dy = in(view, 2);
  unsigned d;
  if (!pt_same_dims(w, out(view, 0)) || w->rank < 1 || dy->rank + 1u != (unsigned)w->rank + indices->rank) return 0;
  for (d = 0; d < dy->rank; ++d)
    if (dy->dims[d] != (d < indices->rank ? indices->dims[d] : w->dims[d + 1 - indices->rank])) return 0;
  return 1;
}

static int scalar_result(const pt_op_view* view) {
  return pt_type_elements(out(view, 0)) == 1;
}
static int clip_norm(const pt_op_view* view) {
  return pt_same_dims(in(view, 0), out(view, 0)) && pt_type_elements(in(view, 1)) == 1;
}

/* The rest its own rule says, which the kernel asks. */
static int keyed(const pt_op_view* view) {
  return view->int_count > 0 && view->ints[0] > 0;
}
static int custom_update(const pt_op_view* view) {
  return keyed(view) && pt_all_same(view) && view->input_count == view->output_count + 1;
}

/* why: one row per operator, and nothing that two tables could share. */
static const pt_op_rule rules[] = {
    {PT_OP_sgd, 2, 3, 1, 2, 1, 2, REAL, sgd},
    {PT_OP_adam, 4, 4, 3, 3, 0, 4, REAL, pt_all_same},
    {PT_OP_adamw, 4, 4, 3, 3, 0, 4, REAL, pt_all_same},
    {PT_OP_norm, 1, PT_MAX_OPERANDS - 1, 1, 1, 0, 0, REAL, scalar_result},
    {PT_OP_clip_norm, 2, 2, 1, 1, 0, 1, REAL, clip_norm},
    {PT_OP_accumulate, 2, 2, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_accumulated, 2, 2, 2, 2, 0, 1, REAL, pt_all_same},
    {PT_OP_rmsprop, 3, 5, 2, 4, 1, 4, REAL, rmsprop},
    {PT_OP_adagrad, 3, 3, 2, 2, 0, 3, REAL, pt_all_same},
    {PT_OP_sgd_rows, 3, 3, 1, 1, 0, 0, SAME_INDEX, sgd_rows},
    {PT_OP_custom, 1, PT_MAX_OPERANDS - 1, 1, PT_MAX_OPERANDS - 1, -1, -1, ANY, keyed},
    {PT_OP_custom_update, 2, PT_MAX_OPERANDS - 1, 1, PT_MAX_OPERANDS - 2, -1, -1, REAL, custom_update},
};

const pt_op_family pt_update_rules = {rules, sizeof rules / sizeof rules[0]};
