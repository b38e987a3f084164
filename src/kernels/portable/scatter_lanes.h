/* The updates U of X at the indices I along an axis, as lanes along that axis: all updates of an element are in one
 * lane. */
#pragma once

#include "kernels/portable/indices.h"

typedef struct pt_lanes {
  const pt_tensor *x, *u, *indices;
  size_t axis, extent, x_step, u_step; /* extent of X; the elements between neighbours along the axis */
  size_t count, length;                /* lanes, and updates of each */
  int by_row;                          /* the indices are a vector: the same for all lanes */
} pt_lanes;

/* The first element of a lane in U and in X. */
typedef struct pt_lane {
  size_t u, x;
} pt_lane;

static inline pt_lanes pt_lanes_of(const pt_call* call, const pt_tensor* x, const pt_tensor* u) {
  const size_t axis = (size_t)call->ints[0];
  const pt_lanes lanes = {x,
                          u,
                          &call->inputs[1],
                          axis,
                          x->dims[axis],
                          pt_extent(x, axis + 1, x->rank),
                          pt_extent(u, axis + 1, u->rank),
                          pt_elements(u) / u->dims[axis],
                          u->dims[axis],
                          call->inputs[1].rank != u->rank};
  return lanes;
}

static inline pt_lane pt_lane_of(const pt_lanes* lanes, size_t lane) {
  pt_lane begin = {0, 0};
  size_t u_step = 1, x_step = 1;
  for (size_t dim = lanes->u->rank; dim-- > 0;) {
    const size_t extent = lanes->u->dims[dim];
    if (dim != lanes->axis) {
      begin.u += lane % extent * u_step;
      begin.x += lane % extent * x_step;
      lane /= extent;
    }
    u_step *= extent;
    x_step *= lanes->x->dims[dim];
  }
  return begin;
}

static inline size_t pt_update_at(const pt_lanes* lanes, pt_lane lane, size_t step) {
  return lane.u + step * lanes->u_step;
}
static inline size_t pt_target_at(const pt_lanes* lanes, pt_lane lane, size_t step) {
  const size_t index = lanes->by_row ? step : pt_update_at(lanes, lane, step);
  return lane.x + pt_row_of(lanes->indices, index, lanes->extent) * lanes->x_step;
}
