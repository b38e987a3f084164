#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/pt_gates.h"

/* One time step of an LSTM or a GRU, row by row of the batch. Every element of an output is written after all that it
 * depends on was read at the same place, so that outputs may lie over inputs of their shape. */
typedef struct cell {
  size_t width; /* of the state */
  const pt_real* in[5];
  pt_real* out[3];
} cell;

#if defined(__GNUC__) && !defined(__clang__)
#define PT_IVDEP _Pragma("GCC ivdep")
#else
#define PT_IVDEP
#endif

static pt_status run(const pt_call* call, const pt_tensor* state, pt_body rows, size_t weight) {
  cell c = {state->dims[1], {NULL}, {NULL}};
  for (size_t input = 0; input < call->input_count; ++input) c.in[input] = call->inputs[input].data;
  for (size_t output = 0; output < call->output_count; ++output) c.out[output] = call->outputs[output].data;
  PT_NAME(pt_parallel)(call, state->dims[0], pt_elements(state) * weight, rows, &c);
  return PT_OK;
}

static void lstm_rows(void* arg, size_t begin, size_t end) {
  const cell* cells = arg;
  const size_t width = cells->width;
  for (size_t row = begin; row < end; ++row) {
    const pt_real *z = cells->in[0] + row * 4 * width, *p = cells->in[1] + row * 4 * width;
    const pt_real* c = cells->in[2] + row * width;
    pt_real *h_out = cells->out[0] + row * width, *c_out = cells->out[1] + row * width;
    pt_real* gates = cells->out[2] + row * 4 * width;
    PT_IVDEP for (size_t at = 0; at < width; ++at) {
      const pt_real i = pt_gate_sigmoid(z[at] + p[at]);
      const pt_real o = pt_gate_sigmoid(z[at + width] + p[at + width]);
      const pt_real f = pt_gate_sigmoid(z[at + 2 * width] + p[at + 2 * width]);
      const pt_real g = pt_gate_tanh(z[at + 3 * width] + p[at + 3 * width]);
      const pt_real next = f * c[at] + i * g;
      gates[at] = i;
      gates[at + width] = o;
      gates[at + 2 * width] = f;
      gates[at + 3 * width] = g;
      c_out[at] = next;
      h_out[at] = o * pt_gate_tanh(next);
    }
  }
}

pt_status PT_NAME(pt_lstm_cell)(const pt_call* call) {
  return run(call, &call->inputs[2], lstm_rows, 32);
}

static void lstm_grad_rows(void* arg, size_t begin, size_t end) {
  const cell* cells = arg;
  const size_t width = cells->width;
  for (size_t row = begin; row < end; ++row) {
    const pt_real *dh = cells->in[0] + row * width, *gates = cells->in[1] + row * 4 * width;
    const pt_real *c = cells->in[2] + row * width, *next = cells->in[3] + row * width;
    const pt_real* dnext = cells->in[4] != NULL ? cells->in[4] + row * width : NULL;
    pt_real *dz = cells->out[0] + row * 4 * width, *dc = cells->out[1] + row * width;
    PT_IVDEP for (size_t at = 0; at < width; ++at) {
      const pt_real i = gates[at], o = gates[at + width], f = gates[at + 2 * width], g = gates[at + 3 * width];
      const pt_real t = pt_gate_tanh(next[at]), out = dh[at], before = c[at];
      const pt_real through = out * o * (1 - t * t), d = dnext != NULL ? through + dnext[at] : through;
      dz[at] = d * g * (i * (1 - i));
      dz[at + width] = out * t * (o * (1 - o));
      dz[at + 2 * width] = d * before * (f * (1 - f));
      dz[at + 3 * width] = d * i * (1 - g * g);
      dc[at] = d * f;
    }
  }
}

pt_status PT_NAME(pt_lstm_cell_grad)(const pt_call* call) {
  return run(call, &call->inputs[0], lstm_grad_rows, 12);
}

static void gru_rows(void* arg, size_t begin, size_t end) {
  const cell* cells = arg;
  const size_t width = cells->width;
  for (size_t row = begin; row < end; ++row) {
    const pt_real *z = cells->in[0] + row * 3 * width, *p = cells->in[1] + row * 3 * width;
    const pt_real* h = cells->in[2] + row * width;
    pt_real *h_out = cells->out[0] + row * width, *gates = cells->out[1] + row * 3 * width;
    pt_real* kept = cells->out[2] + row * width;
    PT_IVDEP for (size_t at = 0; at < width; ++at) {
      const pt_real update = pt_gate_sigmoid(z[at] + p[at]);
      const pt_real reset = pt_gate_sigmoid(z[at + width] + p[at + width]);
      const pt_real inner = p[at + 2 * width], n = pt_gate_tanh(z[at + 2 * width] + reset * inner);
      const pt_real before = h[at];
      gates[at] = update;
      gates[at + width] = reset;
      gates[at + 2 * width] = n;
      kept[at] = inner;
      h_out[at] = n + update * (before - n);
    }
  }
}

pt_status PT_NAME(pt_gru_cell)(const pt_call* call) {
  return run(call, &call->inputs[2], gru_rows, 20);
}

static void gru_grad_rows(void* arg, size_t begin, size_t end) {
  const cell* cells = arg;
  const size_t width = cells->width;
  for (size_t row = begin; row < end; ++row) {
    const pt_real *dout = cells->in[0] + row * width, *gates = cells->in[1] + row * 3 * width;
    const pt_real *kept = cells->in[2] + row * width, *h = cells->in[3] + row * width;
    pt_real *dz = cells->out[0] + row * 3 * width, *dp = cells->out[1] + row * 3 * width;
    pt_real* dh = cells->out[2] + row * width;
    PT_IVDEP for (size_t at = 0; at < width; ++at) {
      const pt_real update = gates[at], reset = gates[at + width], n = gates[at + 2 * width];
      const pt_real d = dout[at], inner = kept[at], before = h[at];
      const pt_real dn = d * (1 - update) * (1 - n * n);
      const pt_real dupdate = d * (before - n) * (update * (1 - update));
      const pt_real dreset = dn * inner * (reset * (1 - reset));
      dz[at] = dupdate;
      dz[at + width] = dreset;
      dz[at + 2 * width] = dn;
      dp[at] = dupdate;
      dp[at + width] = dreset;
      dp[at + 2 * width] = dn * reset;
      dh[at] = d * update;
    }
  }
}

pt_status PT_NAME(pt_gru_cell_grad)(const pt_call* call) {
  return run(call, &call->inputs[0], gru_grad_rows, 10);
}
