/* The inside of a session: where every tensor is now, and the transfers under way. */
#pragma once

#include "runtime/plan_bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A transfer that was issued and not yet waited for. */
typedef struct pt_flight {
  uint32_t ticket, at, slot, units; /* at: units in the arena; slot: units in storage */
  uint8_t writes;                   /* to storage */
} pt_flight;

/* Per tensor, one byte. */
enum {
  PT_STORED = 1, /* valid in auxiliary storage, or will be once its write has ended */
  PT_SWAPPED = 2 /* of a pair: each now lives in the other's slot; outlasts runs */
};

/* What one queue leaves when it has run, and where its walk through the program keeps the places of tensors. Beside the session, which walks copy
 * while others end. */
typedef struct pt_queue {
  uint32_t* ram;
  uint8_t* flags;
  pt_status status;
  pt_counters counters;
  uint32_t last_ticket;
} pt_queue;

struct pt_session {
  pt_plan plan;
  uint8_t* arena;
  const uint8_t* rom;
  pt_kernel_table kernels;
  pt_pager pager;
  const pt_pool* pool;
  void (*observer)(void* context, const pt_event* event);
  void* observer_context;
  pt_counters counters;
  uint32_t* ram;        /* per tensor: units in the arena, PT_NOWHERE */
  uint16_t* kernel_of;  /* per op: index in `kernels` */
  uint8_t* flags;       /* per tensor */
  uint32_t last_ticket; /* the newest given */
  uint8_t has_pager, failed;
  uint8_t busy; /* a run or a copy is under way: a callback that calls back finds it */
#if PT_MAX_ENGINES > 1
  pt_engines engines;        /* crews NULL: one engine */
  pt_queue* queues;          /* PT_QUEUES of them */
  const pt_scalars* scalars; /* of the run under way, and its program */
  uint32_t program;
#endif
  uint32_t flight_count;
  pt_flight flights[PT_MAX_IN_FLIGHT]; /* ascending tickets */
};

static inline int pt_overlap(uint32_t a, uint32_t a_units, uint32_t b, uint32_t b_units) {
  return (uint64_t)a < (uint64_t)b + b_units && (uint64_t)b < (uint64_t)a + a_units;
}

/* The slot of a tensor in auxiliary storage now, in units; PT_NOWHERE: it has none. */
uint32_t pt_slot(const pt_session* session, uint32_t tensor);

/* ---- where tensors are (residency.c) ---- */

/* Resets every tensor to the place where a run finds it. */
void pt_residency_start(pt_session* session);
/* Applies the instruction to the places of tensors. PT_E_PLAN where the instruction is not allowed now: an input that
 * is not in RAM, operands that overlap in a way that no kernel has to support, a misaligned operand, a page_in of a
 * tensor that is in RAM or not in storage, ... */
pt_status pt_residency_step(pt_session* session, const pt_step* step, const pt_op_view* view);
/* Whether the next run will find the persistent pairs in RAM. */
pt_status pt_residency_end(const pt_session* session);
/* After a good run: successors that reached their slot become what the next run reads. */
void pt_residency_swap(pt_session* session);

/* ---- transfers (transfers.c) ---- */

/* Issues the transfer of `units` between [at, ..) of the arena and [slot, ..) of storage, ordered behind every open one that it meets. */
pt_status pt_move(pt_session* session, int writes, uint32_t slot, uint32_t at, uint32_t units);
/* The same of a tensor and its slot. */
pt_status pt_transfer(pt_session* session, int writes, uint32_t tensor, uint32_t at);
/* Waits for open transfers that meet [at, at + units) of the arena: `reads_only`, those that fill it; else all, so that
 * nothing is overwritten that a page_out still reads. */
pt_status pt_settle(pt_session* session, uint32_t at, uint32_t units, int reads_only);
/* Waits for all; the first failure is returned. */
pt_status pt_settle_all(pt_session* session);
/* Waits for the oldest of the open transfers, of which there is one at least. */
pt_status pt_settle_oldest(pt_session* session);
/* The next ticket. */
uint32_t pt_next_ticket(pt_session* session);

/* ---- computing (compute.c) ---- */

/* Fills the data pointers of the operands from where tensors are. NULL for one that is nowhere. */
void pt_point_operands(const pt_session* session, pt_op_view* view);
/* Runs the op's kernel in slices (stream.c); the operands in RAM point to their bytes. What is streamed out may still be under way. */
pt_status pt_compute_in_slices(pt_session* session, const pt_step* step, pt_op_view* view, const pt_scalars* scalars);
/* Runs the op's kernel; the operands point to their bytes. */
pt_status pt_compute(const pt_session* session, const pt_step* step, const pt_op_view* view, const pt_scalars* scalars);
/* Runs a compute: the transfers that it meets are waited for, then its kernel runs. */
pt_status pt_run_compute(pt_session* session, const pt_step* step, pt_op_view* view, const pt_scalars* scalars);
/* Calls the observer. */
void pt_tell(const pt_session* session, uint32_t instruction, const pt_step* step, const pt_op_view* view);
/* Finds the kernel of every op, and asks whether the planned workspaces suffice. */
pt_status pt_bind_kernels(pt_session* session);

/* ---- several engines (engines.c, waits.c) ---- */

/* Makes the session compute with the crew of these engines. PT_E_KERNEL: there is none. */
pt_status pt_take_crew(pt_session* session, uint8_t engines);
/* The bytes behind the tables of a session: places for every queue, and room for check_waits. */
size_t pt_engine_bytes(const pt_plan* plan);
/* Gives every queue its tables, `memory` of pt_engine_bytes. */
void pt_engine_tables(pt_session* session, void* memory);
/* Runs a program on all engines. */
pt_status pt_run_engines(pt_session* session, uint32_t program, const pt_scalars* scalars);

/* The room that pt_check_waits needs, in bytes. */
size_t pt_waits_bytes(const pt_plan* plan);
/* Proves for every program: whatever durations come true, no two instructions that share bytes, one of which writes them, run at the same time, and no
 * instruction waits for a later one. PT_E_PLAN. `memory`: pt_waits_bytes, aligned for uint32_t. */
pt_status pt_check_waits(pt_session* session, void* memory);

#ifdef __cplusplus
}
#endif
