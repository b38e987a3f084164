/* numpy's broadcasting of up to three operands to one shape. Dimensions that all operands walk alike are merged, so
 * that equal shapes, scalars and per-channel operands become long inner rows. */
#pragma once

#include "kernels/portable/real.h"

enum { PT_BROADCAST_OPERANDS = 3 };

typedef struct pt_broadcast {
  size_t operands, rank, dims[PT_MAX_RANK];
  size_t steps[PT_BROADCAST_OPERANDS][PT_MAX_RANK]; /* in elements; 0 where an operand is spread */
} pt_broadcast;

static inline void pt_broadcast_steps(const pt_tensor* operand, const pt_tensor* y, size_t* steps) {
  size_t step = 1;
  for (size_t from_end = 0; from_end < y->rank; ++from_end) {
    const size_t dim = y->rank - 1u - from_end;
    const size_t own = from_end < operand->rank ? operand->dims[operand->rank - 1u - from_end] : 1;
    steps[dim] = own == 1 ? 0 : step;
    step *= own;
  }
}

static inline pt_broadcast pt_broadcast_of(const pt_tensor* operands, size_t count, const pt_tensor* y) {
  size_t steps[PT_BROADCAST_OPERANDS][PT_MAX_RANK];
  pt_broadcast b = {count, 0, {0}, {{0}}};
  for (size_t operand = 0; operand < count; ++operand) pt_broadcast_steps(&operands[operand], y, steps[operand]);
  for (size_t dim = 0; dim < y->rank; ++dim) {
    const size_t extent = y->dims[dim];
    if (extent == 1 && y->rank > 1) continue;
    int merges = b.rank > 0;
    for (size_t operand = 0; operand < count && merges; ++operand)
      merges = b.steps[operand][b.rank - 1] == steps[operand][dim] * extent;
    if (merges) {
      b.dims[b.rank - 1] *= extent;
    } else {
      b.dims[b.rank++] = extent;
    }
    for (size_t operand = 0; operand < count; ++operand) b.steps[operand][b.rank - 1] = steps[operand][dim];
  }
  if (b.rank == 0) b.dims[b.rank++] = 1;
  return b;
}

/* How far apart neighbours within an inner row are in an operand. */
static inline size_t pt_broadcast_step(const pt_broadcast* b, size_t operand) {
  return b->steps[operand][b->rank - 1];
}

/* Where each operand has the output's element `index`; returns how many elements the inner row has from there on, at most
 * those before `end`. */
static inline size_t pt_broadcast_seek(const pt_broadcast* b, size_t index, size_t end, size_t* at) {
  const size_t inner = b->dims[b->rank - 1], column = index % inner;
  for (size_t operand = 0; operand < b->operands; ++operand) at[operand] = column * b->steps[operand][b->rank - 1];
  size_t rest = index / inner;
  for (size_t dim = b->rank - 1; dim-- > 0;) {
    const size_t here = rest % b->dims[dim];
    for (size_t operand = 0; operand < b->operands; ++operand) at[operand] += here * b->steps[operand][dim];
    rest /= b->dims[dim];
  }
  return pt_least(inner - column, end - index);
}
