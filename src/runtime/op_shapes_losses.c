/* Losses, their gradients, and the count of right answers. */
#include "runtime/op_rules.h"

static int has_classes(pt_op_use* use) {
  return in(use, 0)->rank >= 2 || PT_REFUSE(use, "the scores must have two dimensions or more");
}
/* labels [N,..] for logits [N,C,..] */
static int labels_fit(pt_op_use* use) {
  const pt_tensor* logits = in(use, 0);
  pt_tensor labels = *logits;
  unsigned d;
  if (!has_classes(use)) return 0;
  --labels.rank;
  for (d = 1; d < labels.rank; ++d) labels.dims[d] = logits->dims[d + 1];
  return pt_want_dims(use, in(use, 1), &labels, PT_TEXT("the labels"));
}

static int class_loss(pt_op_use* use) {
  return labels_fit(use) && pt_make_all(use, NULL, 1);
}
static int class_loss_grad(pt_op_use* use) {
  return labels_fit(use) && pt_make_all(use, in(use, 0), 1);
}
static int count_correct(pt_op_use* use) {
  pt_tensor* counts = pt_make(use, NULL);
  counts->rank = 1;
  counts->dims[0] = 2;
  if (use->ints[1] < 1)
    return pt_refuse(use, PT_TEXT("the right answers among the {} highest cannot be counted"), use->ints[1], 0);
  return labels_fit(use);
}
static int element_loss(pt_op_use* use) {
  return pt_want_dims(use, in(use, 1), in(use, 0), PT_TEXT("the target")) && pt_make_all(use, NULL, 1);
}
static int soft_loss(pt_op_use* use) {
  return has_classes(use) && element_loss(use);
}
static int soft_loss_grad(pt_op_use* use) {
  return has_classes(use) && pt_same(use);
}

PT_FAMILY(pt_loss_records, PT_LOSS_OPERATORS)
