/* Recurrent cells. */
#include "runtime/op_rules.h"

/* Operands [begin, end), inputs first, are [N, gates H] where `state` is [N, H]. */
static int all_gates(const pt_op_view* view, const pt_tensor* state, uint32_t gates, unsigned begin, unsigned end) {
  unsigned operand;
  if (state->rank != 2) return 0;
  for (operand = begin; operand < end; ++operand) {
    const pt_tensor* t = in(view, operand);
    if (t->rank != 2 || t->dims[0] != state->dims[0] || t->dims[1] != (uint64_t)gates * state->dims[1]) return 0;
  }
  return 1;
}

/* Every gate has a block of columns of its own. */
static int has_blocks(const pt_op_view* view) {
  unsigned gate, seen = 0;
  for (gate = 0; gate < view->int_count; ++gate) {
    const int64_t block = view->ints[gate];
    if (block < 0 || block >= view->int_count || (seen >> block & 1) != 0) return 0;
    seen |= 1u << block;
  }
  return 1;
}

static int lstm_cell(const pt_op_view* view) {
  const pt_tensor* c = in(view, 2);
  return has_blocks(view) && all_gates(view, c, 4, 0, 2) && all_gates(view, c, 1, 3, 5) && all_gates(view, c, 4, 5, 6);
}
static int lstm_cell_grad(const pt_op_view* view) {
  const unsigned inputs = view->input_count;
  const pt_tensor* dh = in(view, 0);
  return has_blocks(view) && all_gates(view, dh, 4, 1, 2) && all_gates(view, dh, 1, 2, inputs) &&
         all_gates(view, dh, 4, inputs, inputs + 1) && all_gates(view, dh, 1, inputs + 1, inputs + 2);
}
static int gru_cell(const pt_op_view* view) {
  const pt_tensor* h = in(view, 2);
  return has_blocks(view) && all_gates(view, h, 3, 0, 2) && all_gates(view, h, 1, 3, 4) &&
         all_gates(view, h, 3, 4, 5) && all_gates(view, h, 1, 5, 6);
}
static int gru_cell_grad(const pt_op_view* view) {
  const pt_tensor* dh = in(view, 0);
  return has_blocks(view) && all_gates(view, dh, 3, 1, 2) && all_gates(view, dh, 1, 2, 4) &&
         all_gates(view, dh, 3, 4, 6) && all_gates(view, dh, 1, 6, 7);
}

/* why: one row per operator, and nothing that two tables could share. */
static const pt_op_rule rules[] = {
    {PT_OP_lstm_cell, 3, 3, 3, 3, 4, 0, REAL, lstm_cell},
    {PT_OP_lstm_cell_grad, 4, 5, 2, 2, 4, 0, REAL, lstm_cell_grad},
    {PT_OP_gru_cell, 3, 3, 3, 3, 3, 0, REAL, gru_cell},
    {PT_OP_gru_cell_grad, 4, 4, 3, 3, 3, 0, REAL, gru_cell_grad},
};

const pt_op_family pt_recurrent_rules = {rules, sizeof rules / sizeof rules[0]};
