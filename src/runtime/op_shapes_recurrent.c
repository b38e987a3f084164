/* Recurrent cells and sequences. */
#include "runtime/op_rules.h"

/* Each of the first `gates` integers is a gate's block of columns, of its own. */
static int has_blocks(pt_op_use* use, unsigned gates) {
  unsigned block, gate;
  for (block = 0; block < gates; ++block) {
    unsigned owners = 0;
    for (gate = 0; gate < gates; ++gate) owners += use->ints[gate] == (int64_t)block;
    if (owners != 1) return pt_refuse(use, PT_TEXT("no gate, or more than one, has the block {} of columns"), block, 0);
  }
  return 1;
}

/* `like` with `blocks` times as many columns; the rank is at least 1. */
static int widened(pt_op_use* use, const pt_tensor* like, uint64_t blocks, pt_tensor* wide) {
  *wide = *like;
  wide->dims[like->rank - 1u] = (uint32_t)(like->dims[like->rank - 1u] * blocks);
  return pt_want_extent(use, like->dims[like->rank - 1u] * blocks);
}

/* Inputs [begin, end) have the dims of `like`. */
static int all_fit(pt_op_use* use, unsigned begin, unsigned end, const pt_tensor* like, const char* what) {
  for (; begin < end; ++begin)
    if (!pt_want_dims(use, in(use, begin), like, what)) return 0;
  return 1;
}

/* Two inputs of `gates` gates each, and the state: `wide` becomes the shape of gates. */
static int cell(pt_op_use* use, unsigned gates, pt_tensor* wide) {
  return has_blocks(use, gates) && pt_want_rank(use, in(use, 2), 2, PT_TEXT("the state")) &&
         widened(use, in(use, 2), gates, wide) && all_fit(use, 0, 2, wide, PT_TEXT("a product of the gates"));
}
/* The state's gradient, `gates` gates, and states. */
static int cell_grad(pt_op_use* use, unsigned gates, pt_tensor* wide) {
  return has_blocks(use, gates) && pt_want_rank(use, in(use, 0), 2, PT_TEXT("the state's gradient")) &&
         widened(use, in(use, 0), gates, wide) && all_fit(use, 1, 2, wide, PT_TEXT("the gates")) &&
         all_fit(use, 2, use->input_count, in(use, 0), PT_TEXT("a state"));
}

static int lstm_cell(pt_op_use* use) {
  pt_tensor gates;
  return cell(use, 4, &gates) && pt_make_all(use, in(use, 2), 2) && pt_make_all(use, &gates, 1);
}
static int lstm_cell_grad(pt_op_use* use) {
  pt_tensor gates;
  return cell_grad(use, 4, &gates) && pt_make_all(use, &gates, 1) && pt_make_all(use, in(use, 0), 1);
}
static int gru_cell(pt_op_use* use) {
  pt_tensor gates;
  return cell(use, 3, &gates) && pt_make_all(use, in(use, 2), 1) && pt_make_all(use, &gates, 1) &&
         pt_make_all(use, in(use, 2), 1);
}
static int gru_cell_grad(pt_op_use* use) {
  pt_tensor gates;
  return cell_grad(use, 3, &gates) && pt_make_all(use, &gates, 2) && pt_make_all(use, in(use, 0), 1);
}

/* The shapes of a sequence: gates [T, N, gates H], series of states [T, N, H], a state [N, H]. */
typedef struct sequence {
  pt_tensor gates, series, state;
} sequence;

/* Input 0 holds the gates, input `r` the state's weight [gates H, H]; the last integer is 1 where time runs backward. */
static int is_sequence(pt_op_use* use, unsigned r, unsigned gates, sequence* s) {
  const pt_tensor *of_gates = in(use, 0), *weight = in(use, r);
  pt_tensor wanted;
  if (!has_blocks(use, gates) || !pt_want_below(use, gates, 2, PT_TEXT("the direction of time {} is neither 0 nor 1")))
    return 0;
  if (!pt_want_rank(use, of_gates, 3, PT_TEXT("the gates")) ||
      !pt_want_rank(use, weight, 2, PT_TEXT("the state's weight")))
    return 0;
  s->series = s->state = *of_gates;
  s->series.dims[2] = weight->dims[1];
  s->state.rank = 2;
  s->state.dims[0] = of_gates->dims[1], s->state.dims[1] = weight->dims[1];
  if (!widened(use, &s->series, gates, &s->gates) || !pt_want_dims(use, of_gates, &s->gates, PT_TEXT("the gates")))
    return 0;
  wanted = *weight;
  wanted.dims[0] = of_gates->dims[2];
  return pt_want_dims(use, weight, &wanted, PT_TEXT("the state's weight"));
}

static int lstm_sequence(pt_op_use* use) {
  sequence s;
  return is_sequence(use, 1, 4, &s) && all_fit(use, 2, 4, &s.state, PT_TEXT("a state")) &&
         pt_make_all(use, &s.series, 2) && pt_make_all(use, &s.gates, 1) && pt_make_all(use, &s.state, 2);
}
static int lstm_sequence_grad(pt_op_use* use) {
  sequence s;
  return is_sequence(use, 3, 4, &s) && all_fit(use, 1, 2, &s.series, PT_TEXT("the inner states")) &&
         all_fit(use, 2, 3, &s.state, PT_TEXT("a state")) &&
         all_fit(use, 4, 6, &s.state, PT_TEXT("a state's gradient")) &&
         all_fit(use, 6, use->input_count, &s.series, PT_TEXT("the states' gradient")) &&
         pt_make_all(use, &s.gates, 1) && pt_make_all(use, &s.state, 2);
}
static int gru_sequence(pt_op_use* use) {
  sequence s;
  return is_sequence(use, 1, 3, &s) && all_fit(use, 2, 3, &s.state, PT_TEXT("a state")) &&
         (use->input_count < 4 || pt_want_vector(use, in(use, 3), s.gates.dims[2], PT_TEXT("the bias"))) &&
         pt_make_all(use, &s.series, 1) && pt_make_all(use, &s.gates, 1) && pt_make_all(use, &s.series, 1) &&
         pt_make_all(use, &s.state, 1);
}
static int gru_sequence_grad(pt_op_use* use) {
  sequence s;
  return is_sequence(use, 4, 3, &s) && all_fit(use, 1, 3, &s.series, PT_TEXT("a series of states")) &&
         all_fit(use, 3, 4, &s.state, PT_TEXT("a state")) &&
         all_fit(use, 5, 6, &s.state, PT_TEXT("a state's gradient")) &&
         all_fit(use, 6, use->input_count, &s.series, PT_TEXT("the states' gradient")) &&
         pt_make_all(use, &s.gates, 2) && pt_make_all(use, &s.state, 1);
}

PT_FAMILY(pt_recurrent_records, PT_RECURRENT_OPERATORS)
