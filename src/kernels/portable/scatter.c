#include <string.h>

#include "kernels/portable/indices.h"
#include "kernels/portable/integer_along.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/pt_integer.h"
#include "kernels/portable/scatter_lanes.h"

/* Y = X with U at I along an axis. Lanes of updates along the axis never meet in an element: threads take lanes, and
 * the updates of an element come in ascending position, whatever their number. */
typedef struct scatter {
  pt_lanes lanes;
  const char* u;
  char* y;
  uint8_t dtype;
  size_t element;
  int64_t reduction;
} scatter;

static pt_real joined_reals(int64_t reduction, pt_real old, pt_real update) {
  switch (reduction) {
    case PT_SCATTER_ADD:
      return old + update;
    case PT_SCATTER_MUL:
      return old * update;
    case PT_SCATTER_MAX:
      return update > old || update != update ? update : old;
    default:
      return update < old || update != update ? update : old;
  }
}

static int64_t joined_integers(int64_t reduction, int64_t old, int64_t update) {
  switch (reduction) {
    case PT_SCATTER_ADD:
      return pt_whole_add(old, update);
    case PT_SCATTER_MUL:
      return pt_whole_mul(old, update);
    case PT_SCATTER_MAX:
      return update > old ? update : old;
    default:
      return update < old ? update : old;
  }
}

static void join_integer(const scatter* s, size_t to, size_t from) {
  const int64_t old = pt_integer_at(s->y, s->dtype, to), update = pt_integer_at(s->u, s->dtype, from);
  pt_integer_put(s->y, s->dtype, to, joined_integers(s->reduction, old, update));
}

static void scatter_lanes(void* arg, size_t begin, size_t end) {
  const scatter* s = arg;
  for (size_t lane = begin; lane < end; ++lane) {
    const pt_lane at = pt_lane_of(&s->lanes, lane);
    for (size_t step = 0; step < s->lanes.length; ++step) {
      const size_t from = pt_update_at(&s->lanes, at, step), to = pt_target_at(&s->lanes, at, step);
      if (s->reduction == PT_SCATTER_LAST)
        memcpy(s->y + to * s->element, s->u + from * s->element, s->element);
      else if (s->dtype == PT_REAL_DTYPE)
        ((pt_real*)(void*)s->y)[to] =
            joined_reals(s->reduction, ((pt_real*)(void*)s->y)[to], ((const pt_real*)(const void*)s->u)[from]);
      else
        join_integer(s, to, from);
    }
  }
}

pt_status PT_NAME(pt_scatter_elements)(const pt_call* call) {
  const pt_tensor *x = &call->inputs[0], *u = &call->inputs[2], *y = &call->outputs[0];
  const scatter s = {pt_lanes_of(call, x, u), u->data, y->data, y->dtype, pt_element_size(y->dtype), call->ints[1]};
  const pt_status status = pt_check_indices(s.lanes.indices, (int64_t)s.lanes.extent);
  if (status != PT_OK) return status;
  if (y->data != x->data) memcpy(y->data, x->data, pt_elements(x) * s.element);
  return PT_NAME(pt_parallel)(call, s.lanes.count, s.lanes.count * s.lanes.length, scatter_lanes, (void*)(uintptr_t)&s);
}

/* ---- where the last update holds: from the last to the first, each takes what is left ---- */

typedef struct taken {
  pt_lanes lanes;
  pt_real *dx, *du;
} taken;

static void take_lanes(void* arg, size_t begin, size_t end) {
  const taken* t = arg;
  for (size_t lane = begin; lane < end; ++lane) {
    const pt_lane at = pt_lane_of(&t->lanes, lane);
    for (size_t step = t->lanes.length; step-- > 0;) {
      const size_t from = pt_target_at(&t->lanes, at, step);
      t->du[pt_update_at(&t->lanes, at, step)] = t->dx[from];
      t->dx[from] = 0;
    }
  }
}

pt_status PT_NAME(pt_scatter_elements_grad)(const pt_call* call) {
  const pt_tensor *dy = &call->inputs[0], *dx = &call->outputs[0], *du = &call->outputs[1];
  const taken t = {pt_lanes_of(call, dx, du), dx->data, du->data};
  const pt_status status = pt_check_indices(t.lanes.indices, (int64_t)t.lanes.extent);
  if (status != PT_OK) return status;
  if (dx->data != dy->data) memcpy(dx->data, dy->data, pt_elements(dx) * sizeof(pt_real));
  return PT_NAME(pt_parallel)(call, t.lanes.count, t.lanes.count * t.lanes.length, take_lanes, (void*)(uintptr_t)&t);
}
