/* The rows of recurrent cells for one instruction set, included by recurrent.c for each.
 *   PT_CELL(name)    the name for this set
 *   PT_CELL_TARGET   its target attribute, or nothing
 * Every element of an output is written after all that it depends on was read at the same place, so that outputs may
 * lie over inputs of their shape. */
PT_CELL_TARGET static void PT_CELL(lstm_rows)(void* arg, size_t begin, size_t end) {
  const cell* cells = arg;
  const size_t width = cells->width;
  const size_t to_i = cells->begin[0], to_o = cells->begin[1], to_f = cells->begin[2], to_c = cells->begin[3];
  for (size_t row = begin; row < end; ++row) {
    const pt_real *z = cells->in[0] + row * 4 * width, *p = cells->in[1] + row * 4 * width;
    const pt_real* c = cells->in[2] + row * width;
    pt_real *h_out = cells->out[0] + row * width, *c_out = cells->out[1] + row * width;
    pt_real* gates = cells->out[2] + row * 4 * width;
    PT_IVDEP for (size_t at = 0; at < width; ++at) {
      const pt_real i = pt_gate_sigmoid(z[at + to_i] + p[at + to_i]);
      const pt_real o = pt_gate_sigmoid(z[at + to_o] + p[at + to_o]);
      const pt_real f = pt_gate_sigmoid(z[at + to_f] + p[at + to_f]);
      const pt_real g = pt_gate_tanh(z[at + to_c] + p[at + to_c]);
      const pt_real next = f * c[at] + i * g;
      gates[at + to_i] = i;
      gates[at + to_o] = o;
      gates[at + to_f] = f;
      gates[at + to_c] = g;
      c_out[at] = next;
      h_out[at] = o * pt_gate_tanh(next);
    }
  }
}

/* One row; without a gradient of the next cell state, `dnext` is NULL. */
PT_CELL_TARGET static inline void PT_CELL(lstm_grad_row)(const cell* cells, const pt_real* dh, const pt_real* gates,
                                                         const pt_real* c, const pt_real* next, const pt_real* dnext,
                                                         pt_real* dz, pt_real* dc, int adds) {
  const size_t width = cells->width;
  const size_t to_i = cells->begin[0], to_o = cells->begin[1], to_f = cells->begin[2], to_c = cells->begin[3];
  PT_IVDEP for (size_t at = 0; at < width; ++at) {
    const pt_real i = gates[at + to_i], o = gates[at + to_o], f = gates[at + to_f], g = gates[at + to_c];
    const pt_real t = pt_gate_tanh(next[at]), out = dh[at], before = c[at];
    const pt_real through = out * o * (1 - t * t), d = adds ? through + dnext[at] : through;
    dz[at + to_i] = d * g * (i * (1 - i));
    dz[at + to_o] = out * t * (o * (1 - o));
    dz[at + to_f] = d * before * (f * (1 - f));
    dz[at + to_c] = d * i * (1 - g * g);
    dc[at] = d * f;
  }
}

PT_CELL_TARGET static void PT_CELL(lstm_grad_rows)(void* arg, size_t begin, size_t end) {
  const cell* cells = arg;
  const size_t width = cells->width;
  for (size_t row = begin; row < end; ++row) {
    const pt_real *dh = cells->in[0] + row * width, *gates = cells->in[1] + row * 4 * width;
    const pt_real *c = cells->in[2] + row * width, *next = cells->in[3] + row * width;
    pt_real *dz = cells->out[0] + row * 4 * width, *dc = cells->out[1] + row * width;
    if (cells->in[4] != NULL)
      PT_CELL(lstm_grad_row)(cells, dh, gates, c, next, cells->in[4] + row * width, dz, dc, 1);
    else
      PT_CELL(lstm_grad_row)(cells, dh, gates, c, next, NULL, dz, dc, 0);
  }
}

PT_CELL_TARGET static void PT_CELL(gru_rows)(void* arg, size_t begin, size_t end) {
  const cell* cells = arg;
  const size_t width = cells->width;
  const size_t to_z = cells->begin[0], to_r = cells->begin[1], to_h = cells->begin[2];
  for (size_t row = begin; row < end; ++row) {
    const pt_real *z = cells->in[0] + row * 3 * width, *p = cells->in[1] + row * 3 * width;
    const pt_real* h = cells->in[2] + row * width;
    pt_real *h_out = cells->out[0] + row * width, *gates = cells->out[1] + row * 3 * width;
    pt_real* kept = cells->out[2] + row * width;
    PT_IVDEP for (size_t at = 0; at < width; ++at) {
      const pt_real update = pt_gate_sigmoid(z[at + to_z] + p[at + to_z]);
      const pt_real reset = pt_gate_sigmoid(z[at + to_r] + p[at + to_r]);
      const pt_real inner = p[at + to_h], n = pt_gate_tanh(z[at + to_h] + reset * inner);
      const pt_real before = h[at];
      gates[at + to_z] = update;
      gates[at + to_r] = reset;
      gates[at + to_h] = n;
      kept[at] = inner;
      h_out[at] = n + update * (before - n);
    }
  }
}

PT_CELL_TARGET static void PT_CELL(gru_grad_rows)(void* arg, size_t begin, size_t end) {
  const cell* cells = arg;
  const size_t width = cells->width;
  const size_t to_z = cells->begin[0], to_r = cells->begin[1], to_h = cells->begin[2];
  for (size_t row = begin; row < end; ++row) {
    const pt_real *dout = cells->in[0] + row * width, *gates = cells->in[1] + row * 3 * width;
    const pt_real *kept = cells->in[2] + row * width, *h = cells->in[3] + row * width;
    pt_real *dz = cells->out[0] + row * 3 * width, *dp = cells->out[1] + row * 3 * width;
    pt_real* dh = cells->out[2] + row * width;
    PT_IVDEP for (size_t at = 0; at < width; ++at) {
      const pt_real update = gates[at + to_z], reset = gates[at + to_r], n = gates[at + to_h];
      const pt_real d = dout[at], inner = kept[at], before = h[at];
      const pt_real dn = d * (1 - update) * (1 - n * n);
      const pt_real dupdate = d * (before - n) * (update * (1 - update));
      const pt_real dreset = dn * inner * (reset * (1 - reset));
      dz[at + to_z] = dupdate;
      dz[at + to_r] = dreset;
      dz[at + to_h] = dn;
      dp[at + to_z] = dupdate;
      dp[at + to_r] = dreset;
      dp[at + to_h] = dn * reset;
      dh[at] = d * update;
    }
  }
}

static const cell_rows PT_CELL(rows) = {PT_CELL(lstm_rows), PT_CELL(lstm_grad_rows), PT_CELL(gru_rows),
                                        PT_CELL(gru_grad_rows)};
#undef PT_CELL
#undef PT_CELL_TARGET
