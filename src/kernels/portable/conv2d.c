#include "kernels/portable/conv2d.h"

#include "kernels/portable/conv2d_panel.h"
#include "kernels/portable/conv2d_shifted.h"
#include "kernels/portable/kernels.h"

/* Y[n, o, p, q] = sum over (c, r, s) of W[o, c, r, s] X[n, c, row, column]: a product per sample and group with m = o,
 * n = (p, q), k = (c, r, s). */
static conv2d describe(const pt_call* call) {
  conv2d c = conv2d_of(&call->inputs[0], &call->inputs[1], &call->outputs[0], call);
  if (call->input_count > 2) c.of.bias = call->inputs[2].data;
  return c;
}

static void pack_b(const void* context, size_t batch, size_t k0, size_t count, size_t n0, size_t columns,
                   pt_real* panel) {
  const conv2d* c = context;
  const conv_shape* s = &c->s;
  const pt_real* x = conv_x(c, batch);
  conv_run runs[PT_GEMM_NR];
  const size_t run_count = conv_runs(n0, columns, s->out_width, runs);
  conv_tap tap = conv_tap_at(s, k0);
  for (size_t kk = 0; kk < count; ++kk, conv_tap_next(s, &tap)) {
    const pt_real* plane = x + tap.plane * s->height * s->width;
    pt_real* row = panel + kk * PT_GEMM_NR;
    for (size_t run = 0; run < run_count; ++run) {
      const ptrdiff_t in_row = conv_input_row(s, runs[run].row, tap.r),
                      first = conv_input_column(s, runs[run].column, tap.q);
      const int inside = in_row >= 0 && in_row < (ptrdiff_t)s->height;
      conv_copy_run(row + runs[run].at, (ptrdiff_t)runs[run].length, 0, 1,
                    plane + (inside ? (size_t)in_row * s->width : 0), first, s->stride_w,
                    inside ? (ptrdiff_t)s->width : 0);
    }
    for (size_t column = columns; column < PT_GEMM_NR; ++column) row[column] = 0;
  }
}

pt_status PT_NAME(pt_conv2d_fast)(const pt_call* call, const pt_finish* finish) {
  const conv2d c = describe(call);
  pt_shifted shifted = conv2d_shifted(call);
  shifted.finish = finish;
  const pt_product product = conv_product(&c.of, pack_b, finish);
  if (conv2d_is_shifted(call, &shifted, &product))
    PT_NAME(pt_shifted_run)(&shifted, call->pool);
  else
    PT_NAME(pt_product_run)(&product, call->pool);
  return PT_OK;
}

size_t PT_NAME(pt_conv2d_scratch)(const pt_call* call) {
  pt_real somewhere;
  const pt_finish finish = {NULL, NULL, &somewhere}; /* has some */
  const conv2d c = describe(call);
  pt_shifted shifted = conv2d_shifted(call);
  shifted.finish = &finish;
  const pt_product product = conv_product(&c.of, pack_b, &finish);
  return conv2d_is_shifted(call, &shifted, &product) ? PT_NAME(pt_shifted_scratch)(&shifted, call->pool)
                                                     : PT_NAME(pt_product_scratch)(&product, call->pool);
}

pt_status PT_NAME(pt_conv2d_blocked)(const pt_call* call) {
  return PT_NAME(pt_conv2d_fast)(call, NULL);
}

pt_status PT_NAME(pt_conv2d_reference)(const pt_call* call) {
  return PT_NAME(pt_conv3d_reference)(call);
}
