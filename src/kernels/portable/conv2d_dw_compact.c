#include "kernels/portable/compact.h"
#include "kernels/portable/conv2d_shape.h"
#include "kernels/portable/products.h"

/* Per kernel element a product: rows are output channels, columns input channels, and k the output positions whose
 * input lies inside of the image. */

static void run_tap(const conv_shape* s, size_t r, size_t q, const pt_real* x, const pt_real* dy, pt_real* dw) {
  const ptrdiff_t plane = (ptrdiff_t)(s->height * s->width), made = (ptrdiff_t)(s->out_height * s->out_width),
                  taps = (ptrdiff_t)(s->kernel_h * s->kernel_w), width = (ptrdiff_t)s->width,
                  out_width = (ptrdiff_t)s->out_width;
  const conv_range rows = conv_inside(s->out_height, s->height, conv_input_row(s, 0, r), s->stride_h),
                   columns = conv_inside(s->out_width, s->width, conv_input_column(s, 0, q), s->stride_w);
  pt_nest nest = {s->outputs,
                  s->channels,
                  {s->samples, rows.count, columns.count},
                  {(ptrdiff_t)(s->groups * s->outputs) * made, out_width, 1},
                  {(ptrdiff_t)(s->groups * s->channels) * plane, s->stride_h * width, s->stride_w},
                  made,
                  plane,
                  (ptrdiff_t)s->channels * taps,
                  taps};
  const ptrdiff_t from = conv_input_row(s, rows.begin, r) * width + conv_input_column(s, columns.begin, q);
  for (size_t group = 0; group < s->groups; ++group) PT_NAME(pt_nest_run)
  (&nest, dy + (ptrdiff_t)(group * s->outputs) * made + (ptrdiff_t)rows.begin * out_width + (ptrdiff_t)columns.begin,
   x + (ptrdiff_t)(group * s->channels) * plane + from,
   dw + (ptrdiff_t)(group * s->outputs * s->channels) * taps + (ptrdiff_t)(r * s->kernel_w + q));
}

pt_status PT_NAME(pt_conv2d_dw_compact)(const pt_call* call) {
  const conv_shape s = conv_shape_of(&call->inputs[0], &call->outputs[0], &call->inputs[1], call->ints);
  for (size_t r = 0; r < s.kernel_h; ++r)
    for (size_t q = 0; q < s.kernel_w; ++q)
      run_tap(&s, r, q, call->inputs[0].data, call->inputs[1].data, call->outputs[0].data);
  return PT_OK;
}
