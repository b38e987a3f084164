/* conv2d and conv2d_dx as convolutions over a shifted image (conv2d_shift.h): they read strides of 1. */
#pragma once

#include "kernels/portable/conv2d_shape.h"
#include "kernels/portable/conv2d_shift.h"
#include "kernels/portable/parts.h"

static inline pt_shifted conv2d_shifted(const pt_call* call) {
  const conv_shape s = conv_shape_of(&call->inputs[0], &call->inputs[1], &call->outputs[0], call->ints);
  const size_t taps = s.kernel_h * s.kernel_w, k = s.channels * taps;
  return (pt_shifted){s.samples * s.groups,
                      s.groups,
                      s.outputs,
                      s.out_height,
                      s.out_width,
                      s.channels,
                      s.height,
                      s.width,
                      s.kernel_h,
                      s.kernel_w,
                      (size_t)s.dilation_h,
                      (size_t)s.dilation_w,
                      s.pad_top,
                      s.pad_left,
                      0,
                      call->inputs[1].data,
                      call->inputs[0].data,
                      call->input_count > 2 && !pt_is_unfinished(call) ? call->inputs[2].data : NULL,
                      call->outputs[0].data,
                      s.outputs * k,
                      k,
                      taps,
                      NULL,
                      pt_goes_on(call)};
}

static inline pt_shifted conv2d_dx_shifted(const pt_call* call, const pt_finish* finish) {
  const conv_shape s = conv_shape_of(&call->outputs[0], &call->inputs[1], &call->inputs[0], call->ints);
  const size_t taps = s.kernel_h * s.kernel_w;
  return (pt_shifted){s.samples * s.groups,
                      s.groups,
                      s.channels,
                      s.height,
                      s.width,
                      s.outputs,
                      s.out_height,
                      s.out_width,
                      s.kernel_h,
                      s.kernel_w,
                      (size_t)s.dilation_h,
                      (size_t)s.dilation_w,
                      (ptrdiff_t)(s.kernel_h - 1) * s.dilation_h - s.pad_top,
                      (ptrdiff_t)(s.kernel_w - 1) * s.dilation_w - s.pad_left,
                      1,
                      call->inputs[1].data,
                      call->inputs[0].data,
                      NULL,
                      call->outputs[0].data,
                      s.outputs * s.channels * taps,
                      taps,
                      s.channels * taps,
                      finish,
                      pt_goes_on(call)};
}

/* Does it read every position of the image? Others have no shifted image. */
static inline int conv2d_is_dense(const pt_call* call) {
  return call->ints[PT_CONV_STRIDE_H] == 1 && call->ints[PT_CONV_STRIDE_W] == 1;
}

/* Is it less work over a shifted image than as the product? */
static inline int conv2d_is_shifted(const pt_call* call, const pt_shifted* shifted, const pt_product* product) {
  const double work = conv2d_is_dense(call) ? PT_NAME(pt_shifted_work)(shifted) : 0;
  return work > 0 && work <= PT_NAME(pt_product_work)(product);
}
