#include "kernels/portable/conv3d_panel.h"
#include "kernels/portable/kernels.h"

/* dW[o, c, k, r, s] = sum over (n, v, p, q) of dY[n, o, v, p, q] X[n, c, depth, row, column]: a product per group with
 * m = o, n = (c, k, r, s), k = (n, v, p, q). */
static conv3d describe(const pt_call* call) {
  return conv3d_of(&call->inputs[0], &call->outputs[0], &call->inputs[1], call);
}

/* Packs the elements that one weight reads for a run of positions into a column of the panel. */
static void pack_run(const conv3d_axis* width, const conv_run* run, size_t tap, const pt_real* from, int inside,
                     pt_real* to) {
  const ptrdiff_t length = (ptrdiff_t)run->length, end = inside ? (ptrdiff_t)width->in : 0;
  ptrdiff_t at = 0, source = conv3d_input(width, run->column, tap);
  for (; at < length && source < 0; ++at, source += width->stride) to[at * PT_GEMM_NR] = 0;
  for (; at < length && source < end; ++at, source += width->stride) to[at * PT_GEMM_NR] = from[source];
  for (; at < length; ++at) to[at * PT_GEMM_NR] = 0;
}

/* Columns are weights (c, k, r, s), rows are output positions: each weight's inputs, run of positions after run. */
static void pack_b(const void* context, size_t batch, size_t k0, size_t count, size_t n0, size_t columns,
                   pt_real* panel) {
  const conv3d* c = context;
  const conv3d_shape* s = &c->s;
  const size_t rows_of_sample = s->axis[0].out * s->axis[1].out, sample_size = s->groups * s->channels * s->in_size;
  conv_run runs[PT_GEMM_KC]; /* `row` counts output rows over all samples */
  conv3d_row rows[PT_GEMM_KC];
  size_t samples[PT_GEMM_KC];
  const size_t out_rows = k0 / s->axis[2].out;
  const size_t run_count = conv_runs(k0 - out_rows * s->axis[2].out, count, s->axis[2].out, runs);
  for (size_t run = 0; run < run_count; ++run) {
    samples[run] = (out_rows + runs[run].row) / rows_of_sample;
    rows[run] = conv3d_row_at(s->axis[1].out, (out_rows + runs[run].row) % rows_of_sample);
  }
  conv3d_tap tap = conv3d_tap_at(s, n0);
  for (size_t column = 0; column < columns; ++column, conv3d_tap_next(s, &tap)) {
    const pt_real* x = c->of.x + (batch * s->channels + tap.plane) * s->in_size;
    for (size_t run = 0; run < run_count; ++run) {
      const ptrdiff_t at = conv3d_input_row(s, rows[run], &tap);
      pack_run(&s->axis[2], &runs[run], tap.at[2], x + samples[run] * sample_size + (at < 0 ? 0 : at), at >= 0,
               panel + runs[run].at * PT_GEMM_NR + column);
    }
  }
  for (size_t column = columns; column < PT_GEMM_NR; ++column)
    for (size_t kk = 0; kk < count; ++kk) panel[kk * PT_GEMM_NR + column] = 0;
}

/* Continues a weight's sum by one sample. */
static pt_real add_sample(const conv3d_shape* s, const conv3d_tap* tap, const pt_real* x, const pt_real* dy,
                          pt_real sum) {
  ptrdiff_t column;
  const conv_range inside = conv3d_columns(s, tap, &column);
  for (size_t index = 0; index < s->axis[0].out * s->axis[1].out; ++index, dy += s->axis[2].out) {
    const ptrdiff_t row = conv3d_input_row(s, conv3d_row_at(s->axis[1].out, index), tap);
    if (row < 0) continue;
    for (size_t q = inside.begin; q < inside.begin + inside.count; ++q)
      sum += dy[q] * x[row + column + (ptrdiff_t)q * s->axis[2].stride];
  }
  return sum;
}

static void reference_weights(void* arg, size_t begin, size_t end) {
  const conv3d* c = arg;
  const conv3d_shape* s = &c->s;
  const size_t planes = s->groups * s->outputs, weights = s->channels * s->taps;
  for (size_t index = begin; index < end; ++index) {
    const size_t output = index / weights, group = output / s->outputs;
    const conv3d_tap tap = conv3d_tap_at(s, index % weights);
    pt_real sum = (c->of.terms & PT_GOES_ON) != 0 ? c->of.w[index] : 0;
    for (size_t sample = 0; sample < s->samples; ++sample) {
      const size_t in_plane = (sample * s->groups + group) * s->channels + tap.plane;
      sum =
          add_sample(s, &tap, c->of.x + in_plane * s->in_size, c->of.y + (sample * planes + output) * s->out_size, sum);
    }
    c->of.w[index] = sum;
  }
}

pt_status PT_NAME(pt_conv3d_dw_reference)(const pt_call* call) {
  conv3d c = describe(call);
  PT_NAME(pt_split)(call->pool, c.s.groups * c.s.outputs * c.s.channels * c.s.taps, reference_weights, &c);
  return PT_OK;
}

pt_status PT_NAME(pt_conv3d_dw_blocked)(const pt_call* call) {
  const conv3d c = describe(call);
  const pt_product product = conv_dw_product(&c.of, pack_b);
  if (c.s.outputs < 2) return PT_NAME(pt_conv3d_dw_reference)(call);
  PT_NAME(pt_product_run)(&product, call->pool);
  return PT_OK;
}
