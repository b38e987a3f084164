#include "runtime/slices.h"

#include <string.h>

#include "runtime/slice_parts.h"

#ifndef PT_NO_SLICES

unsigned pt_operands_of(const pt_op_view* view) {
  return (unsigned)view->input_count + view->output_count;
}

int pt_is_output(const pt_loop* loop, unsigned operand) {
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
pt_tensor pt_shape_of(const pt_loop* loop, unsigned operand) {
  return pt_is_rest(loop, operand) ? vector_of(&loop->whole->operands[operand]) : seen_by_axes(loop, operand);
}

/* ---- steps ---- */

int pt_is_held(const pt_loop* loop, unsigned operand) {
  unsigned number;
  if (pt_is_output(loop, operand) || pt_is_rest(loop, operand)) return 1;
  if (!loop->apart) return 0;
  for (number = 0; number < loop->axes.count; ++number)
    if (loop->axes.axis[number].reduces && loop->axes.dim[number][operand] >= 0) return 0;
  return 1;
}

int pt_is_held_along(const pt_loop* loop, unsigned operand, unsigned at) {
  return (loop->inner >> at & 1) != 0 && pt_is_held(loop, operand);
}

/* The range of this step. */
pt_range pt_range_of(const pt_loop* loop, unsigned number) {
  const uint32_t extent = loop->axes.axis[number].extent;
  uint32_t length = extent;
  pt_range found = {0, extent};
  unsigned at;
  for (at = 0; at < loop->loops; ++at) {
    if (loop->axis[at] != number) continue;
    found.begin += loop->index[at] * loop->tile[at];
    length = loop->tile[at];
  }
  if (extent - found.begin > length) found.end = found.begin + length;
  return found;
}

pt_range pt_range_at(const pt_loop* loop, unsigned at) {
  return pt_range_of(loop, loop->axis[at]);
}

pt_updated pt_updated_of(const pt_loop* loop) {
  const unsigned rest = loop->loops - 1u;
  pt_updated found;
  unsigned dim;
  found.box = pt_box_of(loop, loop->whole->input_count, loop->inner);
  found.runs = found.run = 1;
  dim = found.box.rank;
  while (dim > 0 && found.box.extent[dim - 1] == found.box.whole[dim - 1]) found.run *= found.box.extent[--dim];
  if (dim > 0) found.run *= found.box.extent[--dim];
  found.dims = (uint8_t)dim;
  while (dim > 0) found.runs *= found.box.extent[--dim];
  found.parts = (found.run - 1) / loop->tile[rest] + 1;
  return found;
}

uint32_t pt_count_at(const pt_loop* loop, unsigned at) {
  pt_updated update;
  if (loop->axis[at] != PT_REST) return loop->counts[at];
  update = pt_updated_of(loop);
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
  return loop->index[at] + 1 < pt_count_at(loop, at);
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
    if (loop->axes.dim[loop->axis[at]][operand] >= 0 && loop->counts[at] > 1 && !pt_is_held_along(loop, operand, at))
      found |= 1u << at;
  return found;
}

int pt_next_slice(pt_loop* loop, unsigned operand) {
  const unsigned own = pt_loops_of(loop, operand);
  unsigned at = loop->loops;
  while (at-- > 0) {
    if ((own >> at & 1) == 0) continue;
    if (loop->index[at] + 1 < pt_count_at(loop, at)) {
      ++loop->index[at];
      return 1;
    }
    loop->index[at] = 0;
  }
  return 0;
}

int pt_is_outer(const pt_loop* loop, unsigned at) {
  return loop->axis[at] != PT_REST && (loop->inner >> at & 1) == 0 && !loop->axes.axis[loop->axis[at]].reduces;
}

/* Steps of the loop behind the terms. Of the slices of each loop outside of those over terms the last may be smaller than the others. */
uint64_t pt_updates_of(const pt_loop* loop) {
  pt_loop each = *loop;
  const unsigned rest = loop->loops - 1u;
  uint64_t sum = 0;
  unsigned lasts, at;
  for (lasts = 0; lasts < 1u << rest; ++lasts) {
    uint64_t times = 1;
    for (at = 0; at < rest; ++at) {
      const unsigned is_last = lasts >> at & 1;
      each.index[at] = is_last && pt_is_outer(loop, at) ? loop->counts[at] - 1 : 0;
      if (!pt_is_outer(loop, at))
        times *= 1 - is_last;
      else if (!is_last)
        times *= loop->counts[at] - 1;
    }
    if (times > 0) sum += times * pt_count_at(&each, rest);
  }
  return sum;
}

uint64_t pt_steps_of(const pt_loop* loop) {
  uint64_t steps = 1;
  unsigned at;
  for (at = 0; at < loop->loops; ++at)
    if (loop->axis[at] != PT_REST) steps *= loop->counts[at];
  return loop->rests ? steps + pt_updates_of(loop) : steps;
}

/* Is the loop over an axis whose first slice alone makes the result? */
static int makes_once(const pt_loop* loop, unsigned at, unsigned operand) {
  return loop->axes.axis[loop->axis[at]].once && pt_is_output(loop, operand) &&
         loop->axes.dim[loop->axis[at]][operand] < 0;
}

/* A slice is another one whenever a loop goes on that is not inside of all those along which the operand is cut. */
uint64_t pt_moves_of(const pt_loop* loop, unsigned operand) {
  const unsigned own = pt_loops_of(loop, operand);
  unsigned at, moving = loop->loops;
  uint64_t moves = 1;
  if (pt_is_rest(loop, operand)) return pt_updates_of(loop);
  while (moving > 0 && (own >> (moving - 1) & 1) == 0) --moving;
  for (at = 0; at < moving; ++at)
    if ((loop->axis[at] != PT_PASSES || !pt_is_output(loop, operand)) && !makes_once(loop, at, operand))
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

int pt_is_convolution(const pt_axis* axis) {
  return axis->windowed != 0 && (axis->window == PT_WINDOW_CONV || axis->window == PT_WINDOW_CONV_BACK);
}

int pt_is_windowed(const pt_axis* axis, unsigned operand) {
  return (axis->windowed >> operand & 1) != 0;
}

/* Of operand 0 of a convolution. */
static pt_part rows_of(const pt_loop* loop, const pt_axis* axis, int64_t begin, int64_t end) {
  const int64_t* ints = loop->whole->ints;
  const int64_t rows = loop->whole->operands[0].dims[2], stride = ints[PT_CONV_STRIDE_H], pad = ints[PT_CONV_PAD_TOP],
                reach = ((int64_t)weight_of(loop->whole)->dims[2] - 1) * ints[PT_CONV_DILATION_H];
  pt_part w = {0, 0, 0, 0, 0};
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
static pt_part picked(const int64_t* start_and_step, int64_t begin, int64_t end) {
  const int64_t step = start_and_step[1], first = start_and_step[0] + begin * step,
                last = start_and_step[0] + (end - 1) * step;
  pt_part w = {0, 0, 0, 0, 0};
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
static pt_part spread(const int64_t* start_and_step, int64_t count, int64_t begin, int64_t end) {
  const int64_t start = start_and_step[0], step = start_and_step[1];
  pt_part w = {0, 0, 0, 0, 0};
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

pt_part pt_window_of(const pt_loop* loop, unsigned number, unsigned operand, pt_range by) {
  const pt_axis* axis = &loop->axes.axis[number];
  const unsigned dim = (unsigned)loop->axes.dim[number][operand];
  const int64_t begin = by.begin, end = by.end, extent = loop->whole->operands[operand].dims[dim];
  pt_part w = {0, 0, 0, 0, 0};
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
uint32_t pt_window_step(const pt_loop* loop, unsigned at, unsigned operand) {
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
    const pt_range by = pt_range_at(loop, at);
    const pt_part w = pt_window_of(loop, loop->axis[at], operand, by);
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

pt_box pt_box_of(const pt_loop* loop, unsigned operand, unsigned without) {
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
pt_box pt_updated_box(const pt_loop* loop, unsigned operand) {
  const pt_tensor shape = pt_shape_of(loop, operand);
  const unsigned rest = loop->loops - 1u;
  const pt_updated update = pt_updated_of(loop);
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
  if (pt_is_rest(loop, operand)) return pt_updated_box(loop, operand);
  return pt_box_of(loop, operand, pt_is_held(loop, operand) ? loop->inner : 0);
}

pt_box pt_part_of(const pt_loop* loop, unsigned operand) {
  if (pt_is_rest(loop, operand)) return pt_updated_box(loop, operand);
  return pt_box_of(loop, operand, 0);
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

void pt_copy_part(const pt_loop* loop, unsigned operand, uint8_t* held, uint8_t* part, int to_held) {
  const pt_box slice = pt_part_of(loop, operand);
  pt_box within = pt_slice_of(loop, operand);
  uint32_t index[PT_MAX_RANK] = {0};
  unsigned dim = slice.rank;
  size_t run = slice.element;
  if (loop->how[operand] == PT_IN_PLACE) { /* the frame is the tensor */
    memset(within.begin, 0, sizeof within.begin);
    memcpy(within.extent, slice.whole, sizeof within.extent);
  }
  while (dim > 0 && slice.extent[dim - 1] == within.extent[dim - 1]) run *= slice.extent[--dim];
  if (dim > 0) run *= slice.extent[--dim];
  held += elements_before(&within, &slice) * slice.element;
  for (;;) { /* `dim` dimensions in front of the runs */
    size_t at = 0, stride = slice.element;
    unsigned each = slice.rank;
    while (each-- > 0) {
      at += each < dim ? index[each] * stride : 0;
      stride *= within.extent[each];
    }
    memcpy(to_held ? held + at : part, to_held ? part : held + at, run);
    part += run;
    for (each = dim; each > 0 && ++index[each - 1] == slice.extent[each - 1]; --each) index[each - 1] = 0;
    if (each == 0) return;
  }
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
  const pt_box held = pt_box_of(loop, made, loop->inner);
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
  const pt_updated update = pt_updated_of(loop);
  const unsigned rest = loop->loops - 1u;
  const pt_box box = pt_updated_box(loop, 2);
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

uint64_t pt_tensor_bytes(const pt_loop* loop, unsigned operand) {
  const pt_tensor* whole = &loop->whole->operands[operand];
  return pt_type_elements(whole) * pt_dtype_size(whole->dtype);
}

uint32_t pt_units_for(const pt_loop* loop, uint64_t bytes) {
  return (uint32_t)((bytes + loop->unit - 1) / loop->unit);
}

/* So many units move with a run of a row that is looked up, wherever the row lies. */
static uint64_t units_of_row(const pt_loop* loop, const pt_runs* run) {
  const uint64_t all = pt_units_for(loop, pt_tensor_bytes(loop, 0));
  const uint64_t each = loop->how[0] == PT_DENSE  ? run->bytes / loop->unit
                        : loop->how[0] == PT_SPAN ? loop->units[0]
                                                  : pt_units_for(loop, run->bytes + loop->unit - 1);
  return each < all ? each : all;
}

pt_units pt_units_of(const pt_loop* loop, unsigned operand, const pt_runs* run) {
  const uint64_t end = run->begin + run->bytes;
  const int is_carried = loop->how[operand] == PT_CARRIED && end < pt_tensor_bytes(loop, operand);
  pt_units units;
  units.first = run->begin / loop->unit;
  units.end = (is_carried ? end : end + loop->unit - 1) / loop->unit;
  if (operand == 0 && pt_looks_up(loop)) { /* as many for each row */
    const uint64_t all = pt_units_for(loop, pt_tensor_bytes(loop, 0)), each = units_of_row(loop, run);
    if (units.first > all - each) units.first = all - each;
    units.end = units.first + each;
  }
  return units;
}

/* ---- the call of a step ---- */

void pt_point_at(pt_tensor* tensor, const pt_box* box) {
  memcpy(tensor->dims, box->extent, sizeof tensor->dims);
  tensor->rank = box->rank;
}

void pt_slice_view(const pt_loop* loop, pt_op_view* view) {
  unsigned operand, at;
  for (operand = 0; operand < pt_operands_of(view); ++operand) {
    const pt_box box = pt_box_of(loop, operand, 0);
    pt_point_at(&view->operands[operand], &box);
  }
  for (at = 0; at < loop->loops; ++at) {
    const pt_axis* axis = &loop->axes.axis[loop->axis[at]];
    const pt_range by = pt_range_at(loop, at);
    if (axis->grouped) view->ints[PT_CONV_GROUPS] = (int64_t)by.end - by.begin;
    if (pt_is_convolution(axis)) {
      const pt_part w = pt_window_of(loop, loop->axis[at], 0, by);
      view->ints[PT_CONV_PAD_TOP] = w.top;
      view->ints[PT_CONV_PAD_BOTTOM] = w.bottom;
    } else if (axis->windowed != 0 && axis->window != PT_WINDOW_JOINED) {
      view->ints[2 * loop->axes.dim[loop->axis[at]][0]] = pt_window_of(loop, loop->axis[at], 0, by).start;
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
    call->slice_begin = pt_range_at(loop, at).begin;
    call->whole_extent = axis->extent;
  }
  if (loop->rests) call->terms |= PT_UNFINISHED; /* the update comes later */
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

int pt_slices_take_over(const pt_op_view* view, unsigned input, unsigned output) {
  (void)view;
  (void)input;
  (void)output;
  return 0;
}

#endif
