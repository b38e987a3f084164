/* What the parts of the slices' implementation share: steps and boxes (slices.c), opening (slice_loops.c), totals (slice_traffic.c). Nothing else includes it. */
#pragma once

#include "runtime/slices.h"

/* A range of indices along an axis. */
typedef struct pt_range {
  uint32_t begin, end;
} pt_range;

/* Indices of a windowed operand for [begin, end) of the axis. Of a convolution: the paddings of the part, too; of a slice: where the part's first
 * element lies in the other operand's part, or of a negative step the last. */
typedef struct pt_part {
  int64_t from, to, top, bottom, start;
} pt_part;

/* An update's slice, which the loops outside of those over terms leave of its results: runs of elements, in each of which the loop behind the terms has
 * `parts` steps. */
typedef struct pt_updated {
  pt_box box;
  uint32_t runs, run, parts;
  uint8_t dims; /* in front of the innermost one that is cut */
} pt_updated;

unsigned pt_operands_of(const pt_op_view* view);
int pt_is_output(const pt_loop* loop, unsigned operand);
/* An operand as it is cut: what is updated behind the terms is a vector. */
pt_tensor pt_shape_of(const pt_loop* loop, unsigned operand);
/* What is held of a result, and where the loop is apart of an input that is not along the terms, is all that the loops inside of those over terms make
 * or read. */
int pt_is_held(const pt_loop* loop, unsigned operand);
int pt_is_held_along(const pt_loop* loop, unsigned operand, unsigned at);
/* Is the loop one outside of those over terms? */
int pt_is_outer(const pt_loop* loop, unsigned at);
/* The range of this step: along an axis, by all of its loops, or along that of a loop. */
pt_range pt_range_of(const pt_loop* loop, unsigned number);
pt_range pt_range_at(const pt_loop* loop, unsigned at);
/* How many steps the loop has, at this step of those that it is in. */
uint32_t pt_count_at(const pt_loop* loop, unsigned at);
pt_updated pt_updated_of(const pt_loop* loop);
/* Steps of the loop behind the terms. Of the slices of each loop outside of those over terms the last may be smaller than the others. */
uint64_t pt_updates_of(const pt_loop* loop);
int pt_is_convolution(const pt_axis* axis);
/* The part of a windowed operand that follows from a range of the axis. */
pt_part pt_window_of(const pt_loop* loop, unsigned number, unsigned operand, pt_range by);
/* A number that divides every index at which a part of the operand begins or ends, but for its whole extent. */
uint32_t pt_window_step(const pt_loop* loop, unsigned at, unsigned operand);
/* The part of the operand at this step, as far as the loops say that are not `without`. */
pt_box pt_box_of(const pt_loop* loop, unsigned operand, unsigned without);
/* Elements of an operand that is updated behind the terms, at this step of that loop. */
pt_box pt_updated_box(const pt_loop* loop, unsigned operand);
uint64_t pt_tensor_bytes(const pt_loop* loop, unsigned operand);
uint32_t pt_units_for(const pt_loop* loop, uint64_t bytes);
/* Gives the tensor the extents of the box. */
void pt_point_at(pt_tensor* tensor, const pt_box* box);
/* Does the operand move between storage and its buffer in whole units alone? */
int pt_moves_units(const pt_loop* loop, unsigned operand);
