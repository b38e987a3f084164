#include <math.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/update_group.h"
#include "kernels/portable/update_rows.h"

/* Optimizers that scale every element by its own running square, as torch.optim has them; every output may be written
 * over its input. The kernels of rows update those of a table that a batch read. Coefficients are computed in double and rounded once: a float of 1 - beta2, for beta2 = 0.99999, has
 * three digits that the float of beta2 lacks. */
typedef struct update {
  const pt_real *w, *g, *first, *square, *momentum, *largest;
  pt_real *w_out, *first_out, *square_out, *momentum_out, *largest_out;
  pt_real step_size, shrink; /* shrink: the share of w that decoupled weight decay takes away */
  pt_real begin;             /* what stands in the sum of squares before the first step, and not in its state */
  pt_real decay, add1, beta2, add2, eps, root_correction, momentum_factor; /* add1: 1 - beta1; add2: 1 - beta2 */
} update;

/* The square root, correctly rounded in either precision; units for floats alone compute sqrtf. */
static pt_real root(pt_real x) {
#ifdef PT_REAL_DOUBLE
  return sqrt(x);
#else
  return sqrtf(x);
#endif
}

/* ---- Adam, AdamW ---- */

static void adam_elements(void* arg, size_t begin, size_t end) {
  const update* u = arg;
  for (size_t at = begin; at < end; ++at) {
    const pt_real w = u->w[at], g = u->g[at] + u->decay * w;
    const pt_real m = u->first[at] + (g - u->first[at]) * u->add1;
    const pt_real v = u->beta2 * u->square[at] + u->add2 * g * g;
    pt_real square = v;
    if (u->largest != NULL) {
      if (u->largest[at] > v) square = u->largest[at];
      u->largest_out[at] = square;
    }
    const pt_real denominator = root(square) / u->root_correction + u->eps;
    u->first_out[at] = m;
    u->square_out[at] = v;
    u->w_out[at] = w - u->shrink * w - u->step_size * (m / denominator);
  }
}

static double power(double base, uint64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

/* `moments`: where the two stand among the inputs. The gradient is left out. An eps below 0 stands for its magnitude, which is added to the root
 * before the root's correction: m / (root / correction + eps / correction) is correction * m / (root + eps). */
static update adam_of(const pt_call* call, unsigned moments, double lr, double decay) {
  const double beta1 = call->reals[0], beta2 = call->reals[1], eps = call->reals[2];
  const uint64_t step = call->scalars->step;
  const double correction = sqrt(1 - power(beta2, step));
  update u = {.w = call->inputs[0].data,
              .first = call->inputs[moments].data,
              .square = call->inputs[moments + 1].data,
              .w_out = call->outputs[0].data,
              .first_out = call->outputs[1].data,
              .square_out = call->outputs[2].data};
  u.step_size = (pt_real)((eps < 0 ? lr * correction : lr) / (1 - power(beta1, step)));
  u.decay = (pt_real)decay;
  u.add1 = (pt_real)(1 - beta1);
  u.beta2 = (pt_real)beta2;
  u.add2 = (pt_real)(1 - beta2);
  u.eps = (pt_real)fabs(eps);
  u.root_correction = eps < 0 ? 1 : (pt_real)correction;
  return u;
}

static pt_status run_adam(const pt_call* call, double lr, double decay, double shrink) {
  update u = adam_of(call, 2, lr, decay);
  u.g = call->inputs[1].data;
  u.shrink = (pt_real)shrink;
  if (call->input_count > 4) {
    u.largest = call->inputs[4].data;
    u.largest_out = call->outputs[3].data;
  }
  return pt_by_element(call, 2, adam_elements, &u);
}

pt_status PT_NAME(pt_adam)(const pt_call* call) {
  const pt_group group = pt_group_of(call, 0, call->reals[3]);
  return run_adam(call, group.lr, group.weight_decay, 0);
}
pt_status PT_NAME(pt_adamw)(const pt_call* call) {
  const pt_group group = pt_group_of(call, 0, call->reals[3]);
  return run_adam(call, group.lr, 0, group.lr * group.weight_decay);
}

/* ---- Adam of rows: the moments of a row that is not read stay as they are. Here eps is added to the root before its
 * correction, as torch.optim.SparseAdam has it. ---- */

static void adam_row(const void* context, size_t at, size_t count, const pt_real* gradient) {
  update u = *(const update*)context;
  u.g = gradient;
  u.w += at, u.first += at, u.square += at;
  u.w_out += at, u.first_out += at, u.square_out += at;
  adam_elements(&u, 0, count);
}

size_t PT_NAME(pt_adam_rows_workspace)(const pt_call* call) {
  return PT_NAME(pt_by_row_workspace)(call);
}

pt_status PT_NAME(pt_adam_rows)(const pt_call* call) {
  const pt_group group = pt_group_of(call, 0, 0);
  const double root_correction = sqrt(1 - power(call->reals[1], call->scalars->step));
  update u = adam_of(call, 3, group.lr * root_correction, group.weight_decay);
  u.root_correction = 1;
  return PT_NAME(pt_by_row)(call, 0, adam_row, &u);
}

/* ---- RMSProp ---- */

static void rmsprop_elements(void* arg, size_t begin, size_t end) {
  const update* u = arg;
  for (size_t at = begin; at < end; ++at) {
    const pt_real w = u->w[at], g = u->g[at] + u->decay * w;
    const pt_real square = u->beta2 * u->square[at] + u->add2 * g * g;
    pt_real variance = square;
    if (u->first != NULL) {
      const pt_real mean = u->first[at] + (g - u->first[at]) * u->add2;
      variance = square - mean * mean > 0 ? square - mean * mean : 0; /* rounding may lead below */
      u->first_out[at] = mean;
    }
    const pt_real scaled = g / (root(variance) + u->eps);
    const pt_real step = u->momentum != NULL ? u->momentum_factor * u->momentum[at] + scaled : scaled;
    u->square_out[at] = square;
    if (u->momentum != NULL) u->momentum_out[at] = step;
    u->w_out[at] = w - u->step_size * step;
  }
}

pt_status PT_NAME(pt_rmsprop)(const pt_call* call) {
  const unsigned centered = call->ints[0] != 0;
  const pt_group group = pt_group_of(call, 1, call->reals[3]);
  update u = {.w = call->inputs[0].data,
              .g = call->inputs[1].data,
              .square = call->inputs[2].data,
              .w_out = call->outputs[0].data,
              .square_out = call->outputs[1].data};
  u.step_size = (pt_real)group.lr;
  u.beta2 = (pt_real)call->reals[0];
  u.add2 = (pt_real)(1 - call->reals[0]);
  u.eps = (pt_real)call->reals[1];
  u.momentum_factor = (pt_real)call->reals[2];
  u.decay = (pt_real)group.weight_decay;
  if (centered) {
    u.first = call->inputs[3].data;
    u.first_out = call->outputs[2].data;
  }
  if (call->input_count > 3 + centered) {
    u.momentum = call->inputs[3 + centered].data;
    u.momentum_out = call->outputs[2 + centered].data;
  }
  return pt_by_element(call, 2, rmsprop_elements, &u);
}

/* ---- Adagrad ---- */

static void adagrad_elements(void* arg, size_t begin, size_t end) {
  const update* u = arg;
  for (size_t at = begin; at < end; ++at) {
    const pt_real w = u->w[at], g = u->g[at] + u->decay * w;
    const pt_real sum = u->square[at] + g * g;
    u->square_out[at] = sum;
    u->w_out[at] = w - u->step_size * (g / (root(sum + u->begin) + u->eps));
  }
}

static update adagrad_of(const pt_call* call, unsigned sum, const pt_group* group, double begin) {
  const double steps_before = (double)call->scalars->step - 1;
  update u = {.w = call->inputs[0].data,
              .square = call->inputs[sum].data,
              .w_out = call->outputs[0].data,
              .square_out = call->outputs[1].data};
  u.step_size = (pt_real)(group->lr / (1 + steps_before * call->reals[0]));
  u.eps = (pt_real)call->reals[1];
  u.decay = (pt_real)group->weight_decay;
  u.begin = (pt_real)begin;
  return u;
}

pt_status PT_NAME(pt_adagrad)(const pt_call* call) {
  const pt_group group = pt_group_of(call, 0, call->reals[2]);
  update u = adagrad_of(call, 2, &group, call->real_count > 3 ? call->reals[3] : 0);
  u.g = call->inputs[1].data;
  return pt_by_element(call, 2, adagrad_elements, &u);
}

/* Bit for bit what gather_grad and adagrad give. */
static void adagrad_row(const void* context, size_t at, size_t count, const pt_real* gradient) {
  update u = *(const update*)context;
  u.g = gradient;
  u.w += at, u.square += at;
  u.w_out += at, u.square_out += at;
  adagrad_elements(&u, 0, count);
}

size_t PT_NAME(pt_adagrad_rows_workspace)(const pt_call* call) {
  return PT_NAME(pt_by_row_workspace)(call);
}

pt_status PT_NAME(pt_adagrad_rows)(const pt_call* call) {
  const pt_group group = pt_group_of(call, 0, 0);
  const update u = adagrad_of(call, 3, &group, call->real_count > 2 ? call->reals[2] : 0);
  return PT_NAME(pt_by_row)(call, u.decay != 0, adagrad_row, &u);
}
