/* The order of every long sum that is not a product: element i (ascending) is added to lane i % 8, then
 * ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). */
#pragma once

#include "kernels/portable/real.h"

enum { PT_LANES = 8 };

typedef struct pt_lanes {
  pt_real sum[PT_LANES];
  size_t next; /* the lane of the next element */
} pt_lanes;

static inline pt_real pt_lanes_tree(const pt_real* s, size_t stride) {
  return ((s[0] + s[4 * stride]) + (s[2 * stride] + s[6 * stride])) +
         ((s[stride] + s[5 * stride]) + (s[3 * stride] + s[7 * stride]));
}

static inline pt_real pt_lanes_total(const pt_lanes* lanes) {
  return pt_lanes_tree(lanes->sum, 1);
}

/* The sum as a call of a kernel that makes parts goes on with it: between two calls it lies in the workspace. */
static inline pt_lanes pt_lanes_begun(int goes_on, const void* workspace) {
  const pt_lanes none = {{0}, 0};
  return goes_on ? *(const pt_lanes*)workspace : none;
}

/* Adds TERM (an expression in `at`) for at = 0 .. count - 1: singly up to lane 0, by eights, singly to the end. */
#define PT_LANES_ADD(lanes, count, TERM)                                            \
  do {                                                                              \
    size_t at = 0;                                                                  \
    for (; at < (count) && (lanes).next != 0; ++at) {                               \
      (lanes).sum[(lanes).next] += (TERM);                                          \
      (lanes).next = ((lanes).next + 1) % PT_LANES;                                 \
    }                                                                               \
    for (size_t base = at; base + PT_LANES <= (count); base += PT_LANES, at = base) \
      for (size_t lane = 0; lane < PT_LANES; ++lane) {                              \
        at = base + lane;                                                           \
        (lanes).sum[lane] += (TERM);                                                \
      }                                                                             \
    for (; at < (count); ++at) {                                                    \
      (lanes).sum[(lanes).next] += (TERM);                                          \
      (lanes).next = ((lanes).next + 1) % PT_LANES;                                 \
    }                                                                               \
  } while (0)
