/* The inside of a session: where every tensor is now, and the transfers under way. */
#pragma once

#include "runtime/plan_bytes.h"

/* A transfer that was issued and not yet waited for. */
typedef struct pt_flight {
  uint32_t ticket, tensor, at; /* at: units in the arena */
  uint8_t writes;              /* to storage */
} pt_flight;

/* Per tensor, one byte. */
enum {
  PT_STORED = 1, /* valid in auxiliary storage, or will be once its write has ended */
  PT_SWAPPED = 2 /* of a pair: each now lives in the other's slot; outlasts runs */
};

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

/* Issues the transfer of a tensor between [at, ..) of the arena and its slot, ordered behind every open one that it
 * meets. */
pt_status pt_transfer(pt_session* session, int writes, uint32_t tensor, uint32_t at);
/* Waits for open transfers that meet [at, at + units) of the arena: `reads_only`, those that fill it; else all, so that
 * nothing is overwritten that a page_out still reads. */
pt_status pt_settle(pt_session* session, uint32_t at, uint32_t units, int reads_only);
/* Waits for all; the first failure is returned. */
pt_status pt_settle_all(pt_session* session);
/* The next ticket. */
uint32_t pt_next_ticket(pt_session* session);

/* ---- computing (compute.c) ---- */

/* Fills the data pointers of the operands from where tensors are. NULL for one that is nowhere. */
void pt_point_operands(const pt_session* session, pt_op_view* view);
/* Runs the op's kernel; the operands point to their bytes. */
pt_status pt_compute(const pt_session* session, const pt_step* step, const pt_op_view* view, const pt_scalars* scalars);
/* Finds the kernel of every op, and asks whether the planned workspaces suffice. */
pt_status pt_bind_kernels(pt_session* session);
