#include <string.h>

#include "kernels/portable/conv3d_panel.h"
#include "kernels/portable/kernels.h"

/* Y[n, o, v, p, q] = sum over (c, k, r, s) of W[o, c, k, r, s] X[n, c, depth, row, column]: a product per sample and
 * group with m = o, n = (v, p, q), k = (c, k, r, s). */
static conv3d describe(const pt_call* call) {
  conv3d c = conv3d_of(&call->inputs[0], &call->inputs[1], &call->outputs[0], call);
  if (call->input_count > 2) c.of.bias = call->inputs[2].data;
  return c;
}

static void pack_run(const conv3d_shape* s, const conv3d_tap* tap, const conv_run* run, conv3d_row out,
                     const pt_real* channel, pt_real* to) {
  const ptrdiff_t at = conv3d_input_row(s, out, tap), first = conv3d_input(&s->axis[2], run->column, tap->at[2]);
  conv_copy_run(to, (ptrdiff_t)run->length, 0, 1, channel + (at < 0 ? 0 : at), first, s->axis[2].stride,
                at < 0 ? 0 : (ptrdiff_t)s->axis[2].in);
}
static void pack_b(const void* context, size_t batch, size_t k0, size_t count, size_t n0, size_t columns,
                   pt_real* panel) {
  const conv3d* c = context;
  const conv3d_shape* s = &c->s;
  conv3d_panel(s, conv_x(c, batch), s->in_size, s->axis[1].out, s->axis[2].out, k0, count, n0, columns, pack_run,
               panel);
}

/* Computes one row of Y at a time, one kernel element after the other. */
static void reference_rows(void* arg, size_t begin, size_t end) {
  const conv3d* c = arg;
  const conv3d_shape* s = &c->s;
  const size_t width = s->axis[2].out, rows = s->axis[0].out * s->axis[1].out;
  for (size_t index = begin; index < end; ++index) {
    const size_t output = index / rows % (s->groups * s->outputs), batch = index / rows / s->outputs;
    const conv3d_row out = conv3d_row_at(s->axis[1].out, index % rows);
    const pt_real *w = c->of.w + output * s->channels * s->taps, *x = conv_x(c, batch),
                  *bias = (c->of.terms & PT_UNFINISHED) != 0 ? NULL : c->of.bias;
    pt_real* y = c->of.y + index * width;
    conv3d_tap tap = conv3d_tap_at(s, 0);
    if ((c->of.terms & PT_GOES_ON) == 0) memset(y, 0, width * sizeof(pt_real));
    for (size_t k = 0; k < s->channels * s->taps; ++k, conv3d_tap_next(s, &tap)) {
      ptrdiff_t column;
      const ptrdiff_t row = conv3d_input_row(s, out, &tap);
      const conv_range inside = conv3d_columns(s, &tap, &column);
      if (row < 0) continue;
      const pt_real* from = x + tap.plane * s->in_size + row;
      for (size_t q = inside.begin; q < inside.begin + inside.count; ++q)
        y[q] += w[k] * from[column + (ptrdiff_t)q * s->axis[2].stride];
    }
    for (size_t q = 0; bias != NULL && q < width; ++q) y[q] += bias[output];
  }
}

pt_status PT_NAME(pt_conv3d_reference)(const pt_call* call) {
  conv3d c = describe(call);
  const conv3d_shape* s = &c.s;
  const size_t rows = s->axis[0].out * s->axis[1].out;
  PT_NAME(pt_split)(call->pool, s->samples * s->groups * s->outputs * rows, reference_rows, &c);
  return PT_OK;
}

/* Groups of one output each have no rows to share a panel. */
pt_status PT_NAME(pt_conv3d_blocked)(const pt_call* call) {
  const conv3d c = describe(call);
  const pt_product product = conv_product(&c.of, pack_b, NULL);
  if (c.s.outputs < 2) return PT_NAME(pt_conv3d_reference)(call);
  PT_NAME(pt_product_run)(&product, call->pool);
  return PT_OK;
}
