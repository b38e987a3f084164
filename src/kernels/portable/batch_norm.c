#include <math.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/lanes.h"
#include "kernels/portable/norm_activation.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/parts.h"

/* What a channel's sums are between the calls of a kernel that makes parts. */
typedef struct sums {
  pt_lanes first, second;
  size_t count; /* elements */
} sums;

/* Per channel over samples and positions. The mean first, then the biased variance about it; sums in lanes over
 * (sample, position). Y may be X, dX may be dY: a channel is read whole before it is written. */
typedef struct norm {
  size_t samples, channels, positions;
  sums* kept;    /* of each channel, where the call makes a part; else NULL */
  unsigned pass; /* that the call makes; 0: all */
  int goes_on, is_unfinished;
  const pt_real *x, *scale, *bias, *mean, *var, *dy;
  pt_real *y, *mean_out, *var_out, *dx, *dscale, *dbias;
  pt_real eps;
  pt_activation activation; /* behind it; none: of the plain operators */
} norm;

static norm describe(const pt_call* call, const pt_tensor* x) {
  return (norm){.samples = x->dims[0],
                .channels = x->dims[1],
                .positions = pt_extent(x, 2, x->rank),
                .kept = pt_pass(call) != 0 ? call->workspace : NULL,
                .pass = pt_pass(call),
                .goes_on = pt_goes_on(call),
                .is_unfinished = pt_is_unfinished(call),
                .x = x->data,
                .eps = (pt_real)call->reals[0]};
}

static int makes(const norm* n, unsigned pass) {
  return n->pass == 0 || n->pass == pass;
}

static size_t plane_of(const norm* n, size_t sample, size_t channel) {
  return (sample * n->channels + channel) * n->positions;
}

/* The numbers that normalize a channel: Y = activation((X - mean) a + b). */
typedef struct line {
  pt_real mean, a, b;
} line;

static line line_of(const norm* n, size_t channel, pt_real mean, pt_real var) {
  const line of = {mean, n->scale[channel] / (pt_real)sqrt((double)(var + n->eps)), n->bias[channel]};
  return of;
}

static void normalize(const norm* n, line l, const pt_real* x, pt_real* y) {
  const pt_activation act = n->activation;
#define PT_LOOP(op) \
  for (size_t at = 0; at < n->positions; ++at) y[at] = pt_activate(op, act.p, act.q, (x[at] - l.mean) * l.a + l.b)
  PT_BY_ACTIVATION(act, PT_LOOP);
#undef PT_LOOP
}

/* The sums of a channel as this call goes on with them; the elements of the first pass are counted. */
static sums begun(const norm* n, size_t channel) {
  sums own = {{{0}, 0}, {{0}, 0}, 0};
  if (n->kept != NULL && (n->pass > 1 || n->goes_on)) own = n->kept[channel];
  if (makes(n, 1)) own.count += n->samples * n->positions;
  return own;
}

static void forward_channels(void* arg, size_t begin, size_t end) {
  const norm* n = arg;
  for (size_t channel = begin; channel < end; ++channel) {
    sums own = begun(n, channel);
    if (makes(n, 1)) {
      for (size_t sample = 0; sample < n->samples; ++sample) {
        const pt_real* x = n->x + plane_of(n, sample, channel);
        PT_LANES_ADD(own.first, n->positions, x[at]);
      }
      if (!n->is_unfinished) n->mean_out[channel] = pt_lanes_total(&own.first) / (pt_real)own.count;
    }
    if (makes(n, 2)) {
      const pt_real mean = n->mean_out[channel];
      for (size_t sample = 0; sample < n->samples; ++sample) {
        const pt_real* x = n->x + plane_of(n, sample, channel);
        PT_LANES_ADD(own.second, n->positions, (x[at] - mean) * (x[at] - mean));
      }
      if (!n->is_unfinished) n->var_out[channel] = pt_lanes_total(&own.second) / (pt_real)own.count;
    }
    if (makes(n, 3)) {
      const line l = line_of(n, channel, n->mean_out[channel], n->var_out[channel]);
      for (size_t sample = 0; sample < n->samples; ++sample)
        normalize(n, l, n->x + plane_of(n, sample, channel), n->y + plane_of(n, sample, channel));
    }
    if (n->kept != NULL) n->kept[channel] = own;
  }
}

static pt_status forward(const pt_call* call, pt_activation activation) {
  norm n = describe(call, &call->inputs[0]);
  n.activation = activation;
  n.scale = call->inputs[1].data;
  n.bias = call->inputs[2].data;
  n.y = call->outputs[0].data;
  n.mean_out = call->outputs[1].data;
  n.var_out = call->outputs[2].data;
  if (n.samples * n.positions == 0) return PT_OK;
  return PT_NAME(pt_parallel)(call, n.channels, n.samples * n.channels * n.positions, forward_channels, &n);
}

/* dbias = sum dN, dscale = sum dN xhat, dX = scale / sigma (dN - dbias / n - xhat dscale / n), where dN is dY, or what
 * flows back through the activation. */
static void backward_channels(void* arg, size_t begin, size_t end) {
  const norm* n = arg;
  const pt_activation act = n->activation;
  for (size_t channel = begin; channel < end; ++channel) {
    const pt_real mean = n->mean[channel], inverse = 1 / (pt_real)sqrt((double)(n->var[channel] + n->eps));
    const line l = act.op != 0 ? line_of(n, channel, mean, n->var[channel]) : (line){mean, 0, 0};
    sums own = begun(n, channel);
    for (size_t sample = 0; makes(n, 1) && sample < n->samples; ++sample) {
      const pt_real *x = n->x + plane_of(n, sample, channel), *dy = n->dy + plane_of(n, sample, channel);
#define PT_DN(op) pt_activation_grad(op, act.p, act.q, dy[at], (x[at] - mean) * l.a + l.b)
#define PT_LOOP(op)                                 \
  PT_LANES_ADD(own.first, n->positions, PT_DN(op)); \
  PT_LANES_ADD(own.second, n->positions, PT_DN(op) * (x[at] - mean))
      PT_BY_ACTIVATION(act, PT_LOOP);
#undef PT_LOOP
    }
    if (n->kept != NULL) n->kept[channel] = own;
    if (makes(n, 1) && !n->is_unfinished) {
      n->dscale[channel] = pt_lanes_total(&own.second) * inverse;
      n->dbias[channel] = pt_lanes_total(&own.first);
    }
    if (!makes(n, 2)) continue;
    const pt_real count = (pt_real)own.count, a = n->scale[channel] * inverse, b = n->dbias[channel] / count,
                  c = n->dscale[channel] * inverse / count;
    for (size_t sample = 0; sample < n->samples; ++sample) {
      const pt_real *x = n->x + plane_of(n, sample, channel), *dy = n->dy + plane_of(n, sample, channel);
      pt_real* dx = n->dx + plane_of(n, sample, channel);
#define PT_LOOP(op) \
  for (size_t at = 0; at < n->positions; ++at) dx[at] = a * (PT_DN(op) - b - (x[at] - mean) * c)
      PT_BY_ACTIVATION(act, PT_LOOP);
#undef PT_LOOP
#undef PT_DN
    }
  }
}

/* Of a call that makes a part: the sums of all channels. */
static size_t kept_bytes(const pt_call* call) {
  return pt_pass(call) == 0 ? 0 : call->inputs[0].dims[1] * sizeof(sums);
}

/* The inputs are dY, X, scale, then the bias if there is an activation, then mean and variance. */
static pt_status backward(const pt_call* call, pt_activation activation) {
  const pt_tensor* statistics = call->inputs + (activation.op != 0 ? 4 : 3);
  norm n = describe(call, &call->inputs[1]);
  n.activation = activation;
  n.dy = call->inputs[0].data;
  n.scale = call->inputs[2].data;
  n.bias = call->inputs[3].data;
  n.mean = statistics[0].data;
  n.var = statistics[1].data;
  n.dx = call->outputs[0].data;
  n.dscale = call->outputs[1].data;
  n.dbias = call->outputs[2].data;
  if (n.samples * n.positions == 0) return PT_OK;
  return PT_NAME(pt_parallel)(call, n.channels, n.samples * n.channels * n.positions, backward_channels, &n);
}

/* new = momentum old + (1 - momentum) batch, the variance unbiased: n / (n - 1). */
pt_status PT_NAME(pt_batch_norm_stats)(const pt_call* call) {
  const pt_real *rmean = call->inputs[0].data, *rvar = call->inputs[1].data, *mean = call->inputs[2].data,
                *var = call->inputs[3].data;
  pt_real *new_mean = call->outputs[0].data, *new_var = call->outputs[1].data;
  const double n = (double)call->ints[0];
  const pt_real keep = (pt_real)call->reals[0], take = (pt_real)(1 - call->reals[0]),
                unbiased = (pt_real)(n > 1 ? n / (n - 1) : 1);
  const size_t channels = pt_elements(&call->outputs[0]);
  for (size_t channel = 0; channel < channels; ++channel) {
    new_mean[channel] = keep * rmean[channel] + take * mean[channel];
    new_var[channel] = keep * rvar[channel] + take * (var[channel] * unbiased);
  }
  return PT_OK;
}

static void eval_planes(void* arg, size_t begin, size_t end) {
  const norm* n = arg;
  for (size_t plane = begin; plane < end; ++plane) {
    const size_t channel = plane % n->channels;
    const line l = line_of(n, channel, n->mean[channel], n->var[channel]);
    normalize(n, l, n->x + plane * n->positions, n->y + plane * n->positions);
  }
}

static pt_status evaluate(const pt_call* call, pt_activation activation) {
  norm n = describe(call, &call->inputs[0]);
  n.activation = activation;
  n.scale = call->inputs[1].data;
  n.bias = call->inputs[2].data;
  n.mean = call->inputs[3].data;
  n.var = call->inputs[4].data;
  n.y = call->outputs[0].data;
  return PT_NAME(pt_parallel)(call, n.samples * n.channels, n.samples * n.channels * n.positions, eval_planes, &n);
}

static const pt_activation kNoActivation = {0, 0, 0};

/* The op alone, and with an activation behind it. */
#define PT_NORM(name, with_activation, function)                 \
  pt_status PT_NAME(pt_##name)(const pt_call* call) {            \
    return function(call, kNoActivation);                        \
  }                                                              \
  pt_status PT_NAME(pt_##with_activation)(const pt_call* call) { \
    return function(call, pt_activation_of(call));               \
  }
#define PT_NORM_IN_PARTS(name, with_activation, function)                 \
  PT_NORM(name, with_activation, function)                                \
  size_t PT_NAME(pt_##name##_workspace)(const pt_call* call) {            \
    return kept_bytes(call);                                              \
  }                                                                       \
  size_t PT_NAME(pt_##with_activation##_workspace)(const pt_call* call) { \
    return kept_bytes(call);                                              \
  }
PT_NORM_IN_PARTS(batch_norm, batch_norm_act, forward)
PT_NORM_IN_PARTS(batch_norm_grad, batch_norm_act_grad, backward)
PT_NORM(batch_norm_eval, batch_norm_act_eval, evaluate)
