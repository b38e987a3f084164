#include "kernels/portable/conv2d.h"

#include "kernels/portable/kernels.h"
#include "kernels/portable/parts.h"

/* Passes a convolution's dX to an activation's gradient: strips of dX stay in the workspace, where the activation's
 * own gradient kernel reads them. dZ may be written over R, each element of which is read immediately before. Parts of
 * dX are added up in dZ. */
typedef struct through {
  const pt_call* call;
  pt_status (*gradient)(const pt_call* call);
} through;

static pt_status (*gradient_of(int64_t op))(const pt_call*) {
  switch (op) {
#define PT_GRADIENT(name) \
  case PT_OP_##name:      \
    return PT_NAME(pt_##name);
    PT_CONV_GRADIENTS(PT_GRADIENT)
#undef PT_GRADIENT
    default:
      return NULL;
  }
}

/* Hardware prefetchers follow a row of R, but not the step from one row to the next. */
static void fetch(const pt_real* r, size_t count) {
#if defined(__GNUC__)
  for (size_t at = 0; at < count; at += 64 / sizeof(pt_real)) __builtin_prefetch(r + at, 1);
#else
  (void)r, (void)count;
#endif
}

static void take(const void* context, size_t batch, size_t row, size_t column, size_t count, const pt_real* made) {
  const through* t = context;
  const pt_call* call = t->call;
  const pt_tensor* dz = &call->outputs[0];
  const size_t channels = dz->dims[1] / (size_t)call->ints[PT_CONV_GROUPS],
               positions = (size_t)dz->dims[2] * dz->dims[3], at = (batch * channels + row) * positions + column;
  pt_tensor inputs[2] = {{.data = (void*)made, .rank = 1, .dtype = PT_REAL_DTYPE}, {.rank = 1, .dtype = PT_REAL_DTYPE}};
  pt_tensor output = {.data = (pt_real*)dz->data + at, .rank = 1, .dtype = PT_REAL_DTYPE};
  pt_call part = *call;
  inputs[1].data = (pt_real*)call->inputs[2].data + at;
  inputs[0].dims[0] = inputs[1].dims[0] = output.dims[0] = (uint32_t)count;
  part.inputs = inputs, part.input_count = 2;
  part.outputs = &output;
  part.ints = call->ints + PT_CONV_DZ_FLAG, part.int_count = 1;
  part.pool = NULL;
  if (row + 1 < channels) fetch((const pt_real*)inputs[1].data + positions, count);
  (void)t->gradient(&part);
}

pt_status PT_NAME(pt_conv2d_through)(const pt_call* call, void (*dx)(const pt_call* call, const pt_finish* finish)) {
  const through t = {call, gradient_of(call->ints[PT_CONV_DZ_GRADIENT])};
  const pt_finish finish = {take, &t, call->workspace};
  if (t.gradient == NULL) return PT_E_ARGUMENT;
  dx(call, call->terms == PT_ALL_TERMS ? &finish : NULL);
  if (call->terms == PT_GOES_ON) pt_finish_image(call, &finish, call->outputs[0].data);
  return PT_OK;
}
