#include <math.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/lanes.h"
#include "kernels/portable/parallel.h"

/* Ops between the backward pass and the updates: clipping as in torch.nn.utils, and sums over micro-batches. */
typedef struct gradient {
  const pt_real *g, *sum;
  pt_real *out, *sum_out;
  pt_real number;
} gradient;

/* Squares are added in double, each input's elements in lanes (lanes.h) that go on from input to input. */
pt_status PT_NAME(pt_norm)(const pt_call* call) {
  double sums[PT_LANES] = {0};
  for (size_t input = 0; input < call->input_count; ++input) {
    const pt_real* x = call->inputs[input].data;
    const size_t count = pt_elements(&call->inputs[input]), whole = count / PT_LANES * PT_LANES;
    for (size_t base = 0; base < whole; base += PT_LANES)
      for (size_t lane = 0; lane < PT_LANES; ++lane) sums[lane] += (double)x[base + lane] * (double)x[base + lane];
    for (size_t at = whole; at < count; ++at) sums[at - whole] += (double)x[at] * (double)x[at];
  }
  *(pt_real*)call->outputs[0].data =
      (pt_real)sqrt(((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])));
  return PT_OK;
}

static void scale_elements(void* arg, size_t begin, size_t end) {
  const gradient* c = arg;
  for (size_t at = begin; at < end; ++at) c->out[at] = c->g[at] * c->number;
}

/* Times limit / (norm + 1e-6), at most 1. */
pt_status PT_NAME(pt_clip_norm)(const pt_call* call) {
  const pt_real norm = *(const pt_real*)call->inputs[1].data;
  const pt_real factor = (pt_real)call->reals[0] / (norm + (pt_real)1e-6);
  gradient c = {.g = call->inputs[0].data, .out = call->outputs[0].data, .number = factor > 1 ? 1 : factor};
  return pt_by_element(call, 1, scale_elements, &c);
}

static void add_elements(void* arg, size_t begin, size_t end) {
  const gradient* c = arg;
  for (size_t at = begin; at < end; ++at) c->sum_out[at] = c->sum[at] + c->g[at];
}

pt_status PT_NAME(pt_accumulate)(const pt_call* call) {
  gradient c = {.sum = call->inputs[0].data, .g = call->inputs[1].data, .sum_out = call->outputs[0].data};
  return pt_by_element(call, 1, add_elements, &c);
}

static void finish_elements(void* arg, size_t begin, size_t end) {
  const gradient* c = arg;
  for (size_t at = begin; at < end; ++at) {
    const pt_real sum = c->sum[at] + c->g[at];
    c->out[at] = sum * c->number;
    c->sum_out[at] = 0;
  }
}

pt_status PT_NAME(pt_accumulated)(const pt_call* call) {
  gradient c = {.sum = call->inputs[0].data,
                .g = call->inputs[1].data,
                .out = call->outputs[0].data,
                .sum_out = call->outputs[1].data,
                .number = (pt_real)call->reals[0]};
  return pt_by_element(call, 1, finish_elements, &c);
}
