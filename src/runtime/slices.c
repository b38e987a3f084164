#include "runtime/slices.h"

#include <string.h>

#include "kernels/portable/kernel_rows.h"
#include "kernels/portable/parts.h"

#ifndef PT_NO_SLICES

static unsigned operands_of(const pt_op_view* view) {
  return (unsigned)view->input_count + view->output_count;
}

static int is_output(const pt_loop* loop, unsigned operand) {
  return operand >= loop->whole->input_count;
}

/* An operand as its axes see it. */
static pt_tensor shape_of(const pt_loop* loop, unsigned operand) {
  pt_tensor shape = loop->whole->operands[operand];
  if (loop->axes.flat) {
    const uint64_t elements = pt_type_elements(&shape);
    const int is_scalar = loop->axes.dim[0][operand] < 0;
    memset(shape.dims, 0, sizeof shape.dims);
    shape.rank = is_scalar ? 0 : 1;
    if (!is_scalar) shape.dims[0] = (uint32_t)elements;
  }
  return shape;
}

/* ---- steps ---- */

static uint32_t begin_of(const pt_loop* loop, unsigned at) {
  return loop->index[at] * loop->tile[at];
}

static uint32_t end_of(const pt_loop* loop, unsigned at) {
  const uint32_t extent = loop->axes.axis[loop->axis[at]].extent, begin = begin_of(loop, at);
  const uint32_t tile = loop->tile[at];
  return extent - begin < tile ? extent : begin + tile;
}

unsigned pt_loop_changes(const pt_loop* loop) {
  unsigned at = loop->loops, changed = 0;
  while (at-- > 0) {
    if (loop->counts[at] > 1) changed |= 1u << at;
    if (loop->index[at] + 1 < loop->counts[at]) return changed;
  }
  return 0;
}

void pt_loop_next(pt_loop* loop) {
  unsigned at = loop->loops;
  while (at-- > 0) {
    if (++loop->index[at] < loop->counts[at]) return;
    loop->index[at] = 0;
  }
}

unsigned pt_loops_of(const pt_loop* loop, unsigned operand) {
  unsigned at, found = 0;
  for (at = 0; at < loop->loops; ++at)
    if (loop->axes.dim[loop->axis[at]][operand] >= 0 && loop->counts[at] > 1) found |= 1u << at;
  return found;
}

int pt_next_slice(pt_loop* loop, unsigned operand) {
  const unsigned own = pt_loops_of(loop, operand);
  unsigned at = loop->loops;
  while (at-- > 0) {
    if ((own >> at & 1) == 0) continue;
    if (++loop->index[at] < loop->counts[at]) return 1;
    loop->index[at] = 0;
  }
  return 0;
}

/* A slice is another one whenever a loop goes on that is not inside of all those along which the operand is cut. */
uint64_t pt_moves_of(const pt_loop* loop, unsigned operand) {
  const unsigned own = pt_loops_of(loop, operand);
  unsigned at, moving = loop->loops;
  uint64_t moves = 1;
  while (moving > 0 && (own >> (moving - 1) & 1) == 0) --moving;
  for (at = 0; at < moving; ++at)
    if (loop->axis[at] != PT_PASSES || !is_output(loop, operand)) moves *= loop->counts[at];
  return moves;
}

int pt_is_made(const pt_loop* loop, unsigned operand) {
  const unsigned own = pt_loops_of(loop, operand);
  unsigned at;
  int is_last = 1;
  for (at = 0; at < loop->loops; ++at) {
    if (loop->axis[at] == PT_PASSES) is_last = loop->index[at] + 1 == loop->counts[at];
    if (!is_last && loop->axes.axis[loop->axis[at]].reduces && (own >> at & 1) != 0) return 0;
  }
  return 1;
}

int pt_looks_up(const pt_loop* loop) {
  unsigned at;
  for (at = 0; at < loop->loops; ++at)
    if (loop->axes.axis[loop->axis[at]].looks_up && loop->counts[at] > 1) return 1;
  return 0;
}

/* ---- windows ---- */

/* The rows of the windowed operand for rows [begin, end) of the axis, and the paddings of the part. */
typedef struct window {
  int64_t from, to, top, bottom;
} window;

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static const pt_tensor* weight_of(const pt_op_view* view) {
  const int is_dw = view->op == PT_OP_conv2d_dw || view->op == PT_OP_conv2d_dw_update;
  return &view->operands[is_dw ? view->input_count : 1];
}

static window window_of(const pt_loop* loop, const pt_axis* axis, uint32_t begin, uint32_t end) {
  const int64_t* ints = loop->whole->ints;
  const int64_t rows = loop->whole->operands[axis->windowed].dims[2], stride = ints[PT_CONV_STRIDE_H],
                pad = ints[PT_CONV_PAD_TOP],
                reach = ((int64_t)weight_of(loop->whole)->dims[2] - 1) * ints[PT_CONV_DILATION_H];
  window w;
  if (!axis->backward) {
    const int64_t from = begin * stride - pad, to = ((int64_t)end - 1) * stride - pad + reach + 1;
    w.from = least(most(from, 0), rows - 1);
    w.to = most(least(to, rows), w.from + 1);
    w.top = w.from - from;
    w.bottom = to - w.to;
    return w;
  }
  /* Outputs whose windows meet the rows, and further ones where the padding would be negative without. */
  w.from = least((most(begin + pad - reach, 0) + stride - 1) / stride, (begin + pad) / stride);
  w.to = least((end - 1 + pad) / stride + 1, rows);
  w.from = least(w.from, rows - 1);
  w.to = most(w.to, w.from + 1);
  w.top = pad + begin - w.from * stride;
  w.bottom = most((w.to - w.from - 1) * stride + reach + 1 - ((int64_t)end - begin) - w.top, 0);
  return w;
}

/* ---- boxes ---- */

pt_box pt_slice_of(const pt_loop* loop, unsigned operand) {
  const pt_tensor shape = shape_of(loop, operand);
  pt_box box;
  unsigned dim, at;
  memset(&box, 0, sizeof box);
  box.rank = shape.rank;
  box.element = (uint8_t)pt_dtype_size(shape.dtype);
  for (dim = 0; dim < shape.rank; ++dim) box.whole[dim] = box.extent[dim] = shape.dims[dim];
  for (at = 0; at < loop->loops; ++at) {
    const unsigned number = loop->axis[at];
    const pt_axis* axis = &loop->axes.axis[number];
    const int along = loop->axes.dim[number][operand];
    if (along < 0) continue;
    if (axis->looks_up && operand == 0) {
      if (!pt_looks_up(loop)) continue;
      box.begin[along] = loop->row;
      box.extent[along] = 1;
    } else if (axis->windowed == (int)operand) {
      const window w = window_of(loop, axis, begin_of(loop, at), end_of(loop, at));
      box.begin[along] = (uint32_t)w.from;
      box.extent[along] = (uint32_t)(w.to - w.from);
    } else {
      const uint32_t each = box.whole[along] / axis->extent; /* channels of a group */
      box.begin[along] = begin_of(loop, at) * each;
      box.extent[along] = (end_of(loop, at) - begin_of(loop, at)) * each;
    }
  }
  return box;
}

pt_runs pt_runs_of(const pt_loop* loop, unsigned operand, const pt_box* box) {
  pt_runs runs;
  unsigned dim;
  uint64_t stride = box->element;
  memset(&runs, 0, sizeof runs);
  runs.bytes = box->element;
  runs.count = 1;
  runs.dims = loop->run_dim[operand];
  for (dim = box->rank; dim-- > 0; stride *= box->whole[dim]) {
    runs.begin += box->begin[dim] * stride;
    if (dim < runs.dims)
      runs.count *= box->extent[dim];
    else
      runs.bytes *= box->extent[dim];
  }
  return runs;
}

int pt_next_run(const pt_box* box, pt_runs* runs) {
  unsigned dim = runs->dims, each;
  uint64_t stride = box->element;
  for (each = box->rank; each-- > dim;) stride *= box->whole[each];
  runs->at += runs->bytes;
  while (dim-- > 0) {
    runs->begin += stride;
    if (++runs->index[dim] < box->extent[dim]) return 1;
    runs->begin -= stride * box->extent[dim];
    runs->index[dim] = 0;
    stride *= box->whole[dim];
  }
  return 0;
}

/* ---- traffic ---- */

static uint64_t tensor_bytes(const pt_loop* loop, unsigned operand) {
  const pt_tensor* whole = &loop->whole->operands[operand];
  return pt_type_elements(whole) * pt_dtype_size(whole->dtype);
}

pt_units pt_units_of(const pt_loop* loop, unsigned operand, const pt_runs* run) {
  const uint64_t end = run->begin + run->bytes;
  const int is_carried = loop->how[operand] == PT_CARRIED && end < tensor_bytes(loop, operand);
  pt_units units;
  units.first = run->begin / loop->unit;
  units.end = (is_carried ? end : end + loop->unit - 1) / loop->unit;
  if (operand == 0 && pt_looks_up(loop)) { /* as many for each row */
    const uint64_t all = (tensor_bytes(loop, 0) + loop->unit - 1) / loop->unit;
    const uint64_t each = loop->units[0] < all ? loop->units[0] : all;
    if (units.first > all - each) units.first = all - each;
    units.end = units.first + each;
  }
  return units;
}

/* ---- the call of a step ---- */

static void point_at(pt_tensor* tensor, const pt_box* box) {
  memcpy(tensor->dims, box->extent, sizeof tensor->dims);
  tensor->rank = box->rank;
}

void pt_slice_view(const pt_loop* loop, pt_op_view* view) {
  unsigned operand, at;
  for (operand = 0; operand < operands_of(view); ++operand) {
    const pt_box box = pt_slice_of(loop, operand);
    point_at(&view->operands[operand], &box);
  }
  for (at = 0; at < loop->loops; ++at) {
    const pt_axis* axis = &loop->axes.axis[loop->axis[at]];
    if (axis->grouped) view->ints[PT_CONV_GROUPS] = (int64_t)end_of(loop, at) - begin_of(loop, at);
    if (axis->windowed >= 0) {
      const window w = window_of(loop, axis, begin_of(loop, at), end_of(loop, at));
      view->ints[PT_CONV_PAD_TOP] = w.top;
      view->ints[PT_CONV_PAD_BOTTOM] = w.bottom;
    }
  }
}

void pt_slice_call(const pt_loop* loop, pt_call* call) {
  unsigned at;
  call->terms = PT_ALL_TERMS;
  call->slice_begin = call->whole_extent = 0;
  for (at = 0; at < loop->loops; ++at) {
    const pt_axis* axis = &loop->axes.axis[loop->axis[at]];
    if (loop->axis[at] == PT_PASSES) call->terms |= (uint8_t)(PT_PASS * (loop->index[at] + 1));
    if (axis->reduces && loop->index[at] > 0) call->terms |= PT_GOES_ON;
    if (axis->reduces && loop->index[at] + 1 < loop->counts[at]) call->terms |= PT_UNFINISHED;
    if (!axis->placed) continue;
    call->slice_begin = begin_of(loop, at);
    call->whole_extent = axis->extent;
  }
}

/* ---- opening ---- */

/* The largest extents of an operand's slices: along windows every step is asked, along other axes the first is the largest. */
static pt_box largest_slice(pt_loop* loop, unsigned operand) {
  pt_box largest = pt_slice_of(loop, operand);
  unsigned at;
  for (at = 0; at < loop->loops; ++at) {
    const unsigned number = loop->axis[at];
    const int along = loop->axes.dim[number][operand];
    if (loop->axes.axis[number].windowed != (int)operand) continue;
    for (loop->index[at] = 1; loop->index[at] < loop->counts[at]; ++loop->index[at]) {
      const pt_box box = pt_slice_of(loop, operand);
      if (box.extent[along] > largest.extent[along]) largest.extent[along] = box.extent[along];
    }
    loop->index[at] = 0;
  }
  return largest;
}

/* By how much the places where slices begin along the dimension differ at least; 0: it is not cut. */
static uint32_t step_along(const pt_loop* loop, unsigned operand, const pt_box* largest, unsigned dim) {
  unsigned at;
  for (at = 0; at < loop->loops; ++at) {
    const unsigned number = loop->axis[at];
    const pt_axis* axis = &loop->axes.axis[number];
    if (loop->axes.dim[number][operand] != (int)dim) continue;
    if (axis->looks_up && operand == 0) return pt_looks_up(loop) ? 1 : 0;
    if (axis->windowed == (int)operand) return loop->counts[at] > 1 || largest->extent[dim] < largest->whole[dim];
    if (loop->counts[at] > 1) return largest->whole[dim] / axis->extent * loop->tile[at];
  }
  return 0;
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

static uint32_t units_for(const pt_loop* loop, uint64_t bytes) {
  return (uint32_t)((bytes + loop->unit - 1) / loop->unit);
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
static int moves_units(const pt_loop* loop, unsigned operand) {
  const pt_box box = pt_slice_of(loop, operand);
  return loop->how[operand] == PT_DENSE || (loop->how[operand] == PT_SPAN && is_of_units(loop, operand, &box, 1));
}

/* Decides how the operand's slices are held, and how many units that takes. */
static pt_status hold(pt_loop* loop, unsigned operand) {
  const pt_box box = largest_slice(loop, operand);
  pt_runs runs;
  uint64_t held;
  if (tensor_bytes(loop, operand) / loop->unit >= PT_NOWHERE / 2) return PT_E_PLAN;
  find_run_dim(loop, operand, &box);
  runs = pt_runs_of(loop, operand, &box);
  held = runs.bytes * runs.count;
  if (!pt_is_streamed(loop->whole, operand)) {
    loop->how[operand] = runs.count == 1 ? PT_IN_PLACE : PT_PACKED;
    if (runs.count == 1) held = 0;
  } else if (runs.count == 1) {
    const int is_whole = is_of_units(loop, operand, &box, 1);
    loop->how[operand] = is_output(loop, operand) && !is_whole ? PT_CARRIED : PT_SPAN;
    if (loop->how[operand] == PT_CARRIED && !follows_itself(loop, operand)) return PT_E_PLAN;
    if (!is_whole) held += loop->unit - 1; /* the first and the last unit are needed in part */
  } else if (is_of_units(loop, operand, &box, 0)) {
    loop->how[operand] = PT_DENSE;
  } else if (is_output(loop, operand)) {
    return PT_E_PLAN;
  } else {
    const uint32_t stage = units_for(loop, runs.bytes + loop->unit - 1);
    loop->how[operand] = PT_STAGED;
    if (stage > loop->stage_units) loop->stage_units = stage;
  }
  if (held != 0 && loop->unit % box.element != 0) return PT_E_PLAN; /* buffers begin at units */
  loop->units[operand] = units_for(loop, held);
  return PT_OK;
}

/* The extent of the first slice along an axis. */
static uint32_t slice_along(const pt_loop* loop, unsigned number) {
  const uint32_t extent = loop->axes.axis[number].extent;
  unsigned at;
  for (at = 0; at < loop->loops; ++at)
    if (loop->axis[at] == number) return end_of(loop, at);
  return extent;
}

/* Has every step one index along each axis that looks rows up? */
static int is_one_row(const pt_loop* loop) {
  unsigned number;
  for (number = 0; number < loop->axes.count; ++number)
    if (loop->axes.axis[number].looks_up && slice_along(loop, number) != 1) return 0;
  return 1;
}

/* The loops are over different axes, and the sums' terms come in order while their results are held: loops over terms are inside of all along which
 * a result is cut. Every other loop cuts all results. */
static pt_status check_loops(const pt_loop* loop, const pt_kernel* kernel) {
  unsigned at, output, seen = 0;
  int reduced = -1;
  for (at = 0; at < loop->loops; ++at) {
    const unsigned number = loop->axis[at];
    const pt_axis* axis = &loop->axes.axis[number];
    if ((seen >> number & 1) != 0 || loop->tile[at] > axis->extent) return PT_E_PLAN;
    seen |= 1u << number;
    if (loop->counts[at] == 1 || number == PT_PASSES) continue;
    if (axis->looks_up && !is_one_row(loop)) return PT_E_PLAN;
    if (axis->reduces) {
      if ((int)number < reduced) return PT_E_PLAN;
      if (axis->within >= 0 && slice_along(loop, (unsigned)axis->within) != 1) return PT_E_PLAN;
      reduced = (int)number;
      continue;
    }
    if (reduced >= 0) return PT_E_PLAN;
    for (output = loop->whole->input_count; output < operands_of(loop->whole); ++output)
      if (loop->axes.dim[number][output] < 0) return PT_E_PLAN;
  }
  return reduced >= 0 && !pt_kernel_makes_parts(kernel->op, kernel->algorithm) ? PT_E_PLAN : PT_OK;
}

/* Every kind of step that there is: along windows and passes all slices, along others the first and the last. 0: there are no more. */
static int next_kind(pt_loop* loop) {
  unsigned at = loop->loops;
  while (at-- > 0) {
    const int takes_all = loop->axes.axis[loop->axis[at]].windowed >= 0 || loop->axis[at] == PT_PASSES;
    if (loop->index[at] + 1 < loop->counts[at]) {
      loop->index[at] = takes_all ? loop->index[at] + 1 : loop->counts[at] - 1;
      return 1;
    }
    loop->index[at] = 0;
  }
  return 0;
}

static int has_window(const pt_loop* loop) {
  unsigned at;
  for (at = 0; at < loop->loops; ++at)
    if (loop->axes.axis[loop->axis[at]].windowed >= 0) return 1;
  return 0;
}

/* The workspace of the kernel for any step, in bytes. PT_E_PLAN: a slice lies in the padding alone. */
static pt_status kernel_workspace(pt_loop* loop, const pt_kernel* kernel, const pt_pool* pool, uint64_t* bytes) {
  static const pt_scalars scalars = {1, 0, 0, NULL, 0};
  pt_op_view view = *loop->whole;
  *bytes = 0;
  do {
    size_t needed;
    pt_call call;
    pt_slice_view(loop, &view);
    if (has_window(loop) && (view.ints[PT_CONV_PAD_TOP] < 0 || view.ints[PT_CONV_PAD_BOTTOM] < 0)) return PT_E_PLAN;
    if (kernel->workspace_bytes == NULL) continue;
    call = pt_call_of(&view, pool);
    call.scalars = &scalars;
    pt_slice_call(loop, &call);
    needed = kernel->workspace_bytes(&call);
    if (needed == PT_NO_KERNEL) return PT_E_KERNEL;
    if (needed > *bytes) *bytes = needed;
  } while (next_kind(loop));
  return PT_OK;
}

/* Buffers stand one behind the other, then the stage, then the kernel's workspace. */
static pt_status place(pt_loop* loop, uint64_t kernel_bytes) {
  uint64_t at = 0;
  unsigned operand;
  for (operand = 0; operand < operands_of(loop->whole); ++operand) {
    loop->buffer[operand] = (uint32_t)at;
    at += loop->units[operand];
  }
  loop->stage = (uint32_t)at;
  at += loop->stage_units;
  loop->kernel = (uint32_t)at;
  if (at >= PT_NOWHERE / 2) return PT_E_PLAN;
  loop->workspace_bytes = at * loop->unit + kernel_bytes;
  return PT_OK;
}

static void add_loop(pt_loop* loop, unsigned axis, uint32_t tile) {
  loop->axis[loop->loops] = (uint8_t)axis;
  loop->tile[loop->loops] = tile;
  loop->counts[loop->loops] = (loop->axes.axis[axis].extent - 1) / tile + 1;
  ++loop->loops;
}

static pt_status take_loops(pt_loop* loop) {
  const pt_slicing* slicing = &loop->whole->slicing;
  unsigned at;
  int in_passes = loop->axes.passes < 2;
  for (at = 0; at < slicing->loops; ++at) {
    const pt_axis* axis = &loop->axes.axis[slicing->axis[at]];
    if (slicing->axis[at] >= loop->axes.count) return PT_E_PLAN;
    if (!in_passes && axis->reduces && slicing->tile[at] < axis->extent) {
      add_loop(loop, PT_PASSES, 1);
      in_passes = 1;
    }
    add_loop(loop, slicing->axis[at], slicing->tile[at]);
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
  for (operand = 0; status == PT_OK && operand < operands_of(view); ++operand) status = hold(loop, operand);
  if (status == PT_OK) status = kernel_workspace(loop, kernel, pool, &kernel_bytes);
  return status == PT_OK ? place(loop, kernel_bytes) : status;
}

/* ---- what the whole loop moves ---- */

static int is_windowed(const pt_loop* loop, unsigned operand) {
  unsigned at;
  for (at = 0; at < loop->loops; ++at)
    if (loop->axes.axis[loop->axis[at]].windowed == (int)operand) return 1;
  return 0;
}

/* What all slices of an operand move, each once. */
static pt_traffic traffic_of_slices(const pt_loop* loop, unsigned operand) {
  pt_loop at = *loop;
  pt_traffic sum = {0, 0};
  do {
    const pt_box box = pt_slice_of(&at, operand);
    pt_runs run = pt_runs_of(&at, operand, &box);
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
  const pt_tensor shape = shape_of(loop, operand);
  pt_traffic sum = {(tensor_bytes(loop, operand) + loop->unit - 1) / loop->unit * loop->unit, 1};
  unsigned dim, at;
  for (dim = 0; dim < loop->run_dim[operand]; ++dim) sum.transfers *= shape.dims[dim];
  for (at = 0; at < loop->loops; ++at)
    if (loop->axes.dim[loop->axis[at]][operand] == (int)loop->run_dim[operand]) sum.transfers *= loop->counts[at];
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
  return pt_moves_of(loop, operand) / slices_of(loop, operand);
}

pt_traffic pt_traffic_of_pass(const pt_loop* loop, unsigned operand) {
  if (operand == 0 && pt_looks_up(loop) && loop->how[0] == PT_SPAN) return traffic_of_rows(loop, slices_of(loop, 0));
  if (!is_windowed(loop, operand) && moves_units(loop, operand)) return traffic_of_units(loop, operand);
  return traffic_of_slices(loop, operand);
}

pt_traffic pt_traffic_of(const pt_loop* loop, unsigned operand) {
  const uint64_t times = pt_passes_over(loop, operand);
  pt_traffic sum = pt_traffic_of_pass(loop, operand);
  sum.bytes *= times;
  sum.transfers *= times;
  return sum;
}

int pt_slices_take_over(const pt_op_view* view, unsigned input, unsigned output) {
  pt_axes axes;
  unsigned at;
  pt_axes_of(view, &axes);
  for (at = 0; at < view->slicing.loops; ++at) {
    const unsigned number = view->slicing.axis[at];
    if (number >= axes.count) return 0;
    if (view->slicing.tile[at] >= axes.axis[number].extent) continue;
    if (axes.dim[number][input] < 0 || axes.dim[number][input] != axes.dim[number][view->input_count + output])
      return 0;
    if (axes.axis[number].windowed == (int)input) return 0;
  }
  return 1;
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

int pt_slices_take_over(const pt_op_view* view, unsigned input, unsigned output) {
  (void)view;
  (void)input;
  (void)output;
  return 0;
}

#endif
