#include "kernels/portable/conv2d_panel.h"
#include "kernels/portable/gemm.h"
#include "kernels/portable/products.h"

/* dW[o, c, r, s] = sum over (n, p, q) of dY[n, o, p, q] X[n, c, row, column]: a product per group with m = o, n = (c, r, s), k = (n, p, q). */
typedef struct conv {
  conv_shape s;
  const pt_real *x, *dy;
  pt_real* dw;
} conv;

static conv describe(const pt_call* call) {
  conv c;
  c.s = conv_shape_of(&call->inputs[0], &call->outputs[0], &call->inputs[1], call->ints);
  c.x = call->inputs[0].data;
  c.dy = call->inputs[1].data;
  c.dw = call->outputs[0].data;
  return c;
}

static const pt_real* a_of(const void* context, size_t batch) {
  const conv* c = context;
  return c->dy + batch * c->s.outputs * c->s.out_height * c->s.out_width;
}
static pt_real* c_of(const void* context, size_t batch) {
  const conv* c = context;
  return c->dw + batch * c->s.outputs * c->s.channels * c->s.kernel_h * c->s.kernel_w;
}
static void a_offsets(const void* context, size_t k0, size_t count, size_t* offsets) {
  const conv* c = context;
  const size_t positions = c->s.out_height * c->s.out_width;
  size_t sample = k0 / positions, position = k0 % positions;
  for (size_t kk = 0; kk < count; ++kk) {
    offsets[kk] = sample * c->s.groups * c->s.outputs * positions + position;
    if (++position == positions) position = 0, ++sample;
  }
}

/* Columns are weights (c, r, q), rows are output positions: each weight's inputs, run of positions after run. */
static void pack_b(const void* context, size_t batch, size_t k0, size_t count, size_t n0, size_t columns, pt_real* panel) {
  const conv* c = context;
  const conv_shape* s = &c->s;
  const size_t plane_size = s->height * s->width, out_rows = k0 / s->out_width;
  conv_run runs[PT_GEMM_KC]; /* `row` counts output rows over all samples */
  const size_t run_count = conv_runs(k0 - out_rows * s->out_width, count, s->out_width, runs);
  size_t samples[PT_GEMM_KC];
  for (size_t run = 0; run < run_count; ++run) {
    samples[run] = (out_rows + runs[run].row) / s->out_height;
    runs[run].row = (out_rows + runs[run].row) % s->out_height;
  }
  conv_tap tap = conv_tap_at(s, n0);
  for (size_t column = 0; column < columns; ++column, conv_tap_next(s, &tap)) {
    const pt_real* plane = c->x + (batch * s->channels + tap.plane) * plane_size;
    for (size_t run = 0; run < run_count; ++run) {
      const ptrdiff_t in_row = conv_input_row(s, runs[run].row, tap.r), length = (ptrdiff_t)runs[run].length;
      const pt_real* from = plane + samples[run] * s->groups * s->channels * plane_size;
      pt_real* to = panel + runs[run].at * PT_GEMM_NR + column;
      ptrdiff_t at = 0, source = conv_input_column(s, runs[run].column, tap.q);
      if (in_row >= 0 && in_row < (ptrdiff_t)s->height) {
        from += in_row * (ptrdiff_t)s->width;
        for (; at < length && source < 0; ++at, source += s->stride_w) to[at * PT_GEMM_NR] = 0;
        for (; at < length && source < (ptrdiff_t)s->width; ++at, source += s->stride_w) to[at * PT_GEMM_NR] = from[source];
      }
      for (; at < length; ++at) to[at * PT_GEMM_NR] = 0;
    }
  }
  for (size_t column = columns; column < PT_GEMM_NR; ++column)
    for (size_t kk = 0; kk < count; ++kk) panel[kk * PT_GEMM_NR + column] = 0;
}

static void reference_weights(void* arg, size_t begin, size_t end) {
  const conv* c = arg;
  const conv_shape* s = &c->s;
  const size_t taps = s->kernel_h * s->kernel_w, planes = s->groups * s->outputs;
  for (size_t index = begin; index < end; ++index) {
    const size_t tap = index % taps, channel = index / taps % s->channels, output = index / taps / s->channels;
    const size_t in_plane = output / s->outputs * s->channels + channel;
    pt_real sum = 0;
    for (size_t sample = 0; sample < s->samples; ++sample) {
      const pt_real* x = c->x + (sample * s->groups * s->channels + in_plane) * s->height * s->width;
      const pt_real* dy = c->dy + (sample * planes + output) * s->out_height * s->out_width;
      for (size_t p = 0; p < s->out_height; ++p) {
        const ptrdiff_t row = conv_input_row(s, p, tap / s->kernel_w);
        if (row < 0 || row >= (ptrdiff_t)s->height) continue;
        for (size_t q = 0; q < s->out_width; ++q) {
          const ptrdiff_t column = conv_input_column(s, q, tap % s->kernel_w);
          if (column >= 0 && column < (ptrdiff_t)s->width) sum += dy[p * s->out_width + q] * x[row * (ptrdiff_t)s->width + column];
        }
      }
    }
    c->dw[index] = sum;
  }
}

pt_status PT_NAME(pt_conv2d_dw_reference)(const pt_call* call) {
  conv c = describe(call);
  PT_NAME(pt_split)(call->pool, c.s.groups * c.s.outputs * c.s.channels * c.s.kernel_h * c.s.kernel_w, reference_weights, &c);
  return PT_OK;
}

pt_status PT_NAME(pt_conv2d_dw_blocked)(const pt_call* call) {
  const conv c = describe(call);
  const conv_shape* s = &c.s;
  if (s->outputs < 2) return PT_NAME(pt_conv2d_dw_reference)(call);
  const size_t positions = s->out_height * s->out_width, weights = s->channels * s->kernel_h * s->kernel_w;
  const pt_product product = {s->groups, s->outputs, weights, s->samples * positions, &c, a_of, positions, a_offsets, pack_b, c_of, weights, NULL, 0};
  PT_NAME(pt_product_run)(&product, call->pool);
  return PT_OK;
}
