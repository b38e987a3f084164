/* Normalizations and softmax. */
#include "kernels/portable/norm_activation.h"
#include "runtime/op_rules.h"

static uint64_t product(const pt_tensor* t, unsigned begin, unsigned end) {
  uint64_t count = 1; /* no overflow: the product over all dims fits (pt_decode_op) */
  unsigned d;
  for (d = begin; d < end; ++d) count *= t->dims[d];
  return count;
}

/* Operands [begin, end), inputs first, are vectors of `length`. */
static int all_vectors(const pt_op_view* view, unsigned begin, unsigned end, uint32_t length) {
  unsigned operand;
  for (operand = begin; operand < end; ++operand)
    if (!is_vector(in(view, operand), length)) return 0;
  return 1;
}

static int batch_norm(const pt_op_view* view) {
  const pt_tensor* x = in(view, 0);
  return x->rank >= 2 && pt_same_dims(x, out(view, 0)) && all_vectors(view, 1, 3, x->dims[1]) &&
         all_vectors(view, 4, 6, x->dims[1]);
}

static int batch_norm_grad(const pt_op_view* view) {
  const pt_tensor* x = in(view, 1);
  return x->rank >= 2 && pt_same_dims(x, in(view, 0)) && pt_same_dims(x, out(view, 0)) &&
         all_vectors(view, 2, 5, x->dims[1]) && all_vectors(view, 6, 8, x->dims[1]);
}

static int batch_norm_stats(const pt_op_view* view) {
  return in(view, 0)->rank == 1 && all_vectors(view, 0, 6, in(view, 0)->dims[0]);
}

static int batch_norm_eval(const pt_op_view* view) {
  const pt_tensor* x = in(view, 0);
  return x->rank >= 2 && pt_same_dims(x, out(view, 0)) && all_vectors(view, 1, 5, x->dims[1]);
}

static int has_activation(const pt_op_view* view) {
  return pt_is_norm_activation(view->ints[PT_NORM_ACTIVATION]);
}

static int batch_norm_act(const pt_op_view* view) {
  return has_activation(view) && batch_norm(view);
}

static int batch_norm_act_grad(const pt_op_view* view) {
  const pt_tensor* x = in(view, 1);
  return has_activation(view) && x->rank >= 2 && pt_same_dims(x, in(view, 0)) && pt_same_dims(x, out(view, 0)) &&
         all_vectors(view, 2, 6, x->dims[1]) && all_vectors(view, 7, 9, x->dims[1]);
}

static int batch_norm_act_eval(const pt_op_view* view) {
  return has_activation(view) && batch_norm_eval(view);
}

/* Operands [begin, end) have `count` elements. */
static int all_count(const pt_op_view* view, unsigned begin, unsigned end, uint64_t count) {
  unsigned operand;
  for (operand = begin; operand < end; ++operand)
    if (pt_type_elements(in(view, operand)) != count) return 0;
  return 1;
}

static int layer_norm(const pt_op_view* view) {
  const pt_tensor* x = in(view, 0);
  if (!is_axis(view, x->rank) || !pt_same_dims(x, out(view, 0))) return 0;
  return all_count(view, 1, 3, product(x, (unsigned)view->ints[0], x->rank)) &&
         all_count(view, 4, 6, product(x, 0, (unsigned)view->ints[0]));
}

static int layer_norm_grad(const pt_op_view* view) {
  const pt_tensor* x = in(view, 1);
  uint64_t width, rows;
  if (!is_axis(view, x->rank) || !pt_same_dims(x, in(view, 0)) || !pt_same_dims(x, out(view, 0))) return 0;
  width = product(x, (unsigned)view->ints[0], x->rank);
  rows = product(x, 0, (unsigned)view->ints[0]);
  return all_count(view, 2, 3, width) && all_count(view, 3, 5, rows) && all_count(view, 6, 8, width);
}

/* why: one row per operator, and nothing that two tables could share. */
static const pt_op_rule rules[] = {
    {PT_OP_softmax, 1, 1, 1, 1, 1, 0, REAL, pt_axis_same},
    {PT_OP_softmax_grad, 2, 2, 1, 1, 1, 0, REAL, pt_axis_same},
    {PT_OP_log_softmax, 1, 1, 1, 1, 1, 0, REAL, pt_axis_same},
    {PT_OP_log_softmax_grad, 2, 2, 1, 1, 1, 0, REAL, pt_axis_same},
    {PT_OP_batch_norm, 3, 3, 3, 3, 0, 1, REAL, batch_norm},
    {PT_OP_batch_norm_grad, 5, 5, 3, 3, 0, 1, REAL, batch_norm_grad},
    {PT_OP_batch_norm_stats, 4, 4, 2, 2, 1, 1, REAL, batch_norm_stats},
    {PT_OP_batch_norm_eval, 5, 5, 1, 1, 0, 1, REAL, batch_norm_eval},
    {PT_OP_batch_norm_act, 3, 3, 3, 3, PT_NORM_ACT_ATTRS, PT_NORM_ACT_REALS, REAL, batch_norm_act},
    {PT_OP_batch_norm_act_grad, 6, 6, 3, 3, PT_NORM_ACT_ATTRS, PT_NORM_ACT_REALS, REAL, batch_norm_act_grad},
    {PT_OP_batch_norm_act_eval, 5, 5, 1, 1, PT_NORM_ACT_ATTRS, PT_NORM_ACT_REALS, REAL, batch_norm_act_eval},
    {PT_OP_layer_norm, 3, 3, 3, 3, 1, 1, REAL, layer_norm},
    {PT_OP_layer_norm_grad, 5, 5, 3, 3, 1, 0, REAL, layer_norm_grad},
};

const pt_op_family pt_norm_rules = {rules, sizeof rules / sizeof rules[0]};
