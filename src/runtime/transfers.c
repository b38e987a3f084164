#include "runtime/session.h"

/* The interpreter does not wait to keep transfers in order: each transfer names, as `after`, the newest open transfer that must end before it. One
 * ticket is enough, because `after` also covers every smaller ticket (pantoum.h). */

static void drop(pt_session* session, uint32_t index) {
  for (; index + 1 < session->flight_count; ++index) session->flights[index] = session->flights[index + 1];
  --session->flight_count;
}

static pt_status wait_for(pt_session* session, uint32_t index) {
  const uint32_t ticket = session->flights[index].ticket;
  drop(session, index);
  return session->pager.wait(session->pager.context, ticket);
}

/* Returns whether two transfers must not run at the same time: they overlap in RAM or in storage, and at least one of them changes the bytes that
 * they share. */
static int collide(const pt_flight* a, const pt_flight* b) {
  const int in_ram = pt_overlap(a->at, a->units, b->at, b->units);
  const int in_storage = pt_overlap(a->slot, a->units, b->slot, b->units);
  return (in_ram && !(a->writes && b->writes)) || (in_storage && (a->writes || b->writes));
}

static uint32_t newest_collision(const pt_session* session, const pt_flight* flight) {
  uint32_t index;
  for (index = session->flight_count; index > 0; --index)
    if (collide(&session->flights[index - 1], flight)) return session->flights[index - 1].ticket;
  return 0;
}

uint32_t pt_next_ticket(pt_session* session) {
  if (session->flight_count == 0 && session->last_ticket > INT32_MAX) session->last_ticket = 0;
  return ++session->last_ticket;
}

pt_status pt_move(pt_session* session, int writes, uint32_t slot, uint32_t at, uint32_t units) {
  const uint64_t bytes = (uint64_t)units * session->plan.align_bytes;
  const uint64_t storage_at = (uint64_t)slot * session->plan.align_bytes;
  uint8_t* data = session->arena + (size_t)at * session->plan.align_bytes;
  void* context = session->pager.context;
  pt_flight flight;
  uint32_t after;
  pt_status status = session->flight_count == PT_MAX_IN_FLIGHT ? wait_for(session, 0) : PT_OK;
  if (status != PT_OK) return status;
  flight.at = at;
  flight.slot = slot;
  flight.units = units;
  flight.writes = writes != 0;
  flight.ticket = pt_next_ticket(session);
  after = newest_collision(session, &flight);
  status = writes ? session->pager.write(context, storage_at, data, (size_t)bytes, flight.ticket, after)
                  : session->pager.read(context, storage_at, data, (size_t)bytes, flight.ticket, after);
  if (status != PT_OK) return status; /* the pager refused the transfer, so there is nothing to wait for */
  session->flights[session->flight_count++] = flight;
  if (writes)
    session->counters.bytes_paged_out += bytes;
  else
    session->counters.bytes_paged_in += bytes;
  return PT_OK;
}

pt_status pt_transfer(pt_session* session, int writes, uint32_t tensor, uint32_t at) {
  return pt_move(session, writes, pt_slot(session, tensor), at, pt_tensor_units(&session->plan, tensor));
}

pt_status pt_settle(pt_session* session, uint32_t at, uint32_t units, int reads_only) {
  uint32_t index = 0;
  while (index < session->flight_count) {
    const pt_flight* flight = &session->flights[index];
    const int meets = pt_overlap(at, units, flight->at, flight->units);
    if (!meets || (reads_only && flight->writes)) {
      ++index;
    } else {
      const pt_status status = wait_for(session, index);
      if (status != PT_OK) return status;
    }
  }
  return PT_OK;
}

pt_status pt_settle_oldest(pt_session* session) {
  return wait_for(session, 0);
}

pt_status pt_settle_all(pt_session* session) {
  pt_status first = PT_OK;
  while (session->flight_count > 0) {
    const pt_status status = wait_for(session, 0);
    if (first == PT_OK) first = status;
  }
  return first;
}
