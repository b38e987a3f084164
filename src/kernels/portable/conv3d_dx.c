#include <string.h>

#include "kernels/portable/conv2d.h"
#include "kernels/portable/conv3d_panel.h"
#include "kernels/portable/kernels.h"

/* dX[n, c, depth, row, column] = sum over (o, k, r, s) of W[o, c, k, r, s] dY[n, o, v, p, q]: m = c, n = (depth, row,
 * column), k = (o, k, r, s). */
static conv3d describe(const pt_call* call) {
  return conv3d_of(&call->outputs[0], &call->inputs[1], &call->inputs[0], call);
}

/* With stride t, the input columns that a kernel column connects to outputs lie t apart: a run skips to the first. */
static void pack_run(const conv3d_shape* s, const conv3d_tap* tap, const conv_run* run, conv3d_row in,
                     const pt_real* channel, pt_real* to) {
  const conv3d_axis* width = &s->axis[2];
  const ptrdiff_t at = conv3d_output_row(s, in, tap);
  const ptrdiff_t column = (ptrdiff_t)run->column + width->before - (ptrdiff_t)tap->at[2] * width->dilation;
  const ptrdiff_t skip = width->stride == 1 ? 0 : ((-column) % width->stride + width->stride) % width->stride;
  const ptrdiff_t first = width->stride == 1 ? column : (column + skip) / width->stride;
  conv_copy_run(to, (ptrdiff_t)run->length, skip, width->stride, channel + (at < 0 ? 0 : at), first, 1,
                at < 0 ? 0 : (ptrdiff_t)width->out);
}
static void pack_b(const void* context, size_t batch, size_t k0, size_t count, size_t n0, size_t columns,
                   pt_real* panel) {
  const conv3d* c = context;
  const conv3d_shape* s = &c->s;
  conv3d_panel(s, conv_y(c, batch), s->out_size, s->axis[1].in, s->axis[2].in, k0, count, n0, columns, pack_run, panel);
}

typedef struct plain {
  conv3d c;
  const pt_finish* finish; /* NULL: elements go to dX */
} plain;

/* Computes one row of dX at a time, one kernel element after the other. */
static void plain_rows(void* arg, size_t share, size_t begin, size_t end) {
  const conv3d* c = arg;
  const pt_finish* finish = ((const plain*)arg)->finish;
  const conv3d_shape* s = &c->s;
  const size_t width = s->axis[2].in, rows = s->axis[0].in * s->axis[1].in;
  for (size_t index = begin; index < end; ++index) {
    const size_t channel = index / rows % s->channels, batch = index / rows / s->channels;
    const conv3d_row in = conv3d_row_at(s->axis[1].in, index % rows);
    const pt_real* w = conv_w(c, batch) + channel * s->taps;
    const pt_real* dy = conv_y(c, batch);
    pt_real* dx = finish != NULL ? finish->scratch + share * width : c->of.x + index * width;
    conv3d_tap tap = conv3d_tap_at(s, 0);
    if ((c->of.terms & PT_GOES_ON) == 0) memset(dx, 0, width * sizeof(pt_real));
    for (size_t k = 0; k < s->outputs * s->taps; ++k, conv3d_tap_next(s, &tap)) {
      ptrdiff_t column;
      const ptrdiff_t row = conv3d_output_row(s, in, &tap);
      const conv_range inside = conv3d_columns(s, &tap, &column);
      if (row < 0) continue;
      const pt_real weight = w[tap.plane * s->channels * s->taps + k % s->taps];
      const pt_real* from = dy + tap.plane * s->out_size + row;
      for (size_t q = inside.begin; q < inside.begin + inside.count; ++q)
        dx[column + (ptrdiff_t)q * s->axis[2].stride] += weight * from[q];
    }
    if (finish != NULL) finish->take(finish->context, batch, channel, index % rows * width, width, dx);
  }
}

void PT_NAME(pt_conv_dx_plain)(const pt_call* call, const pt_finish* finish) {
  plain p = {describe(call), finish};
  const conv3d_shape* s = &p.c.s;
  const size_t rows = s->axis[0].in * s->axis[1].in;
  PT_NAME(pt_split_shares)(call->pool, s->samples * s->groups * s->channels * rows, plain_rows, &p);
}
pt_status PT_NAME(pt_conv3d_dx_reference)(const pt_call* call) {
  PT_NAME(pt_conv_dx_plain)(call, NULL);
  return PT_OK;
}

pt_status PT_NAME(pt_conv3d_dx_blocked)(const pt_call* call) {
  const conv3d c = describe(call);
  const pt_product product = conv_dx_product(&c.of, pack_b, NULL);
  if (c.s.channels < 2) return PT_NAME(pt_conv3d_dx_reference)(call);
  PT_NAME(pt_product_run)(&product, call->pool);
  return PT_OK;
}
