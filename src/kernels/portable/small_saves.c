#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"

/* The signs of an activation, eight to a byte, and the gradients that need only these signs, with the same bits as
 * relu_grad and leaky_relu_grad. */
typedef struct signs {
  const pt_real* x; /* the activation, or the output's gradient */
  pt_real* dx;
  uint8_t* bits;
  size_t count;
  pt_real alpha;
} signs;

static void pack_bytes(void* arg, size_t begin, size_t end) {
  const signs* s = arg;
  for (size_t byte = begin; byte < end; ++byte) {
    const size_t first = byte * 8, most = s->count - first < 8 ? s->count - first : 8;
    unsigned packed = 0;
    for (size_t bit = 0; bit < most; ++bit) packed |= (unsigned)(s->x[first + bit] > 0) << bit;
    s->bits[byte] = (uint8_t)packed;
  }
}

pt_status PT_NAME(pt_sign_bits)(const pt_call* call) {
  signs s = {call->inputs[0].data, NULL, call->outputs[0].data, pt_elements(&call->inputs[0]), 0};
  return PT_NAME(pt_parallel)(call, (s.count + 7) / 8, s.count, pack_bytes, &s);
}

static void relu_bytes(void* arg, size_t begin, size_t end) {
  const signs* s = arg;
  for (size_t byte = begin; byte < end; ++byte) {
    const size_t first = byte * 8, most = s->count - first < 8 ? s->count - first : 8;
    const unsigned packed = s->bits[byte];
    for (size_t bit = 0; bit < most; ++bit) s->dx[first + bit] = packed >> bit & 1 ? s->x[first + bit] : 0;
  }
}

static void leaky_relu_bytes(void* arg, size_t begin, size_t end) {
  const signs* s = arg;
  for (size_t byte = begin; byte < end; ++byte) {
    const size_t first = byte * 8, most = s->count - first < 8 ? s->count - first : 8;
    const unsigned packed = s->bits[byte];
    for (size_t bit = 0; bit < most; ++bit) {
      const pt_real dy = s->x[first + bit];
      s->dx[first + bit] = packed >> bit & 1 ? dy : s->alpha * dy;
    }
  }
}

static pt_status run_gradient(const pt_call* call, pt_body body, double alpha) {
  signs s = {call->inputs[0].data, call->outputs[0].data, call->inputs[1].data, pt_elements(&call->inputs[0]),
             (pt_real)alpha};
  return PT_NAME(pt_parallel)(call, (s.count + 7) / 8, s.count, body, &s);
}

pt_status PT_NAME(pt_relu_grad_bits)(const pt_call* call) {
  return run_gradient(call, relu_bytes, 0);
}
pt_status PT_NAME(pt_leaky_relu_grad_bits)(const pt_call* call) {
  return run_gradient(call, leaky_relu_bytes, call->reals[0]);
}
