#include <math.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/lanes.h"
#include "kernels/portable/parallel.h"

/* Per channel over samples and positions. The mean first, then the biased variance about it; sums in lanes over
 * (sample, position). Y may be X, dX may be dY: a channel is read whole before it is written. */
typedef struct norm {
  size_t samples, channels, positions;
  const pt_real *x, *scale, *bias, *mean, *var, *dy;
  pt_real *y, *mean_out, *var_out, *dx, *dscale, *dbias;
  pt_real eps;
} norm;

static norm describe(const pt_call* call, const pt_tensor* x) {
  norm n = {x->dims[0], x->dims[1], pt_extent(x, 2, x->rank),
            NULL,       NULL,       NULL,
            NULL,       NULL,       NULL,
            NULL,       NULL,       NULL,
            NULL,       NULL,       NULL,
            0};
  n.x = x->data;
  n.eps = (pt_real)call->reals[0];
  return n;
}

static size_t plane_of(const norm* n, size_t sample, size_t channel) {
  return (sample * n->channels + channel) * n->positions;
}

static void forward_channels(void* arg, size_t begin, size_t end) {
  const norm* n = arg;
  const pt_real count = (pt_real)(n->samples * n->positions);
  for (size_t channel = begin; channel < end; ++channel) {
    pt_lanes sums = {{0}, 0}, squares = {{0}, 0};
    for (size_t sample = 0; sample < n->samples; ++sample) {
      const pt_real* x = n->x + plane_of(n, sample, channel);
      PT_LANES_ADD(sums, n->positions, x[at]);
    }
    const pt_real mean = pt_lanes_total(&sums) / count;
    for (size_t sample = 0; sample < n->samples; ++sample) {
      const pt_real* x = n->x + plane_of(n, sample, channel);
      PT_LANES_ADD(squares, n->positions, (x[at] - mean) * (x[at] - mean));
    }
    const pt_real var = pt_lanes_total(&squares) / count;
    const pt_real a = n->scale[channel] / (pt_real)sqrt((double)(var + n->eps)), b = n->bias[channel];
    for (size_t sample = 0; sample < n->samples; ++sample) {
      const pt_real* x = n->x + plane_of(n, sample, channel);
      pt_real* y = n->y + plane_of(n, sample, channel);
      for (size_t at = 0; at < n->positions; ++at) y[at] = (x[at] - mean) * a + b;
    }
    n->mean_out[channel] = mean;
    n->var_out[channel] = var;
  }
}

pt_status PT_NAME(pt_batch_norm)(const pt_call* call) {
  norm n = describe(call, &call->inputs[0]);
  n.scale = call->inputs[1].data;
  n.bias = call->inputs[2].data;
  n.y = call->outputs[0].data;
  n.mean_out = call->outputs[1].data;
  n.var_out = call->outputs[2].data;
  if (n.samples * n.positions == 0) return PT_OK;
  PT_NAME(pt_parallel)(call, n.channels, n.samples * n.channels * n.positions, forward_channels, &n);
  return PT_OK;
}

/* dbias = sum dY, dscale = sum dY xhat, dX = scale / sigma (dY - dbias / n - xhat dscale / n). */
static void backward_channels(void* arg, size_t begin, size_t end) {
  const norm* n = arg;
  const pt_real count = (pt_real)(n->samples * n->positions);
  for (size_t channel = begin; channel < end; ++channel) {
    const pt_real mean = n->mean[channel], inverse = 1 / (pt_real)sqrt((double)(n->var[channel] + n->eps));
    pt_lanes sums = {{0}, 0}, products = {{0}, 0};
    for (size_t sample = 0; sample < n->samples; ++sample) {
      const pt_real *x = n->x + plane_of(n, sample, channel), *dy = n->dy + plane_of(n, sample, channel);
      PT_LANES_ADD(sums, n->positions, dy[at]);
      PT_LANES_ADD(products, n->positions, dy[at] * (x[at] - mean));
    }
    const pt_real dbias = pt_lanes_total(&sums), dscale = pt_lanes_total(&products) * inverse;
    const pt_real a = n->scale[channel] * inverse, b = dbias / count, c = dscale * inverse / count;
    for (size_t sample = 0; sample < n->samples; ++sample) {
      const pt_real *x = n->x + plane_of(n, sample, channel), *dy = n->dy + plane_of(n, sample, channel);
      pt_real* dx = n->dx + plane_of(n, sample, channel);
      for (size_t at = 0; at < n->positions; ++at) dx[at] = a * (dy[at] - b - (x[at] - mean) * c);
    }
    n->dscale[channel] = dscale;
    n->dbias[channel] = dbias;
  }
}

pt_status PT_NAME(pt_batch_norm_grad)(const pt_call* call) {
  norm n = describe(call, &call->inputs[1]);
  n.dy = call->inputs[0].data;
  n.scale = call->inputs[2].data;
  n.mean = call->inputs[3].data;
  n.var = call->inputs[4].data;
  n.dx = call->outputs[0].data;
  n.dscale = call->outputs[1].data;
  n.dbias = call->outputs[2].data;
  if (n.samples * n.positions == 0) return PT_OK;
  PT_NAME(pt_parallel)(call, n.channels, n.samples * n.channels * n.positions, backward_channels, &n);
  return PT_OK;
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
    const pt_real a = n->scale[channel] / (pt_real)sqrt((double)(n->var[channel] + n->eps)), mean = n->mean[channel],
                  b = n->bias[channel];
    const pt_real* x = n->x + plane * n->positions;
    pt_real* y = n->y + plane * n->positions;
    for (size_t at = 0; at < n->positions; ++at) y[at] = (x[at] - mean) * a + b;
  }
}

pt_status PT_NAME(pt_batch_norm_eval)(const pt_call* call) {
  norm n = describe(call, &call->inputs[0]);
  n.scale = call->inputs[1].data;
  n.bias = call->inputs[2].data;
  n.mean = call->inputs[3].data;
  n.var = call->inputs[4].data;
  n.y = call->outputs[0].data;
  PT_NAME(pt_parallel)(call, n.samples * n.channels, n.samples * n.channels * n.positions, eval_planes, &n);
  return PT_OK;
}
