#include "kernels/portable/recurrent.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/pt_gates.h"

typedef pt_cell cell;
typedef pt_cell_rows cell_rows;

#define PT_CELL(name) plain_##name
#define PT_CELL_TARGET
#include "kernels/portable/recurrent_cell.h"

#ifdef PT_HAS_AVX
#define PT_CELL(name) avx2_##name
#define PT_CELL_TARGET PT_AVX2
#include "kernels/portable/recurrent_cell.h"

#define PT_CELL(name) avx512_##name
#define PT_CELL_TARGET PT_AVX512
#include "kernels/portable/recurrent_cell.h"
#endif

const pt_cell_rows* PT_NAME(pt_cell_rows_here)(void) {
#ifdef PT_HAS_AVX
  if (__builtin_cpu_supports("avx512f")) return &avx512_rows;
  if (__builtin_cpu_supports("avx2")) return &avx2_rows;
#endif
  return &plain_rows;
}

static pt_status run(const pt_call* call, const pt_tensor* state, pt_body rows, size_t weight) {
  cell c = {state->dims[1], {0}, {NULL}, {NULL}};
  for (size_t gate = 0; gate < call->int_count; ++gate) c.begin[gate] = (size_t)call->ints[gate] * c.width;
  for (size_t input = 0; input < call->input_count; ++input) c.in[input] = call->inputs[input].data;
  for (size_t output = 0; output < call->output_count; ++output) c.out[output] = call->outputs[output].data;
  return PT_NAME(pt_parallel)(call, state->dims[0], pt_elements(state) * weight, rows, &c);
}

pt_status PT_NAME(pt_lstm_cell)(const pt_call* call) {
  return run(call, &call->inputs[2], PT_NAME(pt_cell_rows_here)()->lstm, 32);
}

pt_status PT_NAME(pt_lstm_cell_grad)(const pt_call* call) {
  return run(call, &call->inputs[0], PT_NAME(pt_cell_rows_here)()->lstm_grad, 12);
}

pt_status PT_NAME(pt_gru_cell)(const pt_call* call) {
  return run(call, &call->inputs[2], PT_NAME(pt_cell_rows_here)()->gru, 20);
}

pt_status PT_NAME(pt_gru_cell_grad)(const pt_call* call) {
  return run(call, &call->inputs[0], PT_NAME(pt_cell_rows_here)()->gru_grad, 10);
}
