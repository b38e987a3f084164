#include "kernels/portable/kernels.h"
#include "kernels/portable/lanes.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/pt_math.h"

/* Cross-entropy over axis 1 of logits[N, C, ..] with labels[N, ..]: positions are (n, inner), classes lie `inner`
 * apart. */
typedef struct entropy {
  const pt_real* logits;
  const pt_tensor* labels;
  size_t classes, inner, positions;
  pt_real* gradient;
  pt_real counted;
} entropy;

static entropy describe(const pt_call* call) {
  const pt_tensor* logits = &call->inputs[0];
  entropy e = {logits->data, &call->inputs[1], logits->dims[1], pt_extent(logits, 2, logits->rank), 0, NULL, 0};
  e.positions = logits->dims[0] * e.inner;
  return e;
}

static int64_t label_at(const entropy* e, size_t position) {
  switch (e->labels->dtype) {
    case PT_I64:
      return ((const int64_t*)e->labels->data)[position];
    case PT_I32:
      return ((const int32_t*)e->labels->data)[position];
    default:
      return ((const uint8_t*)e->labels->data)[position];
  }
}

/* Counts the positions that are not ignored; PT_E_DATA where a label is no class. */
static pt_status count_labels(entropy* e) {
  size_t counted = 0;
  for (size_t position = 0; position < e->positions; ++position) {
    const int64_t label = label_at(e, position);
    if (label >= (int64_t)e->classes) return PT_E_DATA;
    counted += label >= 0;
  }
  e->counted = (pt_real)counted;
  return PT_OK;
}

static size_t row_of(const entropy* e, size_t position) {
  return position / e->inner * e->inner * e->classes + position % e->inner;
}

static pt_real largest(const pt_real* x, size_t classes, size_t inner) {
  pt_real top = x[0];
  for (size_t c = 1; c < classes; ++c) top = x[c * inner] > top ? x[c * inner] : top;
  return top;
}

static pt_real exp_sum(const pt_real* x, size_t classes, size_t inner, pt_real top) {
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, classes, (pt_real)pt_exp((double)(x[at * inner] - top)));
  return pt_lanes_total(&lanes);
}

static pt_real row_loss(const entropy* e, size_t position) {
  const int64_t label = label_at(e, position);
  if (label < 0) return 0;
  const pt_real* x = e->logits + row_of(e, position);
  const pt_real top = largest(x, e->classes, e->inner), sum = exp_sum(x, e->classes, e->inner, top);
  return (pt_real)pt_log((double)sum) - (x[(size_t)label * e->inner] - top);
}

pt_status PT_NAME(pt_cross_entropy)(const pt_call* call) {
  entropy e = describe(call);
  const pt_status status = count_labels(&e);
  if (status != PT_OK) return status;
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, e.positions, row_loss(&e, at));
  *(pt_real*)call->outputs[0].data = e.counted > 0 ? pt_lanes_total(&lanes) / e.counted : 0;
  return PT_OK;
}

/* (softmax - one-hot) / counted; may be written over the logits. */
static void gradient_rows(void* arg, size_t begin, size_t end) {
  const entropy* e = arg;
  for (size_t position = begin; position < end; ++position) {
    const int64_t label = label_at(e, position);
    const pt_real* x = e->logits + row_of(e, position);
    pt_real* dx = e->gradient + row_of(e, position);
    if (label < 0) {
      for (size_t c = 0; c < e->classes; ++c) dx[c * e->inner] = 0;
      continue;
    }
    const pt_real top = largest(x, e->classes, e->inner), sum = exp_sum(x, e->classes, e->inner, top);
    for (size_t c = 0; c < e->classes; ++c) {
      const pt_real p = (pt_real)pt_exp((double)(x[c * e->inner] - top)) / sum;
      dx[c * e->inner] = (p - (pt_real)(c == (size_t)label)) / e->counted;
    }
  }
}

pt_status PT_NAME(pt_cross_entropy_grad)(const pt_call* call) {
  entropy e = describe(call);
  const pt_status status = count_labels(&e);
  if (status != PT_OK) return status;
  e.gradient = call->outputs[0].data;
  PT_NAME(pt_parallel)(call, e.positions, e.positions * e.classes * 16, gradient_rows, &e);
  return PT_OK;
}

pt_status PT_NAME(pt_count_correct)(const pt_call* call) {
  entropy e = describe(call);
  const pt_status status = count_labels(&e);
  if (status != PT_OK) return status;
  size_t correct = 0;
  for (size_t position = 0; position < e.positions; ++position) {
    const pt_real* x = e.logits + row_of(&e, position);
    size_t best = 0;
    for (size_t c = 1; c < e.classes; ++c)
      if (x[c * e.inner] > x[best * e.inner]) best = c;
    correct += label_at(&e, position) == (int64_t)best;
  }
  pt_real* out = call->outputs[0].data;
  out[0] = (pt_real)correct;
  out[1] = e.counted;
  return PT_OK;
}

pt_status PT_NAME(pt_mse)(const pt_call* call) {
  const pt_real *pred = call->inputs[0].data, *target = call->inputs[1].data;
  const size_t count = pt_elements(&call->inputs[0]);
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, count, (pred[at] - target[at]) * (pred[at] - target[at]));
  *(pt_real*)call->outputs[0].data = count > 0 ? pt_lanes_total(&lanes) / (pt_real)count : 0;
  return PT_OK;
}

pt_status PT_NAME(pt_mse_grad)(const pt_call* call) {
  const pt_real *pred = call->inputs[0].data, *target = call->inputs[1].data;
  pt_real* out = call->outputs[0].data;
  const size_t count = pt_elements(&call->inputs[0]);
  const pt_real scale = count > 0 ? 2 / (pt_real)count : 0;
  for (size_t at = 0; at < count; ++at) out[at] = scale * (pred[at] - target[at]);
  return PT_OK;
}
