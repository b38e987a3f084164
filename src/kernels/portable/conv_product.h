/* The three products of a convolution in two or three dimensions of space: forward, the gradient of its input and that
 * of its weight. Each caller packs its own panels. */
#pragma once

#include "kernels/portable/gemm.h"
#include "kernels/portable/parallel.h"

/* Two of x, w and y are read, the third is made. The context of a product begins with this. A batch is a sample and a
 * group; weights repeat with the groups. */
typedef struct conv_operands {
  size_t samples, groups, channels, outputs; /* channels and outputs of one group */
  size_t in_size, out_size, taps;            /* elements of one channel of x, of y, of w */
  pt_real *x, *w, *y;
  const pt_real* bias; /* one for each output; NULL: none */
  uint8_t terms;       /* of the call */
} conv_operands;

static inline conv_operands conv_operands_of(const pt_tensor* x, const pt_tensor* w, const pt_tensor* y,
                                             const pt_call* call) {
  const int64_t groups = call->ints[4 * (x->rank - 2)]; /* behind strides, paddings before and after, dilations */
  return (conv_operands){.samples = x->dims[0],
                         .groups = (size_t)groups,
                         .channels = x->dims[1] / (size_t)groups,
                         .outputs = y->dims[1] / (size_t)groups,
                         .in_size = pt_extent(x, 2, x->rank),
                         .out_size = pt_extent(y, 2, y->rank),
                         .taps = pt_extent(w, 2, w->rank),
                         .x = x->data,
                         .w = w->data,
                         .y = y->data,
                         .terms = call->terms};
}

/* The first element of a batch. */
static inline pt_real* conv_x(const void* context, size_t batch) {
  const conv_operands* of = context;
  return of->x + batch * of->channels * of->in_size;
}
static inline pt_real* conv_y(const void* context, size_t batch) {
  const conv_operands* of = context;
  return of->y + batch * of->outputs * of->out_size;
}
static inline pt_real* conv_w(const void* context, size_t batch) {
  const conv_operands* of = context;
  return of->w + batch % of->groups * of->outputs * of->channels * of->taps;
}
static inline const pt_real* conv_weights(const void* context, size_t batch) {
  return conv_w(context, batch);
}
static inline const pt_real* conv_dy(const void* context, size_t batch) {
  return conv_y(context, batch);
}
static inline const pt_real* conv_bias(const void* context, size_t batch) {
  const conv_operands* of = context;
  return of->bias ? of->bias + batch % of->groups * of->outputs : NULL;
}

typedef void (*conv_pack)(const void* context, size_t batch, size_t k0, size_t count, size_t n0, size_t columns,
                          pt_real* panel);

/* m = outputs, n = positions of y, k = (channel, tap). */
static inline void conv_offsets(const void* context, size_t k0, size_t count, size_t* offsets) {
  (void)context;
  for (size_t kk = 0; kk < count; ++kk) offsets[kk] = k0 + kk;
}
static inline pt_product conv_product(const conv_operands* of, conv_pack pack, const pt_finish* finish) {
  const size_t k = of->channels * of->taps;
  return (pt_product){of->samples * of->groups,
                      of->outputs,
                      of->out_size,
                      k,
                      of,
                      conv_weights,
                      k,
                      conv_offsets,
                      pack,
                      conv_y,
                      of->out_size,
                      conv_bias,
                      1,
                      finish,
                      of->terms};
}

/* m = channels, n = positions of x, k = (output, tap). */
static inline void conv_dx_offsets(const void* context, size_t k0, size_t count, size_t* offsets) {
  const conv_operands* of = context;
  const size_t taps = of->taps;
  for (size_t kk = 0; kk < count; ++kk) offsets[kk] = (k0 + kk) / taps * of->channels * taps + (k0 + kk) % taps;
}
static inline pt_product conv_dx_product(const conv_operands* of, conv_pack pack, const pt_finish* finish) {
  return (pt_product){of->samples * of->groups,
                      of->channels,
                      of->in_size,
                      of->outputs * of->taps,
                      of,
                      conv_weights,
                      of->taps,
                      conv_dx_offsets,
                      pack,
                      conv_x,
                      of->in_size,
                      NULL,
                      0,
                      finish,
                      of->terms};
}

/* m = outputs, n = (channel, tap), k = (sample, position of y); batches are groups. */
static inline void conv_dw_offsets(const void* context, size_t k0, size_t count, size_t* offsets) {
  const conv_operands* of = context;
  const size_t size = of->out_size, sample_size = of->groups * of->outputs * size;
  size_t sample = k0 / size, position = k0 % size;
  for (size_t kk = 0; kk < count; ++kk) {
    offsets[kk] = sample * sample_size + position;
    if (++position == size) position = 0, ++sample;
  }
}
static inline pt_product conv_dw_product(const conv_operands* of, conv_pack pack) {
  const size_t weights = of->channels * of->taps;
  return (pt_product){of->groups, of->outputs, weights,      of->samples * of->out_size,
                      of,         conv_dy,     of->out_size, conv_dw_offsets,
                      pack,       conv_w,      weights,      NULL,
                      0,          NULL,        of->terms};
}
