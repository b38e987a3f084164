/* Losses, their gradients, and the count of right answers. */
#include "runtime/op_rules.h"

/* labels [N,..] for logits [N,C,..] */
static int labels_fit(const pt_op_view* view) {
  const pt_tensor *logits = in(view, 0), *labels = in(view, 1);
  unsigned d;
  if (logits->rank < 2 || labels->rank + 1 != logits->rank || labels->dims[0] != logits->dims[0]) return 0;
  for (d = 1; d < labels->rank; ++d)
    if (labels->dims[d] != logits->dims[d + 1]) return 0;
  return 1;
}

static int class_loss(const pt_op_view* view) {
  return labels_fit(view) && pt_type_elements(out(view, 0)) == 1;
}
static int class_loss_grad(const pt_op_view* view) {
  return labels_fit(view) && pt_same_dims(in(view, 0), out(view, 0));
}
static int count_correct(const pt_op_view* view) {
  return labels_fit(view) && pt_type_elements(out(view, 0)) == 2 && view->ints[1] >= 1;
}
static int element_loss(const pt_op_view* view) {
  return pt_same_dims(in(view, 0), in(view, 1)) && pt_type_elements(out(view, 0)) == 1;
}
static int soft_loss(const pt_op_view* view) {
  return element_loss(view) && in(view, 0)->rank >= 2;
}
static int soft_loss_grad(const pt_op_view* view) {
  return pt_all_same(view) && in(view, 0)->rank >= 2;
}

/* why: one row per operator, and nothing that two tables could share. */
static const pt_op_rule rules[] = {
    {PT_OP_nll, 2, 2, 1, 1, 1, 0, REAL_LABEL, class_loss},
    {PT_OP_nll_grad, 2, 2, 1, 1, 1, 0, REAL_LABEL, class_loss_grad},
    {PT_OP_cross_entropy, 2, 2, 1, 1, 1, 1, REAL_LABEL, class_loss},
    {PT_OP_cross_entropy_grad, 2, 2, 1, 1, 1, 1, REAL_LABEL, class_loss_grad},
    {PT_OP_soft_cross_entropy, 2, 2, 1, 1, 0, 1, REAL, soft_loss},
    {PT_OP_soft_cross_entropy_grad, 2, 2, 1, 1, 0, 1, REAL, soft_loss_grad},
    {PT_OP_mse, 2, 2, 1, 1, 0, 0, REAL, element_loss},
    {PT_OP_mse_grad, 2, 2, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_l1, 2, 2, 1, 1, 0, 0, REAL, element_loss},
    {PT_OP_l1_grad, 2, 2, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_smooth_l1, 2, 2, 1, 1, 0, 1, REAL, element_loss},
    {PT_OP_smooth_l1_grad, 2, 2, 1, 1, 0, 1, REAL, pt_all_same},
    {PT_OP_bce_with_logits, 2, 2, 1, 1, 0, 0, REAL, element_loss},
    {PT_OP_bce_with_logits_grad, 2, 2, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_kl_div, 2, 2, 1, 1, 0, 1, REAL, element_loss},
    {PT_OP_kl_div_grad, 2, 2, 1, 1, 0, 1, REAL, pt_all_same},
    {PT_OP_count_correct, 2, 2, 1, 1, 2, 0, REAL_LABEL, count_correct},
};

const pt_op_family pt_loss_rules = {rules, sizeof rules / sizeof rules[0]};
