#include <math.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"

/* Optimizer steps, as torch.optim has them; every output may be written over its input. */
typedef struct update {
  const pt_real *w, *g, *m, *v;
  pt_real *w_out, *m_out, *v_out;
  pt_real lr, momentum, decay, beta1, beta2, eps, step_size, root_correction;
  int nesterov;
} update;

#if defined(__GNUC__) && !defined(__clang__)
#define PT_IVDEP _Pragma("GCC ivdep")
#else
#define PT_IVDEP
#endif

static void sgd_elements(void* arg, size_t begin, size_t end) {
  const update* u = arg;
  if (u->m == NULL) {
    PT_IVDEP for (size_t at = begin; at < end; ++at) {
      const pt_real w = u->w[at], g = u->g[at] + u->decay * w;
      u->w_out[at] = w - u->lr * g;
    }
    return;
  }
  PT_IVDEP for (size_t at = begin; at < end; ++at) {
    const pt_real w = u->w[at], g = u->g[at] + u->decay * w;
    const pt_real m = u->momentum * u->m[at] + g;
    u->m_out[at] = m;
    u->w_out[at] = w - u->lr * (u->nesterov ? g + u->momentum * m : m);
  }
}

pt_status PT_NAME(pt_sgd)(const pt_call* call) {
  update u = {call->inputs[0].data,
              call->inputs[1].data,
              NULL,
              NULL,
              call->outputs[0].data,
              NULL,
              NULL,
              0,
              0,
              0,
              0,
              0,
              0,
              0,
              0,
              0};
  u.lr = (pt_real)call->scalars->lr;
  u.momentum = (pt_real)call->reals[0];
  u.decay = (pt_real)call->reals[1];
  u.nesterov = call->ints[0] != 0;
  if (call->input_count > 2) {
    u.m = call->inputs[2].data;
    u.m_out = call->outputs[1].data;
  }
  const size_t count = pt_elements(&call->outputs[0]);
  PT_NAME(pt_parallel)(call, count, count, sgd_elements, &u);
  return PT_OK;
}

static void adam_elements(void* arg, size_t begin, size_t end) {
  const update* u = arg;
  for (size_t at = begin; at < end; ++at) {
    const pt_real w = u->w[at], g = u->g[at] + u->decay * w;
    const pt_real m = u->m[at] + (g - u->m[at]) * (1 - u->beta1);
    const pt_real v = u->beta2 * u->v[at] + (1 - u->beta2) * g * g;
    const pt_real denominator = (pt_real)sqrt((double)v) / u->root_correction + u->eps;
    u->m_out[at] = m;
    u->v_out[at] = v;
    u->w_out[at] = w - u->step_size * (m / denominator);
  }
}

static double power(double base, uint64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

pt_status PT_NAME(pt_adam)(const pt_call* call) {
  const double beta1 = call->reals[0], beta2 = call->reals[1];
  const uint64_t step = call->scalars->step;
  update u = {call->inputs[0].data,
              call->inputs[1].data,
              call->inputs[2].data,
              call->inputs[3].data,
              call->outputs[0].data,
              call->outputs[1].data,
              call->outputs[2].data,
              0,
              0,
              (pt_real)call->reals[3],
              (pt_real)beta1,
              (pt_real)beta2,
              (pt_real)call->reals[2],
              (pt_real)(call->scalars->lr / (1 - power(beta1, step))),
              (pt_real)sqrt(1 - power(beta2, step)),
              0};
  const size_t count = pt_elements(&call->outputs[0]);
  PT_NAME(pt_parallel)(call, count, count * 2, adam_elements, &u);
  return PT_OK;
}
