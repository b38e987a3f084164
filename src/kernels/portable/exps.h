/* e^(x - top) of many numbers at once, by the widest vectors of the processor, with the bits of pt_real_exp in all of
 * them; and the rows of softmax and related ops, where element k of a row lies at x[k * step]. */
#pragma once

#include "kernels/portable/lanes.h"
#include "kernels/portable/real_math.h"

/* The number of adjacent rows (such as positions of an image) that are computed together, and the number of elements
 * of a row in one part. Small processors have neither the vectors nor the stack for them. */
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
enum { PT_SIDE_BY_SIDE = 0, PT_COLUMNS = 1, PT_ROW_PART = PT_LANES };
#else
enum { PT_SIDE_BY_SIDE = 1, PT_COLUMNS = 16, PT_ROW_PART = 8 * PT_LANES };
#endif

typedef struct pt_exps {
  void (*row)(const pt_real* x, size_t count, pt_real top, pt_real* e); /* e may be x */
  void (*columns)(const pt_real* x, const pt_real* top, pt_real* e);    /* PT_COLUMNS of them, each with its top */
} pt_exps;
pt_exps PT_NAME(pt_exps_here)(void);

static inline pt_exps pt_exps_where_worth_it(void) {
  const pt_exps none = {0};
  return PT_SIDE_BY_SIDE ? PT_NAME(pt_exps_here)() : none;
}

/* May the next PT_COLUMNS rows, which must end before `end`, be computed together? Rows are numbered so that `step`
 * of them are adjacent. */
static inline int pt_are_columns(size_t row, size_t end, size_t step) {
  return PT_SIDE_BY_SIDE && step >= PT_COLUMNS && row + PT_COLUMNS <= end && row % step + PT_COLUMNS <= step;
}

/* The index of a row's first element, for rows of so many elements. */
static inline size_t pt_row_begin(size_t row, size_t count, size_t step) {
  return step == 1 ? row * count : row / step * step * count + row % step;
}

static inline pt_real pt_row_top(const pt_real* x, size_t count, size_t step) {
  pt_real top = x[0];
  for (size_t at = 1; at < count; ++at) top = x[at * step] > top ? x[at * step] : top;
  return top;
}

/* Computes the row's e^(x - top) from element `first` on, at most PT_ROW_PART of them; returns how many. */
static inline size_t pt_row_exps(const pt_exps* exps, const pt_real* x, size_t first, size_t count, size_t step,
                                 pt_real top, pt_real* e) {
  const size_t part = count - first < PT_ROW_PART ? count - first : PT_ROW_PART;
  if (PT_SIDE_BY_SIDE && step == 1 &&
      part >= PT_COLUMNS) /* too few elements for vectors: the call itself would take most of the time */
    exps->row(x + first, part, top, e);
  else
    for (size_t at = 0; at < part; ++at) e[at] = pt_real_exp(x[(first + at) * step] - top);
  return part;
}

static inline pt_real pt_row_exp_sum(const pt_exps* exps, const pt_real* x, size_t count, size_t step, pt_real top) {
  pt_real e[PT_ROW_PART];
  pt_lanes lanes = {{0}, 0};
  for (size_t first = 0, part; first < count; first += part) {
    part = pt_row_exps(exps, x, first, count, step, top, e);
    PT_LANES_ADD(lanes, part, e[at]);
  }
  return pt_lanes_total(&lanes);
}

/* Sums TERM (an expression in `at`, the element, and `column`) over at = 0 .. count - 1, for every column. */
#define PT_COLUMN_SUMS(sums, count, TERM)                                                                   \
  do {                                                                                                      \
    pt_real column_lanes[PT_LANES][PT_COLUMNS] = {{0}};                                                     \
    for (size_t at = 0; at < (count); ++at)                                                                 \
      for (size_t column = 0; column < PT_COLUMNS; ++column) column_lanes[at % PT_LANES][column] += (TERM); \
    for (size_t column = 0; column < PT_COLUMNS; ++column)                                                  \
      (sums)[column] = pt_lanes_tree(&column_lanes[0][column], PT_COLUMNS);                                 \
  } while (0)

static inline void pt_column_tops(const pt_real* x, size_t count, size_t step, pt_real* top) {
  for (size_t column = 0; column < PT_COLUMNS; ++column) top[column] = x[column];
  for (size_t at = 1; at < count; ++at)
    for (size_t column = 0; column < PT_COLUMNS; ++column)
      top[column] = x[at * step + column] > top[column] ? x[at * step + column] : top[column];
}

static inline void pt_column_exp_sums(const pt_exps* exps, const pt_real* x, size_t count, size_t step,
                                      const pt_real* top, pt_real* sums) {
  pt_real lanes[PT_LANES][PT_COLUMNS] = {{0}}, e[PT_COLUMNS];
  for (size_t at = 0; at < count; ++at) {
    exps->columns(x + at * step, top, e);
    for (size_t column = 0; column < PT_COLUMNS; ++column) lanes[at % PT_LANES][column] += e[column];
  }
  for (size_t column = 0; column < PT_COLUMNS; ++column) sums[column] = pt_lanes_tree(&lanes[0][column], PT_COLUMNS);
}
