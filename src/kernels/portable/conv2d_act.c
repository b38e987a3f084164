#include "kernels/portable/conv2d.h"

#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/parts.h"

/* Passes a convolution's result to the steps that follow it (epilogue.h), which also add the bias. */
typedef struct conv_epilogue {
  pt_epilogue rest;
  const pt_real* bias;               /* NULL: none */
  size_t outputs, positions, groups; /* of one group; of one plane */
} conv_epilogue;

static void take(const void* context, size_t batch, size_t row, size_t column, size_t count, const pt_real* made) {
  const conv_epilogue* e = context;
  const size_t at = (batch * e->outputs + row) * e->positions + column, channel = batch % e->groups * e->outputs + row;
  PT_NAME(pt_epilogue_take)(&e->rest, at, count, made, e->bias != NULL ? e->bias + channel : NULL);
}

pt_status PT_NAME(pt_conv2d_act_by)(const pt_call* call, pt_convolve convolve, pt_real* scratch) {
  const pt_tensor* y = &call->outputs[0];
  conv_epilogue e;
  const pt_finish finish = {take, &e, call->terms == PT_ALL_TERMS ? scratch : NULL};
  const pt_status status = PT_NAME(pt_epilogue_of)(call, &e.rest);
  pt_call own = *call;
  if (status != PT_OK) return status;
  e.bias = pt_product_inputs(call) > 2 ? call->inputs[2].data : NULL;
  e.groups = (size_t)call->ints[PT_CONV_GROUPS];
  e.outputs = y->dims[1] / e.groups;
  e.positions = (size_t)y->dims[2] * y->dims[3];
  own.input_count = 2, own.int_count = PT_CONV_ATTRS, own.real_count = 0;
  return convolve(&own, pt_is_unfinished(call) ? NULL : &finish);
}

/* The reference computes the whole convolution in the workspace, parts of it in the output, then the steps that follow. */
static pt_status convolve_apart(const pt_call* call, const pt_finish* finish) {
  return pt_finish_whole(call, finish, PT_NAME(pt_conv2d_reference), pt_finish_image);
}

pt_status PT_NAME(pt_conv2d_act_reference)(const pt_call* call) {
  return PT_NAME(pt_conv2d_act_by)(call, convolve_apart, call->workspace);
}
size_t PT_NAME(pt_conv2d_act_reference_workspace)(const pt_call* call) {
  return call->terms == PT_ALL_TERMS ? pt_elements(&call->outputs[0]) * sizeof(pt_real) : 0;
}

pt_status PT_NAME(pt_conv2d_act_blocked)(const pt_call* call) {
  return PT_NAME(pt_conv2d_act_by)(call, PT_NAME(pt_conv2d_fast), pt_act_lies_over(call) ? call->workspace : NULL);
}
size_t PT_NAME(pt_conv2d_act_blocked_workspace)(const pt_call* call) {
  return pt_act_may_lie_over(call) ? PT_NAME(pt_conv2d_scratch)(call) * sizeof(pt_real) : 0;
}

/* Computes in strips if the result is written over the tensor that is added to it; otherwise computes the whole output, then
 * passes over it once. */
static pt_status convolve_compact(const pt_call* call, const pt_finish* finish) {
  if (finish != NULL && finish->scratch != NULL) {
    PT_NAME(pt_conv2d_compact_finish)(call, finish);
    return PT_OK;
  }
  return pt_finish_whole(call, finish, PT_NAME(pt_conv2d_compact), pt_finish_image);
}

pt_status PT_NAME(pt_conv2d_act_compact)(const pt_call* call) {
  return PT_NAME(pt_conv2d_act_by)(call, convolve_compact, pt_act_lies_over(call) ? call->workspace : NULL);
}
size_t PT_NAME(pt_conv2d_act_compact_workspace)(const pt_call* call) {
  return pt_act_may_lie_over(call) ? pt_compact_strip(&call->outputs[0], call->ints[PT_CONV_GROUPS]) : 0;
}
