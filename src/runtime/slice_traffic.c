/* What the whole loop of an op in slices moves: what the planner counts is what the interpreter does. */
#include "runtime/slice_parts.h"

#ifndef PT_NO_SLICES

static int is_windowed(const pt_loop* loop, unsigned operand) {
  unsigned at;
  for (at = 0; at < loop->loops; ++at)
    if (pt_is_windowed(&loop->axes.axis[loop->axis[at]], operand)) return 1;
  return 0;
}

/* What all slices of an operand move, each once. */
static pt_traffic traffic_of_slices(const pt_loop* loop, unsigned operand) {
  pt_loop at = *loop;
  pt_traffic sum = {0, 0};
  do {
    const pt_box box = pt_slice_of(&at, operand);
    pt_runs run = pt_runs_of(&at, operand, &box);
    if (pt_is_empty(&box)) continue;
    do {
      const pt_units units = pt_units_of(loop, operand, &run);
      if (units.first >= units.end) continue;
      sum.bytes += (units.end - units.first) * loop->unit;
      ++sum.transfers;
    } while (pt_next_run(&box, &run));
  } while (pt_next_slice(&at, operand));
  return sum;
}

/* The same without a walk, where every run begins and ends at a unit: the slices are the whole tensor, and each index in front of the innermost dimension
 * that is cut has a run in each of that dimension's slices. */
static pt_traffic traffic_of_units(const pt_loop* loop, unsigned operand) {
  const pt_tensor shape = pt_shape_of(loop, operand);
  pt_traffic sum = {(pt_tensor_bytes(loop, operand) + loop->unit - 1) / loop->unit * loop->unit, 1};
  unsigned dim, at;
  for (dim = 0; dim < loop->run_dim[operand]; ++dim) sum.transfers *= shape.dims[dim];
  for (at = 0; at < loop->loops; ++at)
    if (loop->axes.dim[loop->axis[at]][operand] == (int)loop->run_dim[operand] && !pt_is_held_along(loop, operand, at))
      sum.transfers *= loop->counts[at];
  return sum;
}

/* The same of a table's rows, which move equally many units each. */
static pt_traffic traffic_of_rows(const pt_loop* loop, uint64_t slices) {
  const pt_box box = pt_slice_of(loop, 0);
  const pt_runs run = pt_runs_of(loop, 0, &box);
  const pt_units units = pt_units_of(loop, 0, &run);
  pt_traffic sum;
  sum.bytes = slices * (units.end - units.first) * loop->unit;
  sum.transfers = slices;
  return sum;
}

/* Of the operand. */
static uint64_t slices_of(const pt_loop* loop, unsigned operand) {
  const unsigned own = pt_loops_of(loop, operand);
  uint64_t slices = 1;
  unsigned at;
  for (at = 0; at < loop->loops; ++at)
    if ((own >> at & 1) != 0) slices *= loop->counts[at];
  return slices;
}

uint64_t pt_passes_over(const pt_loop* loop, unsigned operand) {
  if (pt_is_rest(loop, operand)) return 1;
  return pt_moves_of(loop, operand) / slices_of(loop, operand);
}

/* The same behind the terms: the tensor, in a transfer for each step. */
static pt_traffic traffic_of_rest(const pt_loop* loop, unsigned operand) {
  pt_traffic sum;
  sum.bytes = (pt_tensor_bytes(loop, operand) + loop->unit - 1) / loop->unit * loop->unit;
  sum.transfers = pt_updates_of(loop);
  return sum;
}

pt_traffic pt_traffic_of_pass(const pt_loop* loop, unsigned operand) {
  const int looks_up = operand == 0 && pt_looks_up(loop);
  if (pt_is_rest(loop, operand)) return traffic_of_rest(loop, operand);
  if (looks_up && loop->how[0] == PT_SPAN) return traffic_of_rows(loop, slices_of(loop, 0));
  if (!looks_up && !is_windowed(loop, operand) && pt_moves_units(loop, operand)) return traffic_of_units(loop, operand);
  return traffic_of_slices(loop, operand);
}

pt_traffic pt_traffic_of(const pt_loop* loop, unsigned operand) {
  const uint64_t times = pt_passes_over(loop, operand);
  pt_traffic sum = pt_traffic_of_pass(loop, operand);
  sum.bytes *= times;
  sum.transfers *= times;
  return sum;
}

#else

typedef int pt_no_slices; /* a file that is not empty */

#endif
