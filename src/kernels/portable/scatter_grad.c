#include "kernels/portable/kernels.h"
#include "kernels/portable/scatter_lanes.h"

/* Gradients of scattered maxima, minima and products. dX first counts how many share an element's gradient, or holds
 * the product of its factors that are not 0. */
typedef struct shares {
  pt_lanes lanes;
  const pt_real *dy, *x, *u, *y;
  pt_real *dx, *du;
  uint8_t* zeros; /* factors of an element that are 0, at most 2; of products alone */
} shares;

/* ---- maxima and minima ---- */

static void count_lanes(void* arg, size_t begin, size_t end) {
  const shares* s = arg;
  for (size_t lane = begin; lane < end; ++lane) {
    const pt_lane at = pt_lane_of(&s->lanes, lane);
    for (size_t step = 0; step < s->lanes.length; ++step) {
      const size_t to = pt_target_at(&s->lanes, at, step);
      s->dx[to] += s->u[pt_update_at(&s->lanes, at, step)] == s->y[to];
    }
    for (size_t step = 0; step < s->lanes.length; ++step) {
      const size_t from = pt_target_at(&s->lanes, at, step), update = pt_update_at(&s->lanes, at, step);
      s->du[update] = s->u[update] == s->y[from] ? s->dy[from] / s->dx[from] : 0;
    }
  }
}

static void share_extremes(const pt_call* call, shares* s, size_t count) {
  for (size_t at = 0; at < count; ++at) s->dx[at] = s->x[at] == s->y[at];
  PT_NAME(pt_parallel)(call, s->lanes.count, s->lanes.count * s->lanes.length * 2, count_lanes, s);
  for (size_t at = 0; at < count; ++at) s->dx[at] = s->x[at] == s->y[at] ? s->dy[at] / s->dx[at] : 0;
}

/* ---- products ---- */

static void take_factor(const shares* s, size_t at, pt_real factor) {
  if (factor != 0)
    s->dx[at] *= factor;
  else if (s->zeros[at] < 2)
    ++s->zeros[at];
}

/* dY times the product of all other factors. */
static pt_real without(const shares* s, size_t at, pt_real factor) {
  if (s->zeros[at] == 0) return s->dy[at] * (s->dx[at] / factor);
  return s->zeros[at] == 1 && factor == 0 ? s->dy[at] * s->dx[at] : 0;
}

static void multiply_lanes(void* arg, size_t begin, size_t end) {
  const shares* s = arg;
  for (size_t lane = begin; lane < end; ++lane) {
    const pt_lane at = pt_lane_of(&s->lanes, lane);
    for (size_t step = 0; step < s->lanes.length; ++step)
      take_factor(s, pt_target_at(&s->lanes, at, step), s->u[pt_update_at(&s->lanes, at, step)]);
    for (size_t step = 0; step < s->lanes.length; ++step) {
      const size_t update = pt_update_at(&s->lanes, at, step);
      s->du[update] = without(s, pt_target_at(&s->lanes, at, step), s->u[update]);
    }
  }
}

static void share_products(const pt_call* call, shares* s, size_t count) {
  s->zeros = call->workspace;
  for (size_t at = 0; at < count; ++at) {
    s->dx[at] = 1;
    s->zeros[at] = 0;
    take_factor(s, at, s->x[at]);
  }
  PT_NAME(pt_parallel)(call, s->lanes.count, s->lanes.count * s->lanes.length * 2, multiply_lanes, s);
  for (size_t at = 0; at < count; ++at) s->dx[at] = without(s, at, s->x[at]);
}

size_t PT_NAME(pt_scatter_reduce_grad_workspace)(const pt_call* call) {
  return call->ints[1] == PT_SCATTER_MUL ? pt_elements(&call->inputs[0]) : 0;
}

pt_status PT_NAME(pt_scatter_reduce_grad)(const pt_call* call) {
  const pt_tensor *x = &call->inputs[2], *u = &call->inputs[3];
  shares s = {pt_lanes_of(call, x, u), call->inputs[0].data,  x->data, u->data, call->inputs[4].data,
              call->outputs[0].data,   call->outputs[1].data, NULL};
  const pt_status status = pt_check_indices(s.lanes.indices, (int64_t)s.lanes.extent);
  if (status != PT_OK) return status;
  if (call->ints[1] == PT_SCATTER_MUL)
    share_products(call, &s, pt_elements(x));
  else
    share_extremes(call, &s, pt_elements(x));
  return PT_OK;
}
