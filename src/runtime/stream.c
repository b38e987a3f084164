/* Computes an op in slices: moves the parts of what is streamed between storage and buffers in the workspace, and calls the kernel for every part. */
#include <string.h>

#include "kernels/portable/indices.h"
#include "kernels/portable/parts.h"
#include "kernels/portable/pool_part.h"
#include "runtime/session.h"
#include "runtime/slices.h"

#ifndef PT_NO_SLICES

typedef struct stream {
  pt_session* session;
  const pt_step* step;
  pt_loop loop;
  uint8_t* tensor[PT_MAX_OPERANDS]; /* where operands in RAM begin */
  uint32_t slot[PT_MAX_OPERANDS];   /* of those that are streamed */
  /* Of a carried output, what was not written with its last slice: bytes, and the units of the buffer before them. */
  uint32_t left[PT_MAX_OPERANDS], left_at[PT_MAX_OPERANDS];
} stream;

static uint32_t place_of(const stream* s, uint32_t units) {
  return s->step->workspace_at + units;
}

static uint8_t* address_of(const stream* s, uint32_t units) {
  return s->session->arena + (size_t)place_of(s, units) * s->loop.unit;
}

static pt_status move_run(stream* s, unsigned operand, int writes, const pt_runs* run, uint32_t to) {
  const pt_units units = pt_units_of(&s->loop, operand, run);
  if (units.first >= units.end) return PT_OK;
  return pt_move(s->session, writes, s->slot[operand] + (uint32_t)units.first, place_of(s, to),
                 (uint32_t)(units.end - units.first));
}

/* What of a carried output's run is not written with it, since the next run shares its unit. */
static void keep_rest(stream* s, unsigned operand, const pt_runs* run) {
  const pt_units units = pt_units_of(&s->loop, operand, run);
  const uint64_t end = run->begin + run->bytes, written = units.end * s->loop.unit;
  s->left_at[operand] = (uint32_t)(units.end - units.first);
  s->left[operand] = end > written ? (uint32_t)(end - written) : 0;
}

/* Puts it where the next run's unit begins. Its buffer has no transfer any more. */
static void carry(stream* s, unsigned operand) {
  uint8_t* buffer = address_of(s, s->loop.buffer[operand]);
  if (s->left[operand] == 0) return;
  memmove(buffer, buffer + (size_t)s->left_at[operand] * s->loop.unit, s->left[operand]);
  s->left[operand] = 0;
}

/* Reads a run at a time: the next one waits until this one has been copied. */
static pt_status read_through_stage(stream* s, unsigned operand, const pt_box* box, pt_runs run) {
  do {
    const uint64_t from = pt_units_of(&s->loop, operand, &run).first * s->loop.unit;
    pt_status status = move_run(s, operand, 0, &run, s->loop.stage);
    if (status == PT_OK) status = pt_settle(s->session, place_of(s, s->loop.stage), s->loop.stage_units, 0);
    if (status != PT_OK) return status;
    memcpy(address_of(s, s->loop.buffer[operand]) + run.at, address_of(s, s->loop.stage) + (run.begin - from),
           (size_t)run.bytes);
  } while (pt_next_run(box, &run));
  return PT_OK;
}

/* Begins to move a slice between storage, or the tensor, and its buffer. */
static pt_status move_slice(stream* s, unsigned operand, int writes) {
  const pt_box box = pt_slice_of(&s->loop, operand);
  const uint8_t how = s->loop.how[operand];
  pt_runs run = pt_runs_of(&s->loop, operand, &box);
  if (pt_is_empty(&box)) return PT_OK;
  if (how == PT_STAGED) return read_through_stage(s, operand, &box, run);
  do {
    uint8_t* packed = address_of(s, s->loop.buffer[operand]) + run.at;
    if (how == PT_PACKED) {
      uint8_t* whole = s->tensor[operand] + run.begin;
      memcpy(writes ? whole : packed, writes ? packed : whole, (size_t)run.bytes);
    } else {
      const uint32_t to = s->loop.buffer[operand] + (uint32_t)(run.at / s->loop.unit);
      const size_t skip = how == PT_DENSE ? 0 : (size_t)(run.begin % s->loop.unit),
                   rest = (size_t)((skip + run.bytes) % s->loop.unit);
      pt_status status;
      if (writes && how == PT_CARRIED) keep_rest(s, operand, &run);
      if (writes && rest != 0 && s->left[operand] == 0)
        memset(packed + skip + run.bytes, 0, s->loop.unit - rest); /* the tensor ends inside the unit */
      status = move_run(s, operand, writes, &run, to);
      if (status != PT_OK) return status;
    }
  } while (pt_next_run(&box, &run));
  return PT_OK;
}

static pt_status settle_buffer(stream* s, unsigned operand, int reads_only) {
  if (s->loop.units[operand] == 0) return PT_OK;
  return pt_settle(s->session, place_of(s, s->loop.buffer[operand]), s->loop.units[operand], reads_only);
}

/* What is held of the operand: its tensor, or in its buffer the slice's first byte. */
static uint8_t* frame_of(const stream* s, unsigned operand) {
  const pt_box box = pt_slice_of(&s->loop, operand);
  const pt_runs run = pt_runs_of(&s->loop, operand, &box);
  if (s->loop.how[operand] == PT_IN_PLACE) return s->tensor[operand];
  return address_of(s, s->loop.buffer[operand]) +
         (s->loop.how[operand] == PT_SPAN || s->loop.how[operand] == PT_CARRIED
              ? run.begin - pt_units_of(&s->loop, operand, &run).first * s->loop.unit
              : 0);
}

/* The part of the operand that the step's call is on. */
static uint8_t* slice_at(const stream* s, unsigned operand) {
  const pt_box part = pt_part_of(&s->loop, operand);
  if (s->loop.how[operand] != PT_IN_PLACE) return frame_of(s, operand) + pt_part_begins(&s->loop, operand);
  return s->tensor[operand] == NULL ? NULL : s->tensor[operand] + pt_runs_of(&s->loop, operand, &part).begin;
}

/* Copies what the call reads of parts with gaps: of results, the sums of the terms before. */
static void take_parts(stream* s, pt_op_view* view) {
  const unsigned operands = (unsigned)view->input_count + view->output_count;
  unsigned operand;
  for (operand = 0; s->loop.apart && operand < operands; ++operand) {
    if (s->loop.part[operand] == PT_NOWHERE) continue;
    view->operands[operand].data = address_of(s, s->loop.part[operand]);
    pt_copy_part(&s->loop, operand, frame_of(s, operand), view->operands[operand].data, 0);
  }
}

static void put_parts(stream* s, const pt_op_view* view) {
  const unsigned operands = (unsigned)view->input_count + view->output_count;
  unsigned operand;
  for (operand = view->input_count; s->loop.apart && operand < operands; ++operand)
    if (s->loop.part[operand] != PT_NOWHERE)
      pt_copy_part(&s->loop, operand, frame_of(s, operand), address_of(s, s->loop.part[operand]), 1);
}

static int is_cut_along(const stream* s, unsigned operand, unsigned loops) {
  return (pt_loops_of(&s->loop, operand) & loops) != 0;
}

static pt_status load_one(stream* s, unsigned input, unsigned changed) {
  if (s->loop.how[input] == PT_IN_PLACE) return PT_OK;
  if (pt_is_rest(&s->loop, input) ? !pt_is_at_rest(&s->loop) : changed != 0 && !is_cut_along(s, input, changed))
    return PT_OK;
  return move_slice(s, input, 0);
}

/* Waits for the indices, and finds the row of the table that this step looks up. */
static pt_status find_row(stream* s) {
  const pt_tensor* table = &s->loop.whole->operands[0];
  pt_tensor index = s->loop.whole->operands[1];
  const pt_status status = settle_buffer(s, 1, 1);
  if (status != PT_OK) return status;
  index.rank = 0; /* one element */
  index.data = slice_at(s, 1);
  if (pt_check_indices(&index, (int64_t)table->dims[0]) != PT_OK) return PT_E_DATA;
  s->loop.row = (uint32_t)pt_row_of(&index, 0, table->dims[0]);
  return PT_OK;
}

/* Begins to read the inputs' slices that are others than before, then waits for all of them. `changed`: the loops that went on; 0: the first step. */
static pt_status load(stream* s, const pt_op_view* view, unsigned changed) {
  const int looks_up = pt_looks_up(&s->loop);
  pt_status status = PT_OK;
  unsigned input;
  for (input = looks_up ? 1 : 0; input < view->input_count && status == PT_OK; ++input)
    status = load_one(s, input, changed);
  if (status == PT_OK && looks_up) status = find_row(s);
  if (status == PT_OK && looks_up) status = load_one(s, 0, changed);
  for (input = 0; input < view->input_count && status == PT_OK; ++input) status = settle_buffer(s, input, 1);
  return status;
}

static pt_status call_kernel(stream* s, pt_op_view* view, const pt_kernel* kernel, const pt_scalars* scalars,
                             uint64_t sums, int updates) {
  const uint64_t element = pt_dtype_size(view->operands[view->input_count].dtype);
  pt_pool_part part;
  pt_call call = pt_call_of(view, pt_take_pool(&part, s->session->pool, view->threads));
  pt_status status;
  call.scalars = scalars;
  pt_slice_call(&s->loop, &call);
  if (updates) call.terms = PT_UPDATE_ALONE;
  call.workspace = address_of(s, s->loop.kernel) + sums * element;
  status = kernel->submit(&call);
  return status == PT_OK && kernel->wait != NULL ? kernel->wait(&call) : status;
}

/* Updates the step's slices, by sums that are complete. */
static pt_status update(stream* s, pt_op_view* view, const pt_kernel* kernel, const pt_scalars* scalars) {
  const unsigned operands = (unsigned)view->input_count + view->output_count;
  pt_sums sums = pt_sums_at(&s->loop, 0);
  pt_status status = PT_OK;
  for (; sums.count > 0 && status == PT_OK; sums = pt_sums_at(&s->loop, sums.at + sums.count)) {
    unsigned operand;
    for (operand = 2; operand < operands; ++operand) {
      pt_tensor* tensor = &view->operands[operand];
      tensor->data = slice_at(s, operand) + sums.at * pt_dtype_size(tensor->dtype);
      tensor->rank = 1;
      tensor->dims[0] = (uint32_t)sums.count;
    }
    status = call_kernel(s, view, kernel, scalars, sums.sum, 1);
  }
  return status;
}

static pt_status compute(stream* s, pt_op_view* view, const pt_kernel* kernel, const pt_scalars* scalars) {
  const unsigned operands = (unsigned)view->input_count + view->output_count;
  static const int64_t first = 0;
  const int is_at_rest = pt_is_at_rest(&s->loop);
  pt_status status = PT_OK;
  unsigned operand;
  pt_slice_view(&s->loop, view);
  for (operand = 0; operand < operands; ++operand) view->operands[operand].data = slice_at(s, operand);
  if (pt_looks_up(&s->loop)) view->operands[1].data = (void*)(uintptr_t)&first; /* the slice is that row */
  for (operand = view->input_count; operand < operands && status == PT_OK; ++operand)
    status = settle_buffer(s, operand, 0); /* the slice before it is still written */
  if (status != PT_OK) return status;
  for (operand = view->input_count; operand < operands; ++operand) carry(s, operand);
  take_parts(s, view);
  if (!is_at_rest || s->loop.index[s->loop.loops - 1] == 0)
    status = call_kernel(s, view, kernel, scalars, s->loop.rests ? pt_sums_begin(&s->loop) : 0, 0);
  if (status == PT_OK) put_parts(s, view);
  return status == PT_OK && is_at_rest ? update(s, view, kernel, scalars) : status;
}

/* Begins to write the outputs' slices that are complete. `changing`: the loops that go on next; 0: this was the last step. */
static pt_status store(stream* s, const pt_op_view* view, unsigned changing) {
  pt_status status = PT_OK;
  unsigned operand;
  for (operand = view->input_count; operand < (unsigned)view->input_count + view->output_count && status == PT_OK;
       ++operand)
    if (s->loop.how[operand] != PT_IN_PLACE && pt_is_complete(&s->loop, operand, changing))
      status = move_slice(s, operand, 1);
  return status;
}

pt_status pt_compute_in_slices(pt_session* session, const pt_step* step, pt_op_view* view, const pt_scalars* scalars) {
  const pt_op_view whole = *view;
  const pt_kernel* kernel = &session->kernels.kernels[session->kernel_of[step->subject]];
  pt_pool_part part;
  stream s;
  unsigned operand, changed = 0;
  pt_status status;
  memset(&s, 0, sizeof s);
  s.session = session;
  s.step = step;
  for (operand = 0; operand < (unsigned)view->input_count + view->output_count; ++operand) {
    s.tensor[operand] = (uint8_t*)view->operands[operand].data;
    if (pt_is_streamed(view, operand)) s.slot[operand] = pt_slot(session, view->tensors[operand]);
  }
  status = pt_loop_open(&s.loop, &whole, session->plan.align_bytes, kernel,
                        pt_take_pool(&part, session->pool, view->threads));
  while (status == PT_OK) {
    const unsigned next = pt_loop_changes(&s.loop);
    status = load(&s, view, changed);
    if (status == PT_OK) status = compute(&s, view, kernel, scalars);
    if (status == PT_OK) status = store(&s, view, next);
    if (status != PT_OK || next == 0) return status;
    pt_loop_next(&s.loop);
    changed = next;
  }
  return status;
}

#else

pt_status pt_compute_in_slices(pt_session* session, const pt_step* step, pt_op_view* view, const pt_scalars* scalars) {
  (void)session;
  (void)step;
  (void)view;
  (void)scalars;
  return PT_E_PLAN;
}

#endif
