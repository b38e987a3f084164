/* Proves that the waits of a plan order all accesses of the same bytes.
 *
 * The check walks the list with a partition of the bytes that were accessed: for each piece the instruction that wrote
 * it last, and, per queue, the last one that read it since. An access has to wait for these, or a former instruction of
 * its queue has: what other queues wait for in turn is not looked at, so a wait that follows from others alone has to
 * stand in the plan too. */
#include <string.h>

#include "runtime/session.h"

#if PT_MAX_ENGINES > 1

/* Bytes of RAM, or of storage, in units. */
typedef struct piece {
  uint32_t at, units;
  uint32_t wrote; /* the number in its queue; 0: no instruction wrote it */
  uint32_t read[PT_QUEUES];
  uint8_t writer, in_storage;
} piece;

typedef struct access_check {
  pt_session* session;
  piece* pieces;
  uint32_t count, most;
  uint32_t known[PT_QUEUES][PT_QUEUES]; /* what has ended, by queue, when the queue's next instruction begins */
  uint32_t issued[PT_QUEUES];
} access_check;

/* An access makes one piece, and cuts one in two. */
enum { PT_PIECES_OF_ACCESS = 2 };

static uint32_t most_pieces(const pt_plan* plan) {
  uint32_t program, most = 0;
  for (program = 0; program < plan->program_count; ++program) {
    uint32_t instructions, count = 0;
    pt_code code = pt_program_code(plan, program, &instructions);
    for (; instructions > 0; --instructions) {
      pt_step step;
      pt_op_view view;
      uint32_t accesses = 2;
      if (pt_decode_step(plan, &code, &step, &view) != PT_OK) return 0; /* pt_plan_open has refused such a plan */
      if (step.kind == PT_DO_COMPUTE) accesses = view.output_count + 1u;
      if (step.kind == PT_DO_FREE) accesses = 0;
      count += PT_PIECES_OF_ACCESS * accesses;
    }
    if (count > most) most = count;
  }
  return most + plan->tensor_count; /* and one for each tensor that is there at the start */
}

size_t pt_waits_bytes(const pt_plan* plan) {
  return (size_t)most_pieces(plan) * sizeof(piece);
}

static int is_known(const access_check* self, unsigned queue, unsigned other, uint32_t number) {
  return number == 0 || queue == other || self->known[queue][other] >= number;
}

static piece* add_piece(access_check* self, const piece* from) {
  if (self->count == self->most) return NULL;
  self->pieces[self->count] = *from;
  return &self->pieces[self->count++];
}

static int meets(const piece* of, uint8_t in_storage, uint32_t at, uint32_t units) {
  return of->in_storage == in_storage && pt_overlap(of->at, of->units, at, units);
}

static pt_status read_bytes(access_check* self, unsigned queue, uint8_t in_storage, uint32_t at, uint32_t units) {
  const uint32_t number = self->issued[queue];
  uint32_t index, covered = 0;
  piece unread;
  for (index = 0; index < self->count; ++index) {
    piece* of = &self->pieces[index];
    uint32_t begin, end;
    if (!meets(of, in_storage, at, units)) continue;
    if (!is_known(self, queue, of->writer, of->wrote)) return PT_E_PLAN;
    of->read[queue] = number;
    begin = of->at > at ? of->at : at;
    end = of->at + of->units < at + units ? of->at + of->units : at + units;
    covered += end - begin;
  }
  if (covered == units) return PT_OK;
  if (covered != 0) return PT_E_PLAN; /* a part of the tensor was overwritten */
  memset(&unread, 0, sizeof unread);
  unread.at = at;
  unread.units = units;
  unread.in_storage = in_storage;
  unread.read[queue] = number;
  return add_piece(self, &unread) != NULL ? PT_OK : PT_E_PLAN;
}

static int may_overwrite(const access_check* self, const piece* of, unsigned queue) {
  unsigned other;
  for (other = 0; other < PT_QUEUES; ++other)
    if (!is_known(self, queue, other, of->read[other])) return 0;
  return is_known(self, queue, of->writer, of->wrote);
}

/* Takes [at, at + units) out of a piece that it meets. What is left behind the bytes becomes a piece of its own. 0: no
 * room. */
static int cut(access_check* self, uint32_t index, uint32_t at, uint32_t units) {
  piece* of = &self->pieces[index];
  const uint32_t end = of->at + of->units, cut_end = at + units;
  if (of->at < at && end > cut_end) {
    piece behind = *of;
    behind.at = cut_end;
    behind.units = end - cut_end;
    of->units = at - of->at;
    return add_piece(self, &behind) != NULL;
  }
  if (of->at < at) {
    of->units = at - of->at;
  } else if (end > cut_end) {
    of->at = cut_end;
    of->units = end - cut_end;
  } else {
    *of = self->pieces[--self->count];
  }
  return 1;
}

static pt_status write_bytes(access_check* self, unsigned queue, uint8_t in_storage, uint32_t at, uint32_t units) {
  uint32_t index;
  piece written;
  if (units == 0) return PT_OK;
  for (index = self->count; index > 0; --index) { /* backwards: a piece that is taken out is replaced by the last */
    if (!meets(&self->pieces[index - 1], in_storage, at, units)) continue;
    if (!may_overwrite(self, &self->pieces[index - 1], queue)) return PT_E_PLAN;
    if (!cut(self, index - 1, at, units)) return PT_E_PLAN;
  }
  memset(&written, 0, sizeof written);
  written.at = at;
  written.units = units;
  written.in_storage = in_storage;
  written.writer = (uint8_t)queue;
  written.wrote = self->issued[queue];
  return add_piece(self, &written) != NULL ? PT_OK : PT_E_PLAN;
}

static pt_status compute_accesses(access_check* self, unsigned queue, const pt_step* step, const pt_op_view* view) {
  const pt_session* session = self->session;
  const uint32_t align = session->plan.align_bytes;
  unsigned operand;
  pt_status status = PT_OK;
  for (operand = 0; operand < view->input_count && status == PT_OK; ++operand) {
    const uint32_t tensor = view->tensors[operand];
    if (session->ram[tensor] != PT_NOWHERE) /* else in ROM, which nothing writes */
      status = read_bytes(self, queue, 0, session->ram[tensor], pt_tensor_units(&session->plan, tensor));
  }
  for (operand = 0; operand < view->output_count && status == PT_OK; ++operand)
    status = write_bytes(self, queue, 0, step->at[operand],
                         pt_tensor_units(&session->plan, view->tensors[view->input_count + operand]));
  if (status == PT_OK)
    status = write_bytes(self, queue, 0, step->workspace_at,
                         (uint32_t)(view->workspace_bytes / align + (view->workspace_bytes % align != 0)));
  return status;
}

static pt_status transfer_accesses(access_check* self, unsigned queue, const pt_step* step) {
  const pt_session* session = self->session;
  const int out = step->kind == PT_DO_PAGE_OUT;
  const uint32_t at = out ? session->ram[step->subject] : step->at[0];
  const uint32_t units = pt_tensor_units(&session->plan, step->subject), slot = pt_slot(session, step->subject);
  const pt_status status = read_bytes(self, queue, out ? 0 : 1, out ? at : slot, units);
  return status == PT_OK ? write_bytes(self, queue, out ? 1 : 0, out ? slot : at, units) : status;
}

/* Takes the waits of the next instruction of a queue; none is for a later instruction, or one of the same queue. */
static pt_status take_waits(access_check* self, unsigned queue, const pt_waits* waits) {
  unsigned other;
  for (other = 0; other < PT_QUEUES; ++other) {
    if (waits->ended[other] == 0) continue;
    if (other == queue || waits->ended[other] > self->issued[other]) return PT_E_PLAN;
    if (self->known[queue][other] < waits->ended[other]) self->known[queue][other] = waits->ended[other];
  }
  ++self->issued[queue];
  return PT_OK;
}

static pt_status check_program(access_check* self, uint32_t program) {
  uint32_t instructions;
  pt_code code = pt_program_code(&self->session->plan, program, &instructions);
  self->count = 0;
  memset(self->known, 0, sizeof self->known);
  memset(self->issued, 0, sizeof self->issued);
  pt_residency_start(self->session);
  for (; instructions > 0; --instructions) {
    pt_step step;
    pt_op_view view;
    pt_waits waits;
    unsigned queue;
    pt_status status = pt_decode_waiting_step(&self->session->plan, &code, &step, &view, &waits);
    if (status != PT_OK) return status;
    queue = pt_queue_of(&step, &view);
    if (queue < PT_QUEUES) {
      status = take_waits(self, queue, &waits);
      if (status == PT_OK)
        status = step.kind == PT_DO_COMPUTE ? compute_accesses(self, queue, &step, &view)
                                            : transfer_accesses(self, queue, &step);
    }
    if (status == PT_OK) status = pt_residency_step(self->session, &step, &view);
    if (status != PT_OK) return status;
  }
  return PT_OK;
}

pt_status pt_check_waits(pt_session* session, void* memory) {
  access_check self;
  uint32_t program;
  self.session = session;
  self.pieces = (piece*)memory;
  self.most = most_pieces(&session->plan);
  for (program = 0; program < session->plan.program_count; ++program) {
    const pt_status status = check_program(&self, program);
    if (status != PT_OK) return status;
  }
  return PT_OK;
}

#endif
