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

int pt_is_rest(const pt_loop* loop, unsigned operand) {
  return loop->rests && operand >= 2;
}

/* The first `merged` dimensions count as one. */
static void merge(pt_tensor* shape, unsigned merged) {
  unsigned dim;
  for (dim = 1; dim < merged; ++dim) shape->dims[0] *= shape->dims[dim];
  for (dim = merged; dim < shape->rank; ++dim) shape->dims[dim - merged + 1] = shape->dims[dim];
  shape->rank = (uint8_t)(shape->rank - merged + 1);
}

static pt_tensor vector_of(const pt_tensor* shape) {
  pt_tensor vector = *shape;
  memset(vector.dims, 0, sizeof vector.dims);
  vector.rank = 1;
  vector.dims[0] = (uint32_t)pt_type_elements(shape);
  return vector;
}

/* An operand as its axes see it. */
static pt_tensor seen_by_axes(const pt_loop* loop, unsigned operand) {
  pt_tensor shape = loop->whole->operands[operand];
  if (loop->axes.merged > 0 && shape.rank == loop->whole->operands[loop->whole->input_count].rank)
    merge(&shape, loop->axes.merged);
  if (loop->axes.flat) {
    shape = vector_of(&shape);
    if (loop->axes.dim[0][operand] < 0) shape.rank = 0, shape.dims[0] = 0;
  }
  return shape;
}

/* An operand as it is cut: what is updated behind the terms is a vector. */
static pt_tensor shape_of(const pt_loop* loop, unsigned operand) {
  return pt_is_rest(loop, operand) ? vector_of(&loop->whole->operands[operand]) : seen_by_axes(loop, operand);
}

/* ---- steps ---- */

/* What is held of a result is all that the loops inside of those over terms make. */
static int is_held_along(const pt_loop* loop, unsigned operand, unsigned at) {
  return (loop->inner >> at & 1) != 0 && (is_output(loop, operand) || pt_is_rest(loop, operand));
}

/* A range of indices along an axis. */
typedef struct range {
  uint32_t begin, end;
} range;

/* The range of this step. */
static range range_of(const pt_loop* loop, unsigned number) {
  const uint32_t extent = loop->axes.axis[number].extent;
  uint32_t length = extent;
  range found = {0, extent};
  unsigned at;
  for (at = 0; at < loop->loops; ++at) {
    if (loop->axis[at] != number) continue;
    found.begin += loop->index[at] * loop->tile[at];
    length = loop->tile[at];
  }
  if (extent - found.begin > length) found.end = found.begin + length;
  return found;
}

static range range_at(const pt_loop* loop, unsigned at) {
  return range_of(loop, loop->axis[at]);
}

/* The part of the operand at this step, as far as the loops say that are not `without`. */
static pt_box box_of(const pt_loop* loop, unsigned operand, unsigned without);

/* An update's slice, which the loops outside of those over terms leave of its results: runs of elements, in each of which the loop behind the terms has
 * `parts` steps. */
typedef struct updated {
  pt_box box;
  uint32_t runs, run, parts;
  uint8_t dims; /* in front of the innermost one that is cut */
} updated;

static updated updated_of(const pt_loop* loop) {
  const unsigned rest = loop->loops - 1u;
  updated found;
  unsigned dim;
  found.box = box_of(loop, loop->whole->input_count, loop->inner);
  found.runs = found.run = 1;
  dim = found.box.rank;
  while (dim > 0 && found.box.extent[dim - 1] == found.box.whole[dim - 1]) found.run *= found.box.extent[--dim];
  if (dim > 0) found.run *= found.box.extent[--dim];
  found.dims = (uint8_t)dim;
  while (dim > 0) found.runs *= found.box.extent[--dim];
  found.parts = (found.run - 1) / loop->tile[rest] + 1;
  return found;
}

static uint32_t count_at(const pt_loop* loop, unsigned at) {
  updated update;
  if (loop->axis[at] != PT_REST) return loop->counts[at];
  update = updated_of(loop);
  return update.runs * update.parts;
}

/* Have all loops that make the sums come to their last step? */
static int has_all_terms(const pt_loop* loop) {
  unsigned at;
  for (at = 0; at < loop->loops; ++at)
    if (((loop->inner >> at & 1) != 0 || (loop->axis[at] != PT_REST && loop->axes.axis[loop->axis[at]].reduces)) &&
        loop->index[at] + 1 < loop->counts[at])
      return 0;
  return 1;
}

int pt_is_at_rest(const pt_loop* loop) {
  return loop->rests && has_all_terms(loop);
}

/* Does the loop have a step more, outside of what it is in? What is behind the terms is passed over until they are complete. */
static int goes_on(const pt_loop* loop, unsigned at) {
  if (loop->axis[at] == PT_REST && !has_all_terms(loop)) return 0;
  return loop->index[at] + 1 < count_at(loop, at);
}

unsigned pt_loop_changes(const pt_loop* loop) {
  unsigned at = loop->loops, changed = 0;
  while (at-- > 0) {
    if (loop->counts[at] > 1) changed |= 1u << at;
    if (goes_on(loop, at)) return changed | 1u << at;
  }
  return 0;
}

void pt_loop_next(pt_loop* loop) {
  unsigned at = loop->loops;
  while (at-- > 0) {
    const int more = goes_on(loop, at);
    loop->index[at] = more ? loop->index[at] + 1 : 0;
    if (more) return;
  }
}

unsigned pt_loops_of(const pt_loop* loop, unsigned operand) {
  unsigned at, found = 0;
  for (at = 0; at < loop->loops; ++at)
    if (loop->axes.dim[loop->axis[at]][operand] >= 0 && loop->counts[at] > 1 && !is_held_along(loop, operand, at))
      found |= 1u << at;
  return found;
}

int pt_next_slice(pt_loop* loop, unsigned operand) {
  const unsigned own = pt_loops_of(loop, operand);
  unsigned at = loop->loops;
  while (at-- > 0) {
    if ((own >> at & 1) == 0) continue;
    if (loop->index[at] + 1 < count_at(loop, at)) {
      ++loop->index[at];
      return 1;
    }
    loop->index[at] = 0;
  }
  return 0;
}

static int is_outer(const pt_loop* loop, unsigned at) {
  return loop->axis[at] != PT_REST && (loop->inner >> at & 1) == 0 && !loop->axes.axis[loop->axis[at]].reduces;
}

/* Steps of the loop behind the terms. Of the slices of each loop outside of those over terms the last may be smaller than the others. */
static uint64_t updates_of(const pt_loop* loop) {
  pt_loop each = *loop;
  const unsigned rest = loop->loops - 1u;
  uint64_t sum = 0;
  unsigned lasts, at;
  for (lasts = 0; lasts < 1u << rest; ++lasts) {
    uint64_t times = 1;
    for (at = 0; at < rest; ++at) {
      const unsigned is_last = lasts >> at & 1;
      each.index[at] = is_last && is_outer(loop, at) ? loop->counts[at] - 1 : 0;
      if (!is_outer(loop, at))
        times *= 1 - is_last;
      else if (!is_last)
        times *= loop->counts[at] - 1;
    }
    if (times > 0) sum += times * count_at(&each, rest);
  }
  return sum;
}

uint64_t pt_steps_of(const pt_loop* loop) {
  uint64_t steps = 1;
  unsigned at;
  for (at = 0; at < loop->loops; ++at)
    if (loop->axis[at] != PT_REST) steps *= loop->counts[at];
  return loop->rests ? steps + updates_of(loop) : steps;
}

/* Is the loop over an axis whose first slice alone makes the result? */
static int makes_once(const pt_loop* loop, unsigned at, unsigned operand) {
  return loop->axes.axis[loop->axis[at]].once && is_output(loop, operand) &&
         loop->axes.dim[loop->axis[at]][operand] < 0;
}

/* A slice is another one whenever a loop goes on that is not inside of all those along which the operand is cut. */
uint64_t pt_moves_of(const pt_loop* loop, unsigned operand) {
  const unsigned own = pt_loops_of(loop, operand);
  unsigned at, moving = loop->loops;
  uint64_t moves = 1;
  if (pt_is_rest(loop, operand)) return updates_of(loop);
  while (moving > 0 && (own >> (moving - 1) & 1) == 0) --moving;
  for (at = 0; at < moving; ++at)
    if ((loop->axis[at] != PT_PASSES || !is_output(loop, operand)) && !makes_once(loop, at, operand))
      moves *= loop->counts[at];
  return moves;
}

int pt_is_made(const pt_loop* loop, unsigned operand) {
  const unsigned own = pt_loops_of(loop, operand);
  unsigned at;
  int is_last = 1;
  for (at = 0; at < loop->loops; ++at) {
    if (makes_once(loop, at, operand) && loop->index[at] > 0) return 0;
    if (loop->axis[at] == PT_PASSES) is_last = loop->index[at] + 1 == loop->counts[at];
    if (!is_last && loop->axes.axis[loop->axis[at]].reduces && (own >> at & 1) != 0) return 0;
  }
  return 1;
}

int pt_is_complete(const pt_loop* loop, unsigned operand, unsigned changing) {
  unsigned at, own = pt_loops_of(loop, operand);
  if (pt_is_rest(loop, operand)) return pt_is_at_rest(loop);
  for (at = 0; at < loop->loops; ++at)
    if (makes_once(loop, at, operand)) own |= 1u << at;
  return pt_is_made(loop, operand) && (changing == 0 || (own & changing) != 0);
}

int pt_looks_up(const pt_loop* loop) {
  unsigned at;
  for (at = 0; at < loop->loops; ++at)
    if (loop->axes.axis[loop->axis[at]].looks_up && loop->counts[at] > 1) return 1;
  return 0;
}

/* ---- windows ---- */

/* Indices of a windowed operand for [begin, end) of the axis. Of a convolution: the paddings of the part, too; of a slice: where the part's first
 * element lies in the other operand's part, or of a negative step the last. */
typedef struct window {
  int64_t from, to, top, bottom, start;
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

static int is_convolution(const pt_axis* axis) {
  return axis->windowed != 0 && (axis->window == PT_WINDOW_CONV || axis->window == PT_WINDOW_CONV_BACK);
}

int pt_is_windowed(const pt_axis* axis, unsigned operand) {
  return (axis->windowed >> operand & 1) != 0;
}

/* Of operand 0 of a convolution. */
static window rows_of(const pt_loop* loop, const pt_axis* axis, int64_t begin, int64_t end) {
  const int64_t* ints = loop->whole->ints;
  const int64_t rows = loop->whole->operands[0].dims[2], stride = ints[PT_CONV_STRIDE_H], pad = ints[PT_CONV_PAD_TOP],
                reach = ((int64_t)weight_of(loop->whole)->dims[2] - 1) * ints[PT_CONV_DILATION_H];
  window w = {0, 0, 0, 0, 0};
  if (axis->window == PT_WINDOW_CONV) {
    const int64_t from = begin * stride - pad, to = (end - 1) * stride - pad + reach + 1;
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
  w.bottom = most((w.to - w.from - 1) * stride + reach + 1 - (end - begin) - w.top, 0);
  return w;
}

/* What a slice picks its elements [begin, end) from. */
static window picked(const int64_t* start_and_step, int64_t begin, int64_t end) {
  const int64_t step = start_and_step[1], first = start_and_step[0] + begin * step,
                last = start_and_step[0] + (end - 1) * step;
  window w = {0, 0, 0, 0, 0};
  w.from = least(first, last);
  w.to = most(first, last) + 1;
  w.start = first - w.from;
  return w;
}

/* How many of the places start, start + step, .. are below `end`. */
static int64_t places_below(int64_t start, int64_t step, int64_t end) {
  return end > start ? (end - start - 1) / step + 1 : 0;
}

/* Which of `count` elements at start, start + step, .. lie in [begin, end). */
static window spread(const int64_t* start_and_step, int64_t count, int64_t begin, int64_t end) {
  const int64_t start = start_and_step[0], step = start_and_step[1];
  window w = {0, 0, 0, 0, 0};
  if (step > 0) {
    w.from = least(places_below(start, step, begin), count);
    w.to = least(places_below(start, step, end), count);
  } else { /* the same from the other end: places -start, -start - step, .. */
    w.from = least(places_below(-start, -step, 1 - end), count);
    w.to = least(places_below(-start, -step, 1 - begin), count);
  }
  w.start = w.from < w.to ? start + w.from * step - begin : 0;
  return w;
}

/* Where the part begins in the whole. */
static int64_t joined_at(const pt_loop* loop, unsigned operand, unsigned dim) {
  int64_t at = 0;
  unsigned each = operand < loop->whole->input_count ? 0 : loop->whole->input_count;
  for (; each < operand; ++each) at += loop->whole->operands[each].dims[dim];
  return at;
}

static window window_of(const pt_loop* loop, unsigned number, unsigned operand, range by) {
  const pt_axis* axis = &loop->axes.axis[number];
  const unsigned dim = (unsigned)loop->axes.dim[number][operand];
  const int64_t begin = by.begin, end = by.end, extent = loop->whole->operands[operand].dims[dim];
  window w = {0, 0, 0, 0, 0};
  switch (axis->window) {
    case PT_WINDOW_PICKED:
      return picked(&loop->whole->ints[2 * dim], begin, end);
    case PT_WINDOW_SPREAD:
      return spread(&loop->whole->ints[2 * dim], extent, begin, end);
    case PT_WINDOW_JOINED: {
      const int64_t own = joined_at(loop, operand, dim);
      w.from = least(most(begin - own, 0), extent);
      w.to = most(least(end - own, extent), w.from);
      return w;
    }
    default:
      return rows_of(loop, axis, begin, end);
  }
}

static uint32_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return (uint32_t)a;
}

/* A number that divides every index at which a part of the operand begins or ends, but for its whole extent. */
static uint32_t window_step(const pt_loop* loop, unsigned at, unsigned operand) {
  const unsigned number = loop->axis[at];
  const pt_axis* axis = &loop->axes.axis[number];
  const unsigned dim = (unsigned)loop->axes.dim[number][operand];
  const int64_t* start_and_step = &loop->whole->ints[2 * dim];
  switch (axis->window) {
    case PT_WINDOW_PICKED: {
      const int64_t end = start_and_step[0] + axis->extent;
      uint32_t step = common_divisor(loop->tile[at], start_and_step[0]);
      if (start_and_step[1] != 1) return 1;
      if (end != loop->whole->operands[operand].dims[dim]) step = common_divisor(step, end);
      return step;
    }
    case PT_WINDOW_SPREAD:
      return start_and_step[1] == 1 ? common_divisor(loop->tile[at], start_and_step[0]) : 1;
    case PT_WINDOW_JOINED:
      return common_divisor(loop->tile[at], joined_at(loop, operand, dim));
    default:
      return 1;
  }
}

/* ---- boxes ---- */

/* Cuts the box along the axis of a loop. A second loop over an axis comes behind the first, whose slices it divides. */
static void cut(const pt_loop* loop, unsigned operand, unsigned at, pt_box* box) {
  const pt_axis* axis = &loop->axes.axis[loop->axis[at]];
  const int along = loop->axes.dim[loop->axis[at]][operand];
  if (pt_is_windowed(axis, operand)) {
    const range by = range_at(loop, at);
    const window w = window_of(loop, loop->axis[at], operand, by);
    box->begin[along] = (uint32_t)w.from;
    box->extent[along] = (uint32_t)(w.to - w.from);
  } else {
    const uint32_t whole = box->whole[along];
    const uint32_t each = whole == axis->extent ? 1 : whole / axis->extent; /* channels of a group */
    const uint32_t length = loop->tile[at] * each;
    box->begin[along] += loop->index[at] * length;
    box->extent[along] = length < whole - box->begin[along] ? length : whole - box->begin[along];
  }
}

static void take_whole(const pt_tensor* shape, pt_box* box) {
  unsigned dim;
  memset(box, 0, sizeof *box);
  box->rank = shape->rank;
  box->element = (uint8_t)pt_dtype_size(shape->dtype);
  for (dim = 0; dim < shape->rank; ++dim) box->whole[dim] = box->extent[dim] = shape->dims[dim];
}

static pt_box box_of(const pt_loop* loop, unsigned operand, unsigned without) {
  pt_box box;
  unsigned at;
  if (loop->axes.flat || loop->axes.merged > 0) {
    const pt_tensor shape = seen_by_axes(loop, operand);
    take_whole(&shape, &box);
  } else {
    take_whole(&loop->whole->operands[operand], &box);
  }
  for (at = 0; at < loop->loops; ++at) {
    const unsigned number = loop->axis[at];
    const int along = number == PT_REST ? -1 : loop->axes.dim[number][operand];
    if (along < 0 || (without >> at & 1) != 0) continue;
    if (loop->axes.axis[number].looks_up && operand == 0) {
      if (!pt_looks_up(loop)) continue;
      box.begin[along] = loop->row;
      box.extent[along] = 1;
    } else {
      cut(loop, operand, at, &box);
    }
  }
  return box;
}

/* Elements of an operand that is updated behind the terms, at this step of that loop. */
static pt_box updated_box(const pt_loop* loop, unsigned operand) {
  const pt_tensor shape = shape_of(loop, operand);
  const unsigned rest = loop->loops - 1u;
  const updated update = updated_of(loop);
  const uint32_t from = loop->index[rest] % update.parts * loop->tile[rest];
  uint32_t number = loop->index[rest] / update.parts, begin = from, stride = 1;
  pt_box box;
  unsigned dim = update.box.rank;
  take_whole(&shape, &box);
  while (dim-- > 0) {
    uint32_t at = update.box.begin[dim];
    if (dim < update.dims) {
      at += number % update.box.extent[dim];
      number /= update.box.extent[dim];
    }
    begin += at * stride;
    stride *= update.box.whole[dim];
  }
  box.begin[0] = begin;
  box.extent[0] = loop->tile[rest] < update.run - from ? loop->tile[rest] : update.run - from;
  return box;
}

pt_box pt_slice_of(const pt_loop* loop, unsigned operand) {
  if (pt_is_rest(loop, operand)) return updated_box(loop, operand);
  return box_of(loop, operand, is_output(loop, operand) ? loop->inner : 0);
}

pt_box pt_part_of(const pt_loop* loop, unsigned operand) {
  if (pt_is_rest(loop, operand)) return updated_box(loop, operand);
  return box_of(loop, operand, 0);
}

/* Where the part begins in what is held. */
static uint64_t elements_before(const pt_box* held, const pt_box* part) {
  uint64_t before = 0, stride = 1;
  unsigned dim = held->rank;
  while (dim-- > 0) {
    before += (part->begin[dim] - held->begin[dim]) * stride;
    stride *= held->extent[dim];
  }
  return before;
}

uint64_t pt_part_begins(const pt_loop* loop, unsigned operand) {
  const pt_box held = pt_slice_of(loop, operand), part = pt_part_of(loop, operand);
  return loop->inner == 0 ? 0 : elements_before(&held, &part) * held.element;
}

int pt_is_empty(const pt_box* box) {
  unsigned dim;
  for (dim = 0; dim < box->rank; ++dim)
    if (box->extent[dim] == 0) return 1;
  return 0;
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

/* ---- sums of an update ---- */

/* Of what the loops inside of those over terms cut of an update's slices: extents in front of it, along it, and behind; where nothing is cut, all is behind. */
typedef struct sliced_sums {
  uint64_t before, along, behind, tile;
} sliced_sums;

static sliced_sums sums_of(const pt_loop* loop) {
  const unsigned made = loop->whole->input_count;
  const pt_box held = box_of(loop, made, loop->inner);
  sliced_sums sums = {1, 1, 1, 1};
  unsigned dim, at;
  int cut_dim = -1;
  for (at = 0; at < loop->loops; ++at)
    if ((loop->inner >> at & 1) != 0) {
      cut_dim = loop->axes.dim[loop->axis[at]][made];
      sums.tile = loop->tile[at] * (held.whole[cut_dim] / loop->axes.axis[loop->axis[at]].extent);
    }
  for (dim = 0; dim < held.rank; ++dim) {
    if ((int)dim < cut_dim)
      sums.before *= held.extent[dim];
    else if ((int)dim == cut_dim)
      sums.along = held.extent[dim];
    else
      sums.behind *= held.extent[dim];
  }
  return sums;
}

pt_sums pt_sums_at(const pt_loop* loop, uint64_t at) {
  const sliced_sums sums = sums_of(loop);
  const updated update = updated_of(loop);
  const unsigned rest = loop->loops - 1u;
  const pt_box box = updated_box(loop, 2);
  const uint64_t element = (uint64_t)(loop->index[rest] / update.parts) * update.run +
                           loop->index[rest] % update.parts * loop->tile[rest] +
                           at; /* of all that is updated together */
  pt_sums found = {at, box.extent[0] - at, element};
  if (at >= box.extent[0]) found.count = 0;
  if (sums.before > 1 && sums.along > sums.tile) {
    const uint64_t row = element / (sums.along * sums.behind), in_row = element % (sums.along * sums.behind);
    const uint64_t slice = in_row / (sums.tile * sums.behind), in_slice = in_row % (sums.tile * sums.behind);
    const uint64_t left = sums.along - slice * sums.tile, width = (left < sums.tile ? left : sums.tile) * sums.behind;
    found.sum = slice * sums.tile * sums.before * sums.behind + row * width + in_slice;
    if (found.count > width - in_slice) found.count = width - in_slice;
  }
  return found;
}

uint64_t pt_sums_begin(const pt_loop* loop) {
  const sliced_sums sums = sums_of(loop);
  unsigned at;
  for (at = 0; at < loop->loops; ++at)
    if ((loop->inner >> at & 1) != 0) return loop->index[at] * sums.tile * sums.before * sums.behind;
  return 0;
}

/* ---- traffic ---- */

static uint64_t tensor_bytes(const pt_loop* loop, unsigned operand) {
  const pt_tensor* whole = &loop->whole->operands[operand];
  return pt_type_elements(whole) * pt_dtype_size(whole->dtype);
}

static uint32_t units_for(const pt_loop* loop, uint64_t bytes) {
  return (uint32_t)((bytes + loop->unit - 1) / loop->unit);
}

/* So many units move with a run of a row that is looked up, wherever the row lies. */
static uint64_t units_of_row(const pt_loop* loop, const pt_runs* run) {
  const uint64_t all = units_for(loop, tensor_bytes(loop, 0));
  const uint64_t each = loop->how[0] == PT_DENSE  ? run->bytes / loop->unit
                        : loop->how[0] == PT_SPAN ? loop->units[0]
                                                  : units_for(loop, run->bytes + loop->unit - 1);
  return each < all ? each : all;
}

pt_units pt_units_of(const pt_loop* loop, unsigned operand, const pt_runs* run) {
  const uint64_t end = run->begin + run->bytes;
  const int is_carried = loop->how[operand] == PT_CARRIED && end < tensor_bytes(loop, operand);
  pt_units units;
  units.first = run->begin / loop->unit;
  units.end = (is_carried ? end : end + loop->unit - 1) / loop->unit;
  if (operand == 0 && pt_looks_up(loop)) { /* as many for each row */
    const uint64_t all = units_for(loop, tensor_bytes(loop, 0)), each = units_of_row(loop, run);
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
    const pt_box box = box_of(loop, operand, 0);
    point_at(&view->operands[operand], &box);
  }
  for (at = 0; at < loop->loops; ++at) {
    const pt_axis* axis = &loop->axes.axis[loop->axis[at]];
    const range by = range_at(loop, at);
    if (axis->grouped) view->ints[PT_CONV_GROUPS] = (int64_t)by.end - by.begin;
    if (is_convolution(axis)) {
      const window w = window_of(loop, loop->axis[at], 0, by);
      view->ints[PT_CONV_PAD_TOP] = w.top;
      view->ints[PT_CONV_PAD_BOTTOM] = w.bottom;
    } else if (axis->windowed != 0 && axis->window != PT_WINDOW_JOINED) {
      view->ints[2 * loop->axes.dim[loop->axis[at]][0]] = window_of(loop, loop->axis[at], 0, by).start;
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
    call->slice_begin = range_at(loop, at).begin;
    call->whole_extent = axis->extent;
  }
  if (loop->rests) call->terms |= PT_UNFINISHED; /* the update comes later */
}

/* ---- opening ---- */

/* The largest extents of an operand's slices: along windows every step is asked, along other axes the first is the largest. */
static pt_box largest_slice(pt_loop* loop, unsigned operand) {
  pt_box largest = pt_slice_of(loop, operand);
  unsigned at;
  for (at = 0; at < loop->loops; ++at) {
    const unsigned number = loop->axis[at];
    const int along = loop->axes.dim[number][operand];
    if (!pt_is_windowed(&loop->axes.axis[number], operand) || is_held_along(loop, operand, at)) continue;
    for (loop->index[at] = 1; loop->index[at] < loop->counts[at]; ++loop->index[at]) {
      const range by = range_at(loop, at);
      const window w = window_of(loop, number, operand, by);
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
    if (loop->axes.dim[number][operand] != (int)dim || is_held_along(loop, operand, at)) continue;
    if (axis->looks_up && operand == 0) return pt_looks_up(loop) ? 1 : 0;
    if (pt_is_windowed(axis, operand))
      return loop->counts[at] > 1 || largest->extent[dim] < largest->whole[dim] ? window_step(loop, at, operand) : 0;
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
static int moves_units(const pt_loop* loop, unsigned operand) {
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
  return is_output(loop, operand) && input < loop->whole->input_count && pt_is_streamed(loop->whole, input) ? input : 0;
}

/* The same for what moves behind the terms, in whole units alone. */
static pt_status hold_rest(pt_loop* loop, unsigned operand) {
  const pt_box box = box_of(loop, operand, loop->inner);
  const unsigned rest = loop->loops - 1u;
  const updated update = updated_of(loop);
  uint64_t stride = box.element;
  unsigned dim, at;
  loop->how[operand] = PT_IN_PLACE;
  if (!pt_is_streamed(loop->whole, operand)) return PT_OK;
  loop->how[operand] = PT_SPAN;
  for (dim = box.rank; dim-- > 0; stride *= box.whole[dim]) {
    if (dim < update.dims && box.extent[dim] > 1 && stride % loop->unit != 0) return PT_E_PLAN;
    for (at = 0; at < rest; ++at)
      if (is_outer(loop, at) && loop->counts[at] > 1 && loop->axes.dim[loop->axis[at]][operand] == (int)dim &&
          stride * loop->tile[at] * (box.whole[dim] / loop->axes.axis[loop->axis[at]].extent) % loop->unit != 0)
        return PT_E_PLAN;
  }
  if (update.parts > 1 && (uint64_t)loop->tile[rest] * box.element % loop->unit != 0) return PT_E_PLAN;
  if (updated_input(loop, operand) == 0) {
    const pt_box slice = updated_box(loop, operand);
    loop->units[operand] = units_for(loop, (uint64_t)slice.extent[0] * box.element);
  }
  return loop->unit % box.element != 0 ? PT_E_PLAN : PT_OK;
}

/* Decides how the operand's slices are held, and how many units that takes. */
static pt_status hold(pt_loop* loop, unsigned operand) {
  const pt_box box = largest_slice(loop, operand);
  pt_runs runs;
  uint64_t held;
  if (pt_is_rest(loop, operand)) return hold_rest(loop, operand);
  if (tensor_bytes(loop, operand) / loop->unit >= PT_NOWHERE / 2) return PT_E_PLAN;
  find_run_dim(loop, operand, &box);
  runs = pt_runs_of(loop, operand, &box);
  held = runs.bytes * runs.count;
  if (!pt_is_streamed(loop->whole, operand)) {
    const pt_box part = pt_part_of(loop, operand);
    const int in_place = loop->inner != 0 && is_output(loop, operand) ? is_dense(&part) : runs.count == 1;
    loop->how[operand] = in_place ? PT_IN_PLACE : PT_PACKED;
    if (in_place) held = 0;
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
  if (held != 0 && is_output(loop, operand)) {
    const pt_box part = pt_part_of(loop, operand);
    if (!is_dense_within(&box, &part)) return PT_E_PLAN;
  }
  loop->units[operand] = units_for(loop, held);
  return PT_OK;
}

/* The extent of the first slice along an axis. */
static uint32_t slice_along(const pt_loop* loop, unsigned number) {
  const range by = range_of(loop, number);
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
  for (output = loop->whole->input_count; output < operands_of(loop->whole); ++output)
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
  const range first = range_at(loop, at);
  window before = {0, 0, 0, 0, 0};
  if (is_convolution(axis)) before = window_of(loop, number, 0, first);
  while (number != PT_REST && ++loop->index[at] < loop->counts[at]) {
    const range by = range_at(loop, at);
    if (is_convolution(axis)) {
      const window w = window_of(loop, number, 0, by);
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
    if (is_convolution(&loop->axes.axis[loop->axis[at]])) return 1;
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
      const pt_box held = box_of(loop, view.input_count, loop->inner);
      point_at(&view.operands[view.input_count], &held);
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

/* Buffers stand one behind the other, then the stage, then the kernel's workspace. */
static pt_status place(pt_loop* loop, uint64_t kernel_bytes) {
  uint64_t at = 0;
  unsigned operand;
  for (operand = 0; operand < operands_of(loop->whole); ++operand) {
    loop->buffer[operand] = (uint32_t)at;
    at += loop->units[operand];
    if (pt_is_rest(loop, operand) && updated_input(loop, operand) != 0)
      loop->buffer[operand] = loop->buffer[updated_input(loop, operand)];
  }
  loop->stage = (uint32_t)at;
  at += loop->stage_units;
  loop->kernel = (uint32_t)at;
  if (at >= PT_NOWHERE / 2) return PT_E_PLAN;
  loop->workspace_bytes = at * loop->unit + kernel_bytes;
  return PT_OK;
}

static void add_loop(pt_loop* loop, unsigned axis, uint32_t tile) {
  const range whole = range_of(loop, axis);
  loop->axis[loop->loops] = (uint8_t)axis;
  loop->tile[loop->loops] = tile;
  loop->counts[loop->loops] = (whole.end - whole.begin - 1) / tile + 1;
  ++loop->loops;
}

/* What is behind the terms is cut as the elements of the parameter are. */
static pt_status add_rest(pt_loop* loop, uint32_t tile) {
  const unsigned operands = operands_of(loop->whole), at = loop->loops;
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
  loop->counts[at] = count_at(loop, at);
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
  for (operand = 0; status == PT_OK && operand < operands_of(view); ++operand) status = hold(loop, operand);
  if (status == PT_OK) status = kernel_workspace(loop, kernel, pool, &kernel_bytes);
  return status == PT_OK ? place(loop, kernel_bytes) : status;
}

/* ---- what the whole loop moves ---- */

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
  const pt_tensor shape = shape_of(loop, operand);
  pt_traffic sum = {(tensor_bytes(loop, operand) + loop->unit - 1) / loop->unit * loop->unit, 1};
  unsigned dim, at;
  for (dim = 0; dim < loop->run_dim[operand]; ++dim) sum.transfers *= shape.dims[dim];
  for (at = 0; at < loop->loops; ++at)
    if (loop->axes.dim[loop->axis[at]][operand] == (int)loop->run_dim[operand] && !is_held_along(loop, operand, at))
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
  sum.bytes = (tensor_bytes(loop, operand) + loop->unit - 1) / loop->unit * loop->unit;
  sum.transfers = updates_of(loop);
  return sum;
}

pt_traffic pt_traffic_of_pass(const pt_loop* loop, unsigned operand) {
  const int looks_up = operand == 0 && pt_looks_up(loop);
  if (pt_is_rest(loop, operand)) return traffic_of_rest(loop, operand);
  if (looks_up && loop->how[0] == PT_SPAN) return traffic_of_rows(loop, slices_of(loop, 0));
  if (!looks_up && !is_windowed(loop, operand) && moves_units(loop, operand)) return traffic_of_units(loop, operand);
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
  unsigned at, terms = 0;
  pt_axes_of(view, &axes);
  for (at = 0; at < view->slicing.loops; ++at) {
    const unsigned number = view->slicing.axis[at];
    if (number >= axes.count) return 0;
    if ((terms >> number & 1) != 0) return input >= 2; /* an update, element by element behind the terms */
    if (axes.axis[number].reduces) terms |= 1u << number;
  }
  for (at = 0; at < view->slicing.loops; ++at) {
    const unsigned number = view->slicing.axis[at];
    if (view->slicing.tile[at] >= axes.axis[number].extent) continue;
    if (axes.dim[number][input] < 0 || axes.dim[number][input] != axes.dim[number][view->input_count + output])
      return 0;
    if (pt_is_windowed(&axes.axis[number], input) || pt_is_windowed(&axes.axis[number], view->input_count + output))
      return 0;
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
