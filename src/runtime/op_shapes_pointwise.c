/* Element by element, and the bits that stand for an activation in backward. */
#include "runtime/op_rules.h"

static int binary(const pt_op_view* view) {
  return pt_broadcast_dims(in(view, 0), in(view, 1), out(view, 0), out(view, 0)->rank);
}

static int pow_grad(const pt_op_view* view) {
  return pt_same_dims(in(view, 0), out(view, 0)) && pt_broadcasts_to(in(view, 1), out(view, 0)) &&
         pt_broadcasts_to(in(view, 2), out(view, 0));
}

static int compare(const pt_op_view* view) {
  return binary(view) && view->ints[0] >= 0 && view->ints[0] < PT_COMPARE_COUNT;
}

/* The output's extent is, in each dimension, the largest of the inputs'. */
static int where(const pt_op_view* view) {
  const pt_tensor* y = out(view, 0);
  unsigned input, d;
  for (input = 0; input < 3; ++input)
    if (!pt_broadcasts_to(in(view, input), y)) return 0;
  for (d = 0; d < y->rank; ++d) {
    uint32_t most = 1;
    for (input = 0; input < 3; ++input) {
      const uint32_t extent = pt_padded_dim(in(view, input), d, y->rank);
      if (extent > most) most = extent;
    }
    if (most != y->dims[d]) return 0;
  }
  return 1;
}

static int mod(const pt_op_view* view) {
  return binary(view) && view->ints[0] >= 0 && view->ints[0] <= 1;
}

static int bitwise(const pt_op_view* view) {
  return binary(view) && view->ints[0] >= 0 && view->ints[0] < PT_BITWISE_COUNT;
}

static int rounds(const pt_op_view* view) {
  return pt_all_same(view) && view->ints[0] >= 0 && view->ints[0] <= 2;
}

/* The numbers themselves are not asked: whatever they are, elements are written and nothing else. */
static int random_numbers(const pt_op_view* view) {
  return view->ints[0] >= 0 && view->ints[0] <= UINT32_MAX && view->ints[1] >= 0 && view->ints[1] < PT_RANDOM_COUNT;
}

static int arcs(const pt_op_view* view) {
  return pt_all_same(view) && view->ints[0] >= 0 && view->ints[0] < PT_ARC_COUNT;
}

static int dropout(const pt_op_view* view) {
  return pt_all_same(view) && view->reals[0] >= 0 && view->reals[0] < 1; /* false for a NaN */
}

/* `bits` has a bit for every element of x. */
static int bits_of(const pt_tensor* x, const pt_tensor* bits) {
  return bits->rank == 1 && bits->dims[0] == (pt_type_elements(x) + 7) / 8;
}
static int sign_bits(const pt_op_view* view) {
  return bits_of(in(view, 0), out(view, 0));
}
static int grad_bits(const pt_op_view* view) {
  return bits_of(in(view, 0), in(view, 1)) && pt_same_dims(in(view, 0), out(view, 0));
}

/* why: one row per operator, and nothing that two tables could share. */
static const pt_op_rule rules[] = {
    {PT_OP_add, 2, 2, 1, 1, 0, 0, SAME, binary},
    {PT_OP_sub, 2, 2, 1, 1, 0, 0, SAME, binary},
    {PT_OP_mul, 2, 2, 1, 1, 0, 0, SAME, binary},
    {PT_OP_div, 2, 2, 1, 1, 0, 0, SAME, binary},
    {PT_OP_pow, 2, 2, 1, 1, 0, 0, SAME, binary},
    {PT_OP_pow_grad, 3, 3, 1, 1, 0, 0, REAL, pow_grad},
    {PT_OP_relu, 1, 1, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_leaky_relu, 1, 1, 1, 1, 0, 1, REAL, pt_all_same},
    {PT_OP_sigmoid, 1, 1, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_tanh, 1, 1, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_gelu, 1, 1, 1, 1, 1, 0, REAL, pt_flagged_same},
    {PT_OP_erf, 1, 1, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_sqrt, 1, 1, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_exp, 1, 1, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_log, 1, 1, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_neg, 1, 1, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_scale, 1, 1, 1, 1, 0, 2, REAL, pt_all_same},
    {PT_OP_cast, 1, 1, 1, 1, 0, 0, ANY, pt_all_same},
    {PT_OP_relu_grad, 2, 2, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_leaky_relu_grad, 2, 2, 1, 1, 0, 1, REAL, pt_all_same},
    {PT_OP_sigmoid_grad, 2, 2, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_tanh_grad, 2, 2, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_gelu_grad, 2, 2, 1, 1, 1, 0, REAL, pt_flagged_same},
    {PT_OP_erf_grad, 2, 2, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_sqrt_grad, 2, 2, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_compare, 2, 2, 1, 1, 1, 0, COMPARED, compare},
    {PT_OP_where, 3, 3, 1, 1, 0, 0, CHOSEN, where},
    {PT_OP_maximum, 2, 2, 1, 1, 0, 0, SAME, binary},
    {PT_OP_minimum, 2, 2, 1, 1, 0, 0, SAME, binary},
    {PT_OP_mod, 2, 2, 1, 1, 1, 0, SAME, mod},
    {PT_OP_bitwise, 2, 2, 1, 1, 1, 0, SAME, bitwise},
    {PT_OP_maximum_grad, 3, 3, 1, 1, 0, 0, REAL, pow_grad},
    {PT_OP_abs, 1, 1, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_sign, 1, 1, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_round, 1, 1, 1, 1, 1, 0, REAL, rounds},
    {PT_OP_arc, 1, 1, 1, 1, 1, 0, REAL, arcs},
    {PT_OP_arc_grad, 2, 2, 1, 1, 1, 0, REAL, arcs},
    {PT_OP_round_to, 1, 1, 1, 1, 1, 0, REAL, pt_flagged_same},
    {PT_OP_sin, 1, 1, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_cos, 1, 1, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_elu, 1, 1, 1, 1, 0, 3, REAL, pt_all_same},
    {PT_OP_elu_grad, 2, 2, 1, 1, 0, 3, REAL, pt_all_same},
    {PT_OP_softplus, 1, 1, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_softplus_grad, 2, 2, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_clip, 1, 1, 1, 1, 0, 2, REAL, pt_all_same},
    {PT_OP_clip_grad, 2, 2, 1, 1, 0, 2, REAL, pt_all_same},
    {PT_OP_hard_sigmoid, 1, 1, 1, 1, 0, 2, REAL, pt_all_same},
    {PT_OP_hard_sigmoid_grad, 2, 2, 1, 1, 0, 3, REAL, pt_all_same},
    {PT_OP_hard_swish, 1, 1, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_hard_swish_grad, 2, 2, 1, 1, 0, 0, REAL, pt_all_same},
    {PT_OP_random, 0, 0, 1, 1, 2, 2, REAL, random_numbers},
    {PT_OP_dropout, 1, 1, 1, 1, 1, 1, REAL, dropout},
    {PT_OP_sign_bits, 1, 1, 1, 1, 0, 0, BYTES_MADE, sign_bits},
    {PT_OP_relu_grad_bits, 2, 2, 1, 1, 0, 0, REAL_BYTES, grad_bits},
    {PT_OP_leaky_relu_grad_bits, 2, 2, 1, 1, 0, 1, REAL_BYTES, grad_bits},
};

const pt_op_family pt_pointwise_rules = {rules, sizeof rules / sizeof rules[0]};
