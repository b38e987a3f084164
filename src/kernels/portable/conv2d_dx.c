#include "kernels/portable/conv2d.h"
#include "kernels/portable/conv2d_dx_strided.h"
#include "kernels/portable/conv2d_panel.h"
#include "kernels/portable/conv2d_shifted.h"
#include "kernels/portable/kernels.h"

/* dX[n, c, row, column] = sum over (o, r, s) of W[o, c, r, s] dY[n, o, p, q]: m = c, n = (row, column), k = (o, r, s).
 */
static conv2d describe(const pt_call* call) {
  return conv2d_of(&call->outputs[0], &call->inputs[1], &call->inputs[0], call);
}

/* With stride t, the input columns that a kernel column connects to outputs lie t apart; the first of a run, and its
 * output. */
static void pack_b(const void* context, size_t batch, size_t k0, size_t count, size_t n0, size_t columns,
                   pt_real* panel) {
  const conv2d* c = context;
  const conv_shape* s = &c->s;
  const pt_real* dy = conv_y(c, batch);
  conv_run runs[PT_GEMM_NR];
  const size_t run_count = conv_runs(n0, columns, s->width, runs);
  conv_tap tap = conv_tap_at(s, k0);
  for (size_t kk = 0; kk < count; ++kk, conv_tap_next(s, &tap)) {
    const pt_real* plane = dy + tap.plane * s->out_height * s->out_width;
    pt_real* row = panel + kk * PT_GEMM_NR;
    for (size_t run = 0; run < run_count; ++run) {
      const ptrdiff_t out_row = conv_output_row(s, runs[run].row, tap.r);
      const ptrdiff_t column = (ptrdiff_t)runs[run].column + s->pad_left - (ptrdiff_t)tap.q * s->dilation_w;
      const ptrdiff_t skip = s->stride_w == 1 ? 0 : ((-column) % s->stride_w + s->stride_w) % s->stride_w;
      const ptrdiff_t first = s->stride_w == 1 ? column : (column + skip) / s->stride_w;
      conv_copy_run(row + runs[run].at, (ptrdiff_t)runs[run].length, skip, s->stride_w,
                    plane + (out_row < 0 ? 0 : (size_t)out_row * s->out_width), first, 1,
                    out_row < 0 ? 0 : (ptrdiff_t)s->out_width);
    }
    for (size_t at = columns; at < PT_GEMM_NR; ++at) row[at] = 0;
  }
}

void PT_NAME(pt_conv2d_dx_fast)(const pt_call* call, const pt_finish* finish) {
  const conv2d c = describe(call);
  const pt_shifted shifted = conv2d_dx_shifted(call, finish);
  const pt_product product = conv_dx_product(&c.of, pack_b, finish);
  if (conv2d_is_shifted(call, &shifted, &product))
    PT_NAME(pt_shifted_run)(&shifted, call->pool);
  else if (c.of.channels < 2)
    PT_NAME(pt_conv_dx_plain)(call, finish);
  else if (!conv2d_is_dense(call) && finish == NULL && call->terms == PT_ALL_TERMS)
    PT_NAME(pt_conv2d_dx_strided)(call);
  else
    PT_NAME(pt_product_run)(&product, call->pool);
}

size_t PT_NAME(pt_conv2d_dx_scratch)(const pt_call* call) {
  pt_real somewhere;
  const pt_finish finish = {NULL, NULL, &somewhere}; /* has some */
  const conv2d c = describe(call);
  const pt_shifted shifted = conv2d_dx_shifted(call, &finish);
  const pt_product product = conv_dx_product(&c.of, pack_b, &finish);
  const size_t rows = c.of.samples * c.of.groups * c.of.channels * c.s.height;
  const size_t plain = pt_shares(call->pool, rows) * c.s.width,
               fast = conv2d_is_shifted(call, &shifted, &product) ? PT_NAME(pt_shifted_scratch)(&shifted, call->pool)
                                                                  : PT_NAME(pt_product_scratch)(&product, call->pool);
  return plain > fast ? plain : fast;
}

pt_status PT_NAME(pt_conv2d_dx_blocked)(const pt_call* call) {
  PT_NAME(pt_conv2d_dx_fast)(call, NULL);
  return PT_OK;
}
pt_status PT_NAME(pt_conv2d_dx_reference)(const pt_call* call) {
  PT_NAME(pt_conv_dx_plain)(call, NULL);
  return PT_OK;
}
