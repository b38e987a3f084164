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

/* [T, N, columns] */
static int is_series(const pt_tensor* t, const pt_tensor* like, uint64_t columns) {
  return t->rank == 3 && t->dims[0] == like->dims[0] && t->dims[1] == like->dims[1] && t->dims[2] == columns;
}

/* Operands [begin, end) are series of `gates` gates, or states [N, H]. */
static int all_series(const pt_op_view* view, const pt_tensor* like, uint64_t columns, unsigned begin, unsigned end) {
  for (; begin < end; ++begin)
    if (!is_series(in(view, begin), like, columns)) return 0;
  return 1;
}
static int all_states(const pt_op_view* view, const pt_tensor* like, uint64_t width, unsigned begin, unsigned end) {
  for (; begin < end; ++begin) {
    const pt_tensor* t = in(view, begin);
    if (t->rank != 2 || t->dims[0] != like->dims[1] || t->dims[1] != width) return 0;
  }
  return 1;
}

/* The last attribute says whether time runs backward; each of the others is a gate's block of columns. */
static int has_direction(const pt_op_view* view, unsigned gates) {
  pt_op_view blocks = *view;
  blocks.int_count = (uint8_t)gates;
  return has_blocks(&blocks) && (view->ints[gates] == 0 || view->ints[gates] == 1);
}

/* Input 0 holds the gates, `r` the weight [gates H, H]; 0: they are none. */
static uint64_t width_of(const pt_op_view* view, unsigned r, uint32_t gates) {
  const pt_tensor *series = in(view, 0), *weight = in(view, r);
  if (series->rank != 3 || weight->rank != 2 || !has_direction(view, gates)) return 0;
  if (weight->dims[0] != series->dims[2] || weight->dims[0] != (uint64_t)gates * weight->dims[1]) return 0;
  return weight->dims[1];
}

static int lstm_sequence(const pt_op_view* view) {
  const pt_tensor* z = in(view, 0);
  const uint64_t h = width_of(view, 1, 4);
  return h != 0 && all_states(view, z, h, 2, 4) && all_series(view, z, h, 4, 6) && all_series(view, z, 4 * h, 6, 7) &&
         all_states(view, z, h, 7, 9);
}
static int lstm_sequence_grad(const pt_op_view* view) {
  const pt_tensor* g = in(view, 0);
  const unsigned inputs = view->input_count;
  const uint64_t h = width_of(view, 3, 4);
  return h != 0 && all_series(view, g, h, 1, 2) && all_states(view, g, h, 2, 3) && all_states(view, g, h, 4, 6) &&
         all_series(view, g, h, 6, inputs) && all_series(view, g, 4 * h, inputs, inputs + 1) &&
         all_states(view, g, h, inputs + 1, inputs + 3);
}
static int gru_sequence(const pt_op_view* view) {
  const pt_tensor* z = in(view, 0);
  const unsigned inputs = view->input_count;
  const uint64_t h = width_of(view, 1, 3);
  if (inputs == 4 && !is_vector(in(view, 3), z->dims[2])) return 0;
  return h != 0 && all_states(view, z, h, 2, 3) && all_series(view, z, h, inputs, inputs + 1) &&
         all_series(view, z, 3 * h, inputs + 1, inputs + 2) && all_series(view, z, h, inputs + 2, inputs + 3) &&
         all_states(view, z, h, inputs + 3, inputs + 4);
}
static int gru_sequence_grad(const pt_op_view* view) {
  const pt_tensor* g = in(view, 0);
  const unsigned inputs = view->input_count;
  const uint64_t h = width_of(view, 4, 3);
  return h != 0 && all_series(view, g, h, 1, 3) && all_states(view, g, h, 3, 4) && all_states(view, g, h, 5, 6) &&
         all_series(view, g, h, 6, inputs) && all_series(view, g, 3 * h, inputs, inputs + 2) &&
         all_states(view, g, h, inputs + 2, inputs + 3);
}

/* why: one row per operator, and nothing that two tables could share. */
static const pt_op_rule rules[] = {
    {PT_OP_lstm_cell, 3, 3, 3, 3, 4, 0, REAL, lstm_cell},
    {PT_OP_lstm_cell_grad, 4, 5, 2, 2, 4, 0, REAL, lstm_cell_grad},
    {PT_OP_gru_cell, 3, 3, 3, 3, 3, 0, REAL, gru_cell},
    {PT_OP_gru_cell_grad, 4, 4, 3, 3, 3, 0, REAL, gru_cell_grad},
    {PT_OP_lstm_sequence, 4, 4, 5, 5, 5, 0, REAL, lstm_sequence},
    {PT_OP_lstm_sequence_grad, 6, 7, 3, 3, 5, 0, REAL, lstm_sequence_grad},
    {PT_OP_gru_sequence, 3, 4, 4, 4, 4, 0, REAL, gru_sequence},
    {PT_OP_gru_sequence_grad, 6, 7, 3, 3, 4, 0, REAL, gru_sequence_grad},
};

const pt_op_family pt_recurrent_rules = {rules, sizeof rules / sizeof rules[0]};
