/* Describes a reduction over the dimensions of a mask: which elements belong to an output. */
#pragma once

#include <string.h>

#include "kernels/portable/parallel.h"

typedef struct reduction {
  size_t kept_rank, kept[PT_MAX_RANK], kept_steps[PT_MAX_RANK];
  size_t reduced_rank, reduced[PT_MAX_RANK], reduced_steps[PT_MAX_RANK];
  size_t outputs, count; /* count: reduced elements per output */
  const pt_real* x;
  pt_real* y;
  pt_real divisor; /* 0: none */
} reduction;

/* Appends a dimension, merged with the one before it where one step walks both. */
static inline void pt_reduction_append(size_t* dims, size_t* steps, size_t* rank, size_t extent, size_t step) {
  if (*rank > 0 && steps[*rank - 1] == extent * step) {
    dims[*rank - 1] *= extent;
    steps[*rank - 1] = step;
    return;
  }
  dims[*rank] = extent;
  steps[(*rank)++] = step;
}

static inline reduction pt_reduction_of(const pt_tensor* x, int64_t dimensions) {
  const uint64_t mask = (uint64_t)dimensions;
  reduction r;
  memset(&r, 0, sizeof r);
  r.outputs = r.count = 1;
  for (size_t dim = 0; dim < x->rank; ++dim) {
    const size_t extent = x->dims[dim], step = pt_extent(x, dim + 1, x->rank);
    if (mask >> dim & 1) {
      r.count *= extent;
      if (extent != 1) pt_reduction_append(r.reduced, r.reduced_steps, &r.reduced_rank, extent, step);
    } else {
      r.outputs *= extent;
      if (extent != 1) pt_reduction_append(r.kept, r.kept_steps, &r.kept_rank, extent, step);
    }
  }
  r.x = x->data;
  return r;
}

static inline size_t pt_reduction_at(size_t index, const size_t* dims, const size_t* steps, size_t rank) {
  size_t offset = 0;
  for (size_t dim = rank; dim-- > 0;) {
    offset += index % dims[dim] * steps[dim];
    index /= dims[dim];
  }
  return offset;
}
