/* Runs a program on several engines at the same time.
 *
 * There is one program, and every queue (an engine, or a way of the pager) walks all of it: it follows where every
 * tensor is, in tables of its own, and carries out the instructions that stand in its queue. So queues share nothing
 * that changes but the arena, the storage and one counter each, and the plan says which counts an instruction waits
 * for (waits.c proves that they suffice). */
#include <string.h>

#include "runtime/session.h"

#if PT_MAX_ENGINES > 1

uint32_t pt_plan_engines(const pt_plan* plan) {
  uint32_t op, count = 1;
  pt_op_view view;
  if (plan == NULL || !pt_has_engines(plan)) return 1;
  for (op = 0; op < plan->op_count; ++op)
    if (pt_decode_op(plan, op, &view) == PT_OK)
      while (view.engines >> count != 0) ++count;
  return count;
}

/* The engines, but for the first, whose tables are the session's; and both ways of the pager. */
static uint32_t more_tables(const pt_plan* plan) {
  return pt_plan_engines(plan) + 1;
}

static size_t queues_bytes(void) {
  return (PT_QUEUES * sizeof(pt_queue) + 15) / 16 * 16;
}

static size_t places_bytes(const pt_plan* plan) {
  return queues_bytes() + ((size_t)more_tables(plan) * plan->tensor_count * (sizeof(uint32_t) + 1) + 15) / 16 * 16;
}

size_t pt_engine_bytes(const pt_plan* plan) {
  return places_bytes(plan) + pt_waits_bytes(plan);
}

void pt_engine_tables(pt_session* session, void* memory) {
  const size_t count = session->plan.tensor_count;
  const uint32_t engines = pt_plan_engines(&session->plan);
  uint32_t* ram = (uint32_t*)(void*)((uint8_t*)memory + queues_bytes());
  uint8_t* flags = (uint8_t*)(ram + more_tables(&session->plan) * count);
  unsigned queue;
  session->queues = (pt_queue*)memory;
  session->queues[0].ram = session->ram;
  session->queues[0].flags = session->flags;
  for (queue = 1; queue < PT_QUEUES; ++queue) {
    if (queue >= engines && queue < PT_QUEUE_OUT) continue;
    session->queues[queue].ram = ram;
    session->queues[queue].flags = flags;
    ram += count;
    flags += count;
  }
}

pt_status pt_take_crew(pt_session* session, uint8_t engines) {
  uint32_t crew;
  if (session->engines.crews == NULL) return PT_OK;
  for (crew = 0; crew < session->engines.crew_count; ++crew) {
    if (session->engines.crews[crew].engines != engines) continue;
    session->kernels = *session->engines.crews[crew].kernels;
    session->pool = session->engines.crews[crew].pool;
    return PT_OK;
  }
  return PT_E_KERNEL;
}

/* ---- one queue ---- */

/* A walk through the program: a copy of the session with its own places of tensors. */
typedef struct walk {
  pt_session own;
  pt_code code;
  uint32_t instruction, instructions;
  unsigned queue;
  uint32_t begun, ended; /* of this queue */
  pt_step step;          /* the next one of this queue, where is_next */
  pt_waits waits;
  int is_next;
} walk;

static void start(walk* self, const pt_session* session, unsigned queue) {
  self->own = *session;
  self->own.ram = session->queues[queue].ram;
  self->own.flags = session->queues[queue].flags;
  memset(&self->own.counters, 0, sizeof self->own.counters);
  self->code = pt_program_code(&session->plan, session->program, &self->instructions);
  self->instruction = self->begun = self->ended = 0;
  self->queue = queue;
  self->is_next = 0;
}

/* Goes on to the next instruction of the walk's queue, following what others change on the way. */
static pt_status find_next(walk* self, pt_op_view* view) {
  for (self->is_next = 0; self->instruction < self->instructions; ++self->instruction) {
    pt_status status = pt_decode_waiting_step(&self->own.plan, &self->code, &self->step, view, &self->waits);
    if (status != PT_OK) return status;
    if (pt_queue_of(&self->step, view) == self->queue) {
      self->is_next = 1;
      return PT_OK;
    }
    status = pt_residency_step(&self->own, &self->step, view);
    if (status != PT_OK) return status;
    if (self->step.kind == PT_DO_FREE && self->queue == 0) pt_tell(&self->own, self->instruction, &self->step, view);
  }
  return PT_OK;
}

static int is_stopped(const pt_session* session) {
  return session->engines.get(session->engines.context, PT_STOP) != 0;
}

/* Finds a wait that is not over yet, from `from` on. PT_QUEUES: there is none. */
static unsigned next_wait(const walk* self, unsigned from) {
  const pt_engines* engines = &self->own.engines;
  for (; from < PT_QUEUES; ++from)
    if (self->waits.ended[from] != 0 && engines->get(engines->context, from) < self->waits.ended[from]) break;
  return from;
}

/* PT_E_STATE: another queue failed. */
static pt_status wait_to_begin(const walk* self) {
  const pt_engines* engines = &self->own.engines;
  unsigned queue = 0;
  while ((queue = next_wait(self, queue)) < PT_QUEUES) {
    pt_wait wait;
    wait.counter = queue;
    wait.value = self->waits.ended[queue];
    if (is_stopped(&self->own)) return PT_E_STATE;
    engines->wait(engines->context, self->queue, &wait, 1);
  }
  return is_stopped(&self->own) ? PT_E_STATE : PT_OK;
}

static void set_ended(walk* self) {
  self->own.engines.set(self->own.engines.context, self->queue, ++self->ended);
}

static pt_status run_engine(walk* self, const pt_scalars* scalars) {
  pt_op_view view;
  pt_status status = find_next(self, &view);
  while (status == PT_OK && self->is_next) {
    status = wait_to_begin(self);
    if (status == PT_OK) status = pt_take_crew(&self->own, view.engines);
    if (status == PT_OK) status = pt_run_compute(&self->own, &self->step, &view, scalars);
    if (status != PT_OK) return status;
    pt_tell(&self->own, self->instruction++, &self->step, &view); /* before anything may overwrite the outputs */
    set_ended(self);
    status = find_next(self, &view);
  }
  return status;
}

/* ---- the pager's queues: one thread, which alone calls the pager ---- */

typedef struct pager_walks {
  walk out, in; /* the open transfers of both are in out.own */
  pt_op_view view;
} pager_walks;

/* Issues the next transfer of a way where it may begin. `done`: it did. */
static pt_status issue(pager_walks* both, walk* way, int* done) {
  pt_session* open = &both->out.own;
  uint32_t at;
  pt_status status;
  if (!way->is_next || open->flight_count == PT_MAX_IN_FLIGHT || next_wait(way, 0) < PT_QUEUES) return PT_OK;
  status = pt_residency_step(&way->own, &way->step, &both->view);
  if (status != PT_OK) return status;
  at = way->own.ram[way->step.subject];
  status = pt_transfer(open, way->queue == PT_QUEUE_OUT, way->step.subject, at);
  if (status != PT_OK) return status;
  ++way->begun;
  *done = 1;
  pt_tell(&way->own, way->instruction++, &way->step, &both->view);
  return find_next(way, &both->view);
}

static pt_status end_oldest(pager_walks* both) {
  const int writes = both->out.own.flights[0].writes;
  const pt_status status = pt_settle_oldest(&both->out.own);
  if (status == PT_OK) set_ended(writes ? &both->out : &both->in);
  return status;
}

/* Waits until the next transfer of one way may begin. */
static void wait_for_any(const pager_walks* both) {
  const pt_engines* engines = &both->out.own.engines;
  const walk* ways[PT_MOST_WAITS];
  pt_wait waits[PT_MOST_WAITS];
  uint32_t way, count = 0;
  ways[0] = &both->out;
  ways[1] = &both->in;
  for (way = 0; way < PT_MOST_WAITS; ++way) {
    unsigned queue;
    if (!ways[way]->is_next) continue;
    queue = next_wait(ways[way], 0);
    if (queue == PT_QUEUES) return; /* it ended meanwhile */
    waits[count].counter = queue;
    waits[count++].value = ways[way]->waits.ended[queue];
  }
  engines->wait(engines->context, pt_plan_engines(&both->out.own.plan), waits, count);
}

static pt_status run_pager(pager_walks* both) {
  pt_status status = find_next(&both->out, &both->view);
  if (status == PT_OK) status = find_next(&both->in, &both->view);
  while (status == PT_OK) {
    int issued = 0;
    if (is_stopped(&both->out.own)) return PT_E_STATE;
    status = issue(both, &both->out, &issued);
    if (status == PT_OK) status = issue(both, &both->in, &issued);
    if (status != PT_OK || issued) continue;
    if (both->out.own.flight_count != 0)
      status = end_oldest(both);
    else if (both->out.is_next || both->in.is_next)
      wait_for_any(both);
    else
      return PT_OK;
  }
  return status;
}

static pt_status run_pager_part(pt_session* session) {
  pager_walks both;
  pt_status status, settled;
  start(&both.out, session, PT_QUEUE_OUT);
  start(&both.in, session, PT_QUEUE_IN);
  both.out.own.flight_count = 0;
  status = run_pager(&both);
  settled = pt_settle_all(&both.out.own); /* the arena is the caller's again, whatever failed */
  session->queues[PT_QUEUE_OUT].counters = both.out.own.counters;
  session->queues[PT_QUEUE_OUT].last_ticket = both.out.own.last_ticket;
  return status == PT_OK || (status == PT_E_STATE && settled != PT_OK) ? settled : status;
}

/* ---- all ---- */

static pt_status run_engine_part(pt_session* session, uint32_t engine) {
  walk self;
  pt_status status;
  start(&self, session, engine);
  status = run_engine(&self, session->scalars);
  session->queues[engine].counters = self.own.counters;
  return status;
}

static void run_part(void* arg, uint32_t part) {
  pt_session* session = (pt_session*)arg;
  const int is_pager = part == pt_plan_engines(&session->plan);
  const pt_status status = is_pager ? run_pager_part(session) : run_engine_part(session, part);
  session->queues[is_pager ? (uint32_t)PT_QUEUE_OUT : part].status = status;
  if (status != PT_OK) session->engines.set(session->engines.context, PT_STOP, 1);
}

static void add(pt_counters* sum, const pt_counters* more) {
  sum->bytes_paged_in += more->bytes_paged_in;
  sum->bytes_paged_out += more->bytes_paged_out;
  sum->computes += more->computes;
}

pt_status pt_run_engines(pt_session* session, uint32_t program, const pt_scalars* scalars) {
  const pt_engines* engines = &session->engines;
  const size_t tensors = session->plan.tensor_count;
  pt_status first = PT_OK;
  unsigned queue;
  for (queue = 0; queue <= PT_STOP; ++queue) engines->set(engines->context, queue, 0);
  for (queue = 0; queue < PT_QUEUES; ++queue) {
    pt_queue* of = &session->queues[queue];
    of->status = PT_OK;
    memset(&of->counters, 0, sizeof of->counters);
    if (of->ram == NULL || queue == 0) continue;
    memcpy(of->ram, session->ram, tensors * sizeof *of->ram);
    memcpy(of->flags, session->flags, tensors);
  }
  session->program = program;
  session->scalars = scalars;
  engines->run(engines->context, pt_plan_engines(&session->plan) + 1, run_part, session);
  session->last_ticket = session->queues[PT_QUEUE_OUT].last_ticket;
  for (queue = 0; queue < PT_QUEUES; ++queue) {
    const pt_queue* of = &session->queues[queue];
    add(&session->counters, &of->counters);
    /* PT_E_STATE: stopped because another one failed */
    if (of->status != PT_OK && (first == PT_OK || first == PT_E_STATE)) first = of->status;
  }
  return first;
}

#else

pt_status pt_take_crew(pt_session* session, uint8_t engines) {
  (void)session;
  (void)engines;
  return PT_OK;
}

size_t pt_engine_bytes(const pt_plan* plan) {
  (void)plan;
  return 0;
}

uint32_t pt_plan_engines(const pt_plan* plan) {
  (void)plan;
  return 1;
}

#endif
