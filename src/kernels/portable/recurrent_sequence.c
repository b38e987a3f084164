/* Many time steps of an LSTM or a GRU: a product with the state and a cell for each, row by row of the batch. */
#include <string.h>

#include "kernels/portable/recurrent.h"

enum { kPerElement = 8 }; /* multiplications that take as long as touching an element */

typedef struct sequence {
  const pt_call* call;
  const pt_step_product* product;
  const pt_cell_rows* cells;
  pt_step_weight weight;
  size_t steps, batch, width, gates;
  int reverse;
  pt_real* scratch;
} sequence;

static size_t r_input(pt_sequence_kind kind) {
  switch (kind) {
    case PT_LSTM_BACKWARD:
      return 3;
    case PT_GRU_BACKWARD:
      return 4;
    default:
      return 1;
  }
}

pt_step_weight PT_NAME(pt_sequence_weight)(const pt_call* call, pt_sequence_kind kind) {
  const pt_tensor* r = &call->inputs[r_input(kind)];
  const int forward = kind == PT_LSTM_FORWARD || kind == PT_GRU_FORWARD;
  pt_step_weight weight = {call, r, forward, r->dims[!!forward], r->dims[!forward], call->inputs[0].dims[1], NULL};
  if (call->workspace != NULL) weight.prepared = (pt_real*)call->workspace + PT_NAME(pt_sequence_scratch)(call, kind);
  return weight;
}

size_t PT_NAME(pt_sequence_scratch)(const pt_call* call, pt_sequence_kind kind) {
  const pt_tensor* r = &call->inputs[r_input(kind)];
  const size_t batch = call->inputs[0].dims[1];
  switch (kind) {
    case PT_LSTM_BACKWARD:
      return 0; /* products go to dH0 */
    case PT_GRU_BACKWARD:
      return batch * r->dims[1];
    default:
      return batch * r->dims[0];
  }
}

/* The time index of a step that is counted in forward order. */
static size_t time_of(const sequence* s, size_t count) {
  return s->reverse ? s->steps - 1 - count : count;
}

static pt_real* input_at(const sequence* s, size_t input, size_t time) {
  const pt_tensor* whole = &s->call->inputs[input];
  return (pt_real*)whole->data + time * pt_extent(whole, 1, 3);
}

static pt_real* output_at(const sequence* s, size_t output, size_t time) {
  const pt_tensor* whole = &s->call->outputs[output];
  return (pt_real*)whole->data + time * pt_extent(whole, 1, 3);
}

static pt_cell cell_of(const sequence* s) {
  pt_cell cell = {s->width, {0}, {NULL}, {NULL}};
  for (size_t gate = 0; gate < s->gates; ++gate) cell.begin[gate] = (size_t)s->call->ints[gate] * s->width;
  return cell;
}

static void copy_rows(const sequence* s, pt_real* to, const pt_real* from, size_t begin, size_t end) {
  if (to != from) memcpy(to + begin * s->width, from + begin * s->width, (end - begin) * s->width * sizeof(pt_real));
}

static void add_rows(const sequence* s, pt_real* to, const pt_real* from, size_t begin, size_t end) {
  for (size_t at = begin * s->width; at < end * s->width; ++at) to[at] += from[at];
}

/* The product P of a step, in the scratch. */
static void multiply_state(const sequence* s, const pt_real* h, size_t begin, size_t end) {
  s->product->multiply(&s->weight, h + begin * s->weight.k, s->scratch + begin * s->weight.n, end - begin);
}

static void lstm_forward(void* arg, size_t begin, size_t end) {
  const sequence* s = arg;
  pt_cell cell = cell_of(s);
  const pt_real *h = s->call->inputs[2].data, *c = s->call->inputs[3].data;
  for (size_t count = 0; count < s->steps; ++count) {
    const size_t time = time_of(s, count);
    multiply_state(s, h, begin, end);
    cell.in[0] = input_at(s, 0, time), cell.in[1] = s->scratch, cell.in[2] = c;
    for (size_t output = 0; output < 3; ++output) cell.out[output] = output_at(s, output, time);
    s->cells->lstm(&cell, begin, end);
    h = cell.out[0], c = cell.out[1];
  }
  copy_rows(s, s->call->outputs[3].data, h, begin, end);
  copy_rows(s, s->call->outputs[4].data, c, begin, end);
}

static void lstm_backward(void* arg, size_t begin, size_t end) {
  const sequence* s = arg;
  pt_cell cell = cell_of(s);
  pt_real *dh = s->call->outputs[1].data, *dc = s->call->outputs[2].data;
  copy_rows(s, dh, s->call->inputs[4].data, begin, end);
  copy_rows(s, dc, s->call->inputs[5].data, begin, end);
  cell.in[0] = dh, cell.in[4] = dc, cell.out[1] = dc;
  for (size_t count = s->steps; count-- > 0;) {
    const size_t time = time_of(s, count);
    if (s->call->input_count > 6) add_rows(s, dh, input_at(s, 6, time), begin, end);
    cell.in[1] = input_at(s, 0, time), cell.in[3] = input_at(s, 1, time);
    cell.in[2] = count == 0 ? s->call->inputs[2].data : input_at(s, 1, time_of(s, count - 1));
    cell.out[0] = output_at(s, 0, time);
    s->cells->lstm_grad(&cell, begin, end);
    s->product->multiply(&s->weight, cell.out[0] + begin * s->weight.k, dh + begin * s->width, end - begin);
  }
}

static void gru_forward(void* arg, size_t begin, size_t end) {
  const sequence* s = arg;
  pt_cell cell = cell_of(s);
  const pt_real *h = s->call->inputs[2].data, *bias = s->call->input_count > 3 ? s->call->inputs[3].data : NULL;
  for (size_t count = 0; count < s->steps; ++count) {
    const size_t time = time_of(s, count), columns = s->weight.n;
    multiply_state(s, h, begin, end);
    for (size_t row = begin; bias != NULL && row < end; ++row)
      for (size_t column = 0; column < columns; ++column) s->scratch[row * columns + column] += bias[column];
    cell.in[0] = input_at(s, 0, time), cell.in[1] = s->scratch, cell.in[2] = h;
    for (size_t output = 0; output < 3; ++output) cell.out[output] = output_at(s, output, time);
    s->cells->gru(&cell, begin, end);
    h = cell.out[0];
  }
  copy_rows(s, s->call->outputs[3].data, h, begin, end);
}

/* The gradient of a state: that of the outputs, plus the parts that flow past the product and through it. */
static void gru_backward(void* arg, size_t begin, size_t end) {
  const sequence* s = arg;
  pt_cell cell = cell_of(s);
  const int has_dy = s->call->input_count > 6;
  pt_real* dh = s->call->outputs[2].data;
  copy_rows(s, dh, s->call->inputs[5].data, begin, end);
  if (has_dy) add_rows(s, dh, input_at(s, 6, time_of(s, s->steps - 1)), begin, end);
  cell.in[0] = dh, cell.out[2] = dh;
  for (size_t count = s->steps; count-- > 0;) {
    const size_t time = time_of(s, count);
    cell.in[1] = input_at(s, 0, time), cell.in[2] = input_at(s, 1, time);
    cell.in[3] = count == 0 ? s->call->inputs[3].data : input_at(s, 2, time_of(s, count - 1));
    cell.out[0] = output_at(s, 0, time), cell.out[1] = output_at(s, 1, time);
    s->cells->gru_grad(&cell, begin, end);
    if (has_dy && count > 0) add_rows(s, dh, input_at(s, 6, time_of(s, count - 1)), begin, end);
    multiply_state(s, cell.out[1], begin, end);
    add_rows(s, dh, s->scratch, begin, end);
  }
}

pt_status PT_NAME(pt_sequence_run)(const pt_call* call, pt_sequence_kind kind, const pt_step_product* product) {
  static const pt_body bodies[] = {lstm_forward, lstm_backward, gru_forward, gru_backward};
  const pt_tensor* first = &call->inputs[0];
  const size_t gates = kind == PT_LSTM_FORWARD || kind == PT_LSTM_BACKWARD ? 4 : 3;
  const sequence s = {call,
                      product,
                      PT_NAME(pt_cell_rows_here)(),
                      PT_NAME(pt_sequence_weight)(call, kind),
                      first->dims[0],
                      first->dims[1],
                      first->dims[2] / gates,
                      gates,
                      call->ints[gates] != 0,
                      call->workspace};
  product->prepare(&s.weight);
  const size_t multiplications = s.steps * s.batch * s.weight.n * s.weight.k;
  return PT_NAME(pt_parallel)(call, s.batch, multiplications / kPerElement, bodies[kind], (void*)&s);
}
