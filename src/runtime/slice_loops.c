/* Opens the loop of an op in slices: checks its loops, decides how each operand is held, and places the buffers. */
#include <string.h>

#include "kernels/portable/kernel_rows.h"
#include "kernels/portable/parts.h"
#include "runtime/slice_parts.h"

#ifndef PT_NO_SLICES

/* The largest extents of an operand's slices: along windows every step is asked, along other axes the first is the largest. */
static pt_box largest_slice(pt_loop* loop, unsigned operand) {
  pt_box largest = pt_slice_of(loop, operand);
  unsigned at;
  for (at = 0; at < loop->loops; ++at) {
    const unsigned number = loop->axis[at];
    const int along = loop->axes.dim[number][operand];
    if (!pt_is_windowed(&loop->axes.axis[number], operand) || pt_is_held_along(loop, operand, at)) continue;
    for (loop->index[at] = 1; loop->index[at] < loop->counts[at]; ++loop->index[at]) {
      const pt_range by = pt_range_at(loop, at);
      const pt_part w = pt_window_of(loop, number, operand, by);
      if (w.to - w.from > largest.extent[along]) largest.extent[along] = (uint32_t)(w.to - w.from);
    }
    loop->index[at] = 0;
  }
  return largest;
}

/* By how much the places where slices begin along the dimension differ at least; 0: it is not cut. */
static uint32_t step_along(const pt_loop* loop, unsigned operand, const pt_box* largest, unsigned dim) {
  uint32_t step = 0; /* an outer loop's slices are cut into equal ones: the least is that of the inner one */
  unsigned at;
  for (at = 0; at < loop->loops; ++at) {
    const unsigned number = loop->axis[at];
    const pt_axis* axis = &loop->axes.axis[number];
    uint32_t own;
    if (loop->axes.dim[number][operand] != (int)dim || pt_is_held_along(loop, operand, at)) continue;
    if (axis->looks_up && operand == 0) return pt_looks_up(loop) ? 1 : 0;
    if (pt_is_windowed(axis, operand))
      return loop->counts[at] > 1 || largest->extent[dim] < largest->whole[dim] ? pt_window_step(loop, at, operand) : 0;
    if (loop->counts[at] < 2) continue;
    own = largest->whole[dim] / axis->extent * loop->tile[at];
    if (step == 0 || own < step) step = own;
  }
  return step;
}

static void find_run_dim(pt_loop* loop, unsigned operand, const pt_box* largest) {
  unsigned dim = largest->rank;
  while (dim > 0 && step_along(loop, operand, largest, dim - 1) == 0) --dim;
  loop->run_dim[operand] = (uint8_t)(dim > 0 ? dim - 1 : 0);
}

/* Does every run begin and end at a unit? `to_the_end`: the tensor's last run may end with the tensor. */
static int is_of_units(const pt_loop* loop, unsigned operand, const pt_box* largest, int to_the_end) {
  const unsigned run_dim = loop->run_dim[operand];
  uint64_t stride = largest->element, outer = 1;
  unsigned dim;
  for (dim = 0; dim < run_dim; ++dim) outer *= largest->whole[dim];
  for (dim = largest->rank; dim-- > 0; stride *= largest->whole[dim]) {
    const uint32_t step = step_along(loop, operand, largest, dim);
    if (step != 0 && stride * step % loop->unit != 0) return 0;
    if (dim < run_dim && stride % loop->unit != 0) return 0;
    if (dim == run_dim && !(to_the_end && outer == 1) && stride * largest->whole[dim] % loop->unit != 0) return 0;
  }
  return 1;
}

/* Does each slice of the output, of one run, begin where the one before ends? */
static int follows_itself(const pt_loop* loop, unsigned operand) {
  unsigned at;
  int last = -1;
  for (at = 0; at < loop->loops; ++at) {
    if ((pt_loops_of(loop, operand) >> at & 1) == 0) continue;
    if (loop->axes.dim[loop->axis[at]][operand] <= last) return 0;
    last = loop->axes.dim[loop->axis[at]][operand];
  }
  return 1;
}

/* Does the operand move between storage and its buffer in whole units alone? */
int pt_moves_units(const pt_loop* loop, unsigned operand) {
  const pt_box box = pt_slice_of(loop, operand);
  return loop->how[operand] == PT_DENSE || (loop->how[operand] == PT_SPAN && is_of_units(loop, operand, &box, 1));
}

/* Has the part no gaps within what is held? The other slices of the inner loops are as large, or smaller along the dimension that these cut. */
static int is_dense_within(const pt_box* held, const pt_box* part) {
  unsigned dim = held->rank;
  while (dim > 0 && part->extent[dim - 1] == held->extent[dim - 1]) --dim;
  while (dim > 1)
    if (part->extent[--dim - 1] != 1) return 0;
  return 1;
}

/* Has a result's part no gaps in its tensor? */
static int is_dense(const pt_box* part) {
  pt_box whole = *part;
  memcpy(whole.extent, part->whole, sizeof whole.extent);
  return is_dense_within(&whole, part);
}

/* The input that a streamed result of an update lies over in its buffer; 0: none. */
static unsigned updated_input(const pt_loop* loop, unsigned operand) {
  const unsigned input = operand - loop->whole->input_count + 2;
  return pt_is_output(loop, operand) && input < loop->whole->input_count && pt_is_streamed(loop->whole, input) ? input
                                                                                                               : 0;
}

/* The same for what moves behind the terms, in whole units alone. */
static pt_status hold_rest(pt_loop* loop, unsigned operand) {
  const pt_box box = pt_box_of(loop, operand, loop->inner);
  const unsigned rest = loop->loops - 1u;
  const pt_updated update = pt_updated_of(loop);
  uint64_t stride = box.element;
  unsigned dim, at;
  loop->how[operand] = PT_IN_PLACE;
  if (!pt_is_streamed(loop->whole, operand)) return PT_OK;
  loop->how[operand] = PT_SPAN;
  for (dim = box.rank; dim-- > 0; stride *= box.whole[dim]) {
    if (dim < update.dims && box.extent[dim] > 1 && stride % loop->unit != 0) return PT_E_PLAN;
    for (at = 0; at < rest; ++at)
      if (pt_is_outer(loop, at) && loop->counts[at] > 1 && loop->axes.dim[loop->axis[at]][operand] == (int)dim &&
          stride * loop->tile[at] * (box.whole[dim] / loop->axes.axis[loop->axis[at]].extent) % loop->unit != 0)
        return PT_E_PLAN;
  }
  if (update.parts > 1 && (uint64_t)loop->tile[rest] * box.element % loop->unit != 0) return PT_E_PLAN;
  if (updated_input(loop, operand) == 0) {
    const pt_box slice = pt_updated_box(loop, operand);
    loop->units[operand] = pt_units_for(loop, (uint64_t)slice.extent[0] * box.element);
  }
  return loop->unit % box.element != 0 ? PT_E_PLAN : PT_OK;
}

/* Decides how the operand's slices are held, and how many units that takes. */
static pt_status hold(pt_loop* loop, unsigned operand) {
  const pt_box box = largest_slice(loop, operand);
  pt_runs runs;
  uint64_t held;
  if (pt_is_rest(loop, operand)) return hold_rest(loop, operand);
  if (pt_tensor_bytes(loop, operand) / loop->unit >= PT_NOWHERE / 2) return PT_E_PLAN;
  find_run_dim(loop, operand, &box);
  runs = pt_runs_of(loop, operand, &box);
  held = runs.bytes * runs.count;
  if (!pt_is_streamed(loop->whole, operand)) {
    const pt_box part = pt_part_of(loop, operand);
    const int is_held = loop->inner != 0 && pt_is_held(loop, operand);
    const int in_place = is_held ? loop->apart || is_dense(&part) : runs.count == 1;
    loop->how[operand] = in_place ? PT_IN_PLACE : PT_PACKED;
    if (in_place) held = 0;
  } else if (runs.count == 1) {
    const int is_whole = is_of_units(loop, operand, &box, 1);
    loop->how[operand] = pt_is_output(loop, operand) && !is_whole ? PT_CARRIED : PT_SPAN;
    if (loop->how[operand] == PT_CARRIED && !follows_itself(loop, operand)) return PT_E_PLAN;
    if (!is_whole) held += loop->unit - 1; /* the first and the last unit are needed in part */
  } else if (is_of_units(loop, operand, &box, 0)) {
    loop->how[operand] = PT_DENSE;
  } else if (pt_is_output(loop, operand)) {
    return PT_E_PLAN;
  } else {
    const uint32_t stage = pt_units_for(loop, runs.bytes + loop->unit - 1);
    loop->how[operand] = PT_STAGED;
    if (stage > loop->stage_units) loop->stage_units = stage;
  }
  if (held != 0 && loop->unit % box.element != 0) return PT_E_PLAN; /* buffers begin at units */
  loop->units[operand] = pt_units_for(loop, held);
  return PT_OK;
}

/* Does the call work on a copy of the operand's part, because it has gaps where it is held? */
static int is_copied(const pt_loop* loop, unsigned operand) {
  const pt_box part = pt_part_of(loop, operand), held = pt_slice_of(loop, operand);
  if (!loop->apart || !pt_is_held(loop, operand)) return 0;
  return loop->how[operand] == PT_IN_PLACE ? !is_dense(&part) : !is_dense_within(&held, &part);
}

/* Have an inner loop's slices of a result gaps in what is held of it? */
static int makes_gaps(const pt_loop* loop) {
  unsigned output;
  if (loop->inner == 0 || loop->rests) return 0;
  for (output = loop->whole->input_count; output < pt_operands_of(loop->whole); ++output) {
    const pt_box held = pt_slice_of(loop, output), part = pt_part_of(loop, output);
    if (!is_dense_within(&held, &part)) return 1;
  }
  return 0;
}

/* The extent of the first slice along an axis. */
static uint32_t slice_along(const pt_loop* loop, unsigned number) {
  const pt_range by = pt_range_of(loop, number);
  return by.end - by.begin;
}

/* Has every step one index along each axis that looks rows up? */
static int is_one_row(const pt_loop* loop) {
  unsigned number;
  for (number = 0; number < loop->axes.count; ++number)
    if (loop->axes.axis[number].looks_up && slice_along(loop, number) != 1) return 0;
  return 1;
}

int pt_has_rest(const pt_op_view* view) {
  return view->op == PT_OP_matmul_update || view->op == PT_OP_conv2d_dw_update;
}

/* The kernel's sums lie in its result between two calls, or, those of an update, in its workspace without gaps. */
int pt_holds_sums(const pt_op_view* view) {
  switch (view->op) {
    case PT_OP_matmul:
    case PT_OP_matmul_act:
    case PT_OP_conv2d:
    case PT_OP_conv2d_act:
    case PT_OP_conv2d_dx:
    case PT_OP_conv2d_dz:
    case PT_OP_conv2d_dw:
      return 1;
    default:
      return pt_has_rest(view);
  }
}

/* Those of an update have one loop inside of those over terms, and one behind. */
static int holds_inner(const pt_loop* loop) {
  if (!pt_holds_sums(loop->whole)) return 0;
  return !pt_has_rest(loop->whole) || (loop->rests && (loop->inner & (loop->inner - 1)) == 0);
}

static int cuts_all_results(const pt_loop* loop, unsigned number) {
  unsigned output;
  for (output = loop->whole->input_count; output < pt_operands_of(loop->whole); ++output)
    if (loop->axes.dim[number][output] < 0) return 0;
  return 1;
}

/* A second loop over an axis cuts each slice of the first into equal ones, inside of the terms. */
static int cuts_again(const pt_loop* loop, unsigned at) {
  unsigned first;
  for (first = 0; loop->axis[first] != loop->axis[at];) ++first;
  return (loop->inner >> at & 1) != 0 && (loop->inner >> first & 1) == 0 &&
         loop->axes.axis[loop->axis[at]].windowed == 0 &&
         loop->axes.axis[loop->axis[at]].extent % loop->tile[first] == 0 && loop->tile[first] % loop->tile[at] == 0;
}

static pt_status check_rest(const pt_loop* loop, const pt_kernel* kernel) {
  return pt_has_rest(loop->whole) && pt_kernel_makes_parts(kernel->op, kernel->algorithm) ? PT_OK : PT_E_PLAN;
}

/* The sums' terms come in order while their results are held. Every other loop cuts all results, or makes them with its first slice. */
static pt_status check_loops(const pt_loop* loop, const pt_kernel* kernel) {
  unsigned at, seen = 0;
  int reduced = -1;
  if (loop->inner != 0 && !holds_inner(loop)) return PT_E_PLAN;
  for (at = 0; at < loop->loops; ++at) {
    const unsigned number = loop->axis[at];
    const pt_axis* axis = &loop->axes.axis[number];
    if (number == PT_REST) return check_rest(loop, kernel);
    if ((seen >> number & 1) != 0 && !cuts_again(loop, at)) return PT_E_PLAN;
    if (loop->tile[at] > axis->extent) return PT_E_PLAN;
    seen |= 1u << number;
    if ((loop->inner >> at & 1) != 0 && !cuts_all_results(loop, number)) return PT_E_PLAN;
    if (loop->counts[at] == 1 || number == PT_PASSES) continue;
    if (axis->looks_up && !is_one_row(loop)) return PT_E_PLAN;
    if (axis->reduces) {
      if ((int)number < reduced) return PT_E_PLAN;
      if (axis->within >= 0 && slice_along(loop, (unsigned)axis->within) != 1) return PT_E_PLAN;
      reduced = (int)number;
      continue;
    }
    if (!axis->once && !cuts_all_results(loop, number)) return PT_E_PLAN;
  }
  return reduced >= 0 && !pt_kernel_makes_parts(kernel->op, kernel->algorithm) ? PT_E_PLAN : PT_OK;
}

/* Goes on to a slice of another shape: along rows of a convolution to the next that has other extents or paddings, along other windows and passes to the next, along other axes to the last.
 * 0: there is none, and the loop is at its first slice again. */
static int next_shape(pt_loop* loop, unsigned at) {
  const unsigned number = loop->axis[at];
  const pt_axis* axis = &loop->axes.axis[number];
  const pt_range first = pt_range_at(loop, at);
  pt_part before = {0, 0, 0, 0, 0};
  if (pt_is_convolution(axis)) before = pt_window_of(loop, number, 0, first);
  while (number != PT_REST && ++loop->index[at] < loop->counts[at]) {
    const pt_range by = pt_range_at(loop, at);
    if (pt_is_convolution(axis)) {
      const pt_part w = pt_window_of(loop, number, 0, by);
      if (w.to - w.from == before.to - before.from && w.top == before.top && w.bottom == before.bottom &&
          by.end - by.begin == first.end - first.begin)
        continue;
    } else if (axis->windowed == 0 && number != PT_PASSES) {
      loop->index[at] = loop->counts[at] - 1;
    }
    return 1;
  }
  loop->index[at] = 0;
  return 0;
}

/* Goes on to a step that calls the kernel on other extents. 0: there are no more. */
static int next_kind(pt_loop* loop) {
  unsigned at = loop->loops;
  while (at-- > 0)
    if (next_shape(loop, at)) return 1;
  return 0;
}

static int convolves(const pt_loop* loop) {
  unsigned at;
  for (at = 0; at < loop->loops; ++at)
    if (pt_is_convolution(&loop->axes.axis[loop->axis[at]])) return 1;
  return 0;
}

/* The workspace of the kernel for any step, in bytes. PT_E_PLAN: a slice lies in the padding alone. */
static pt_status kernel_workspace(pt_loop* loop, const pt_kernel* kernel, const pt_pool* pool, uint64_t* bytes) {
  static const pt_scalars scalars = {1, 0, 0, NULL, 0};
  pt_op_view view = *loop->whole;
  *bytes = 0;
  if (kernel->workspace_bytes == NULL && !convolves(loop)) return PT_OK;
  do {
    size_t needed;
    pt_call call;
    pt_slice_view(loop, &view);
    if (convolves(loop) && (view.ints[PT_CONV_PAD_TOP] < 0 || view.ints[PT_CONV_PAD_BOTTOM] < 0)) return PT_E_PLAN;
    if (kernel->workspace_bytes == NULL) continue;
    if (loop->rests) { /* holds the sums of all that is updated together */
      const pt_box held = pt_box_of(loop, view.input_count, loop->inner);
      pt_point_at(&view.operands[view.input_count], &held);
    }
    call = pt_call_of(&view, pool);
    call.scalars = &scalars;
    pt_slice_call(loop, &call);
    needed = kernel->workspace_bytes(&call);
    if (needed == PT_NO_KERNEL) return PT_E_KERNEL;
    if (needed > *bytes) *bytes = needed;
  } while (next_kind(loop));
  return PT_OK;
}

/* Buffers stand one behind the other, then the stage, copies of parts, and the kernel's workspace. */
static pt_status place(pt_loop* loop, uint64_t kernel_bytes) {
  uint64_t at = 0;
  unsigned operand;
  for (operand = 0; operand < pt_operands_of(loop->whole); ++operand) {
    loop->buffer[operand] = (uint32_t)at;
    at += loop->units[operand];
    if (pt_is_rest(loop, operand) && updated_input(loop, operand) != 0)
      loop->buffer[operand] = loop->buffer[updated_input(loop, operand)];
  }
  loop->stage = (uint32_t)at;
  at += loop->stage_units;
  for (operand = 0; operand < pt_operands_of(loop->whole); ++operand) {
    const pt_box part = pt_part_of(loop, operand);
    uint64_t bytes = part.element;
    unsigned dim;
    loop->part[operand] = PT_NOWHERE;
    if (!is_copied(loop, operand)) continue;
    if (loop->unit % part.element != 0) return PT_E_PLAN;
    for (dim = 0; dim < part.rank; ++dim) bytes *= part.extent[dim];
    loop->part[operand] = (uint32_t)at;
    at += pt_units_for(loop, bytes);
  }
  loop->kernel = (uint32_t)at;
  if (at >= PT_NOWHERE / 2) return PT_E_PLAN;
  loop->workspace_bytes = at * loop->unit + kernel_bytes;
  return PT_OK;
}

static void add_loop(pt_loop* loop, unsigned axis, uint32_t tile) {
  const pt_range whole = pt_range_of(loop, axis);
  loop->axis[loop->loops] = (uint8_t)axis;
  loop->tile[loop->loops] = tile;
  loop->counts[loop->loops] = (whole.end - whole.begin - 1) / tile + 1;
  ++loop->loops;
}

/* What is behind the terms is cut as the elements of the parameter are. */
static pt_status add_rest(pt_loop* loop, uint32_t tile) {
  const unsigned operands = pt_operands_of(loop->whole), at = loop->loops;
  unsigned operand;
  if (loop->whole->input_count < 3 || loop->whole->output_count < 1 || loop->axes.flat) return PT_E_PLAN;
  if (pt_type_elements(&loop->whole->operands[loop->whole->input_count]) > INT32_MAX) return PT_E_PLAN;
  memset(&loop->axes.axis[PT_REST], 0, sizeof loop->axes.axis[PT_REST]);
  loop->axes.axis[PT_REST].within = -1;
  for (operand = 0; operand < operands; ++operand) loop->axes.dim[PT_REST][operand] = operand < 2 ? -1 : 0;
  loop->rests = 1;
  loop->axis[at] = PT_REST;
  loop->tile[at] = tile;
  ++loop->loops;
  loop->counts[at] = pt_count_at(loop, at);
  return PT_OK;
}

/* A second loop over an axis of terms is the one behind them, and the last. */
static pt_status take_loops(pt_loop* loop) {
  const pt_slicing* slicing = &loop->whole->slicing;
  unsigned at, terms = 0;
  int in_passes = loop->axes.passes < 2;
  for (at = 0; at < slicing->loops; ++at) {
    const unsigned number = slicing->axis[at];
    const pt_axis* axis = &loop->axes.axis[number];
    if (number >= loop->axes.count) return PT_E_PLAN;
    if ((terms >> number & 1) != 0) return at + 1 == slicing->loops ? add_rest(loop, slicing->tile[at]) : PT_E_PLAN;
    if (!in_passes && axis->reduces && slicing->tile[at] < axis->extent) {
      add_loop(loop, PT_PASSES, 1);
      in_passes = 1;
    }
    if (axis->reduces)
      terms |= 1u << number;
    else if (terms != 0)
      loop->inner |= (uint8_t)(1u << loop->loops);
    add_loop(loop, number, slicing->tile[at]);
  }
  return PT_OK;
}

pt_status pt_loop_open(pt_loop* loop, const pt_op_view* view, uint32_t unit, const pt_kernel* kernel,
                       const pt_pool* pool) {
  pt_status status;
  uint64_t kernel_bytes;
  unsigned operand;
  if (kernel->algorithm >= PT_FIRST_OTHER) return PT_E_PLAN; /* its order of additions depends on extents */
  if (unit < PT_LEAST_UNIT) return PT_E_PLAN;
  memset(loop, 0, sizeof *loop);
  loop->whole = view;
  loop->unit = unit;
  pt_axes_of(view, &loop->axes);
  status = take_loops(loop);
  if (status == PT_OK) status = check_loops(loop, kernel);
  if (status == PT_OK) loop->apart = (uint8_t)makes_gaps(loop);
  for (operand = 0; status == PT_OK && operand < pt_operands_of(view); ++operand) status = hold(loop, operand);
  if (status == PT_OK) status = kernel_workspace(loop, kernel, pool, &kernel_bytes);
  return status == PT_OK ? place(loop, kernel_bytes) : status;
}

#else

pt_status pt_loop_open(pt_loop* loop, const pt_op_view* view, uint32_t unit, const pt_kernel* kernel,
                       const pt_pool* pool) {
  (void)loop;
  (void)view;
  (void)unit;
  (void)kernel;
  (void)pool;
  return PT_E_PLAN;
}

#endif
