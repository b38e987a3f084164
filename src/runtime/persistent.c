/* Persistent tensors between runs: read and written wherever they live. */
#include <string.h>

#include "runtime/session.h"

static uint8_t home_of(const pt_session* session, uint32_t tensor) {
  return pt_tensor_home(&session->plan, tensor);
}

void* pt_session_data(pt_session* session, uint32_t tensor) {
  if (session == NULL || tensor >= session->plan.tensor_count || home_of(session, tensor) != PT_HOME_RAM) return NULL;
  return session->arena + (size_t)pt_tensor_place(&session->plan, tensor) * session->plan.align_bytes;
}

static pt_status check_range(const pt_session* session, uint32_t tensor, uint64_t at, const void* data, size_t bytes,
                             uint64_t* payload) {
  pt_tensor_info info;
  if (session == NULL || (data == NULL && bytes != 0)) return PT_E_ARGUMENT;
  if (session->failed || session->busy) return PT_E_STATE;
  if (pt_plan_tensor_info(&session->plan, tensor, &info) != PT_OK) return PT_E_ARGUMENT;
  if (at > info.payload || bytes > info.payload - at) return PT_E_ARGUMENT;
  *payload = info.payload;
  return info.home == PT_HOME_NONE ? PT_E_STATE : PT_OK;
}

/* Runs one transfer between a slot and the caller's buffer, and waits for it. A failure fails the session. */
static pt_status move(pt_session* session, int writes, uint64_t storage_at, void* buffer, size_t bytes) {
  const uint32_t ticket = pt_next_ticket(session);
  const pt_pager* pager = &session->pager;
  pt_status status;
  session->busy = 1;
  status = writes ? pager->write(pager->context, storage_at, buffer, bytes, ticket, 0)
                  : pager->read(pager->context, storage_at, buffer, bytes, ticket, 0);
  if (status == PT_OK) status = pager->wait(pager->context, ticket);
  session->busy = 0;
  if (status != PT_OK) session->failed = 1;
  return status;
}

/* The part of the tensor that goes through the buffer next: whole units, beginning with the unit that holds byte `at`.
 */
typedef struct window {
  uint64_t storage_at;
  size_t bytes, skip, payload; /* in the buffer: all, before `at`, from `at` */
} window;

static window next_window(const pt_session* session, uint32_t tensor, uint64_t at, size_t wanted, size_t buffer_bytes) {
  const uint32_t align = session->plan.align_bytes;
  const size_t space = buffer_bytes - buffer_bytes % align;
  window next;
  uint64_t whole;
  next.skip = (size_t)(at % align);
  next.payload = wanted < space - next.skip ? wanted : space - next.skip;
  whole = next.skip + next.payload;
  next.bytes = (size_t)((whole + align - 1) / align * align);
  next.storage_at = (uint64_t)pt_slot(session, tensor) * align + (at - next.skip);
  return next;
}

static pt_status check_buffer(const pt_session* session, const void* buffer, size_t buffer_bytes) {
  const uint32_t align = session->plan.align_bytes;
  if (buffer == NULL || (uintptr_t)buffer % align != 0 || buffer_bytes < align) return PT_E_ARGUMENT;
  return session->has_pager ? PT_OK : PT_E_ARGUMENT;
}

pt_status pt_session_read(pt_session* session, uint32_t tensor, uint64_t at, void* data, size_t bytes, void* buffer,
                          size_t buffer_bytes) {
  uint8_t* to = (uint8_t*)data;
  uint64_t payload;
  pt_status status = check_range(session, tensor, at, data, bytes, &payload);
  if (status != PT_OK || bytes == 0) return status;
  if (home_of(session, tensor) != PT_HOME_AUX) {
    const uint8_t* from = (const uint8_t*)pt_session_data(session, tensor);
    if (from == NULL) from = session->rom + (size_t)pt_tensor_place(&session->plan, tensor) * session->plan.align_bytes;
    memcpy(to, from + at, bytes);
    return PT_OK;
  }
  status = check_buffer(session, buffer, buffer_bytes);
  while (status == PT_OK && bytes > 0) {
    const window next = next_window(session, tensor, at, bytes, buffer_bytes);
    status = move(session, 0, next.storage_at, buffer, next.bytes);
    if (status == PT_OK) memcpy(to, (const uint8_t*)buffer + next.skip, next.payload);
    to += next.payload, at += next.payload, bytes -= next.payload;
  }
  return status;
}

pt_status pt_session_write(pt_session* session, uint32_t tensor, uint64_t at, const void* data, size_t bytes,
                           void* buffer, size_t buffer_bytes) {
  const uint8_t* from = (const uint8_t*)data;
  uint64_t payload;
  pt_status status = check_range(session, tensor, at, data, bytes, &payload);
  if (status != PT_OK || bytes == 0) return status;
  if (home_of(session, tensor) == PT_HOME_ROM) return PT_E_STATE;
  if (home_of(session, tensor) == PT_HOME_RAM) {
    memcpy((uint8_t*)pt_session_data(session, tensor) + at, from, bytes);
    return PT_OK;
  }
  status = check_buffer(session, buffer, buffer_bytes);
  while (status == PT_OK && bytes > 0) {
    const window next = next_window(session, tensor, at, bytes, buffer_bytes);
    /* The bytes around a part of a unit are kept; behind the tensor's end there are none. */
    if (next.skip != 0 || (next.payload != next.bytes && at + next.payload < payload))
      status = move(session, 0, next.storage_at, buffer, next.bytes);
    else
      memset((uint8_t*)buffer + next.payload, 0, next.bytes - next.payload);
    if (status == PT_OK) {
      memcpy((uint8_t*)buffer + next.skip, from, next.payload);
      status = move(session, 1, next.storage_at, buffer, next.bytes);
    }
    from += next.payload, at += next.payload, bytes -= next.payload;
  }
  return status;
}

static int lives_in_pair_slots(const pt_session* session, uint32_t tensor) {
  const uint32_t pair = pt_tensor_pair(&session->plan, tensor);
  return pair != PT_NOWHERE && (home_of(session, tensor) == PT_HOME_AUX || home_of(session, pair) == PT_HOME_AUX);
}

pt_status pt_session_get_roles(const pt_session* session, uint8_t* bits, size_t bytes) {
  uint32_t tensor;
  if (session == NULL || bits == NULL || bytes < ((size_t)session->plan.tensor_count + 7) / 8) return PT_E_ARGUMENT;
  memset(bits, 0, ((size_t)session->plan.tensor_count + 7) / 8);
  for (tensor = 0; tensor < session->plan.tensor_count; ++tensor)
    if ((session->flags[tensor] & PT_SWAPPED) != 0) bits[tensor / 8] |= (uint8_t)(1u << tensor % 8);
  return PT_OK;
}

pt_status pt_session_set_roles(pt_session* session, const uint8_t* bits, size_t bytes) {
  uint32_t tensor;
  if (session == NULL || bits == NULL || bytes < ((size_t)session->plan.tensor_count + 7) / 8) return PT_E_ARGUMENT;
  if (session->busy) return PT_E_STATE;
  for (tensor = 0; tensor < session->plan.tensor_count; ++tensor)
    if ((bits[tensor / 8] >> tensor % 8 & 1) != 0 && !lives_in_pair_slots(session, tensor)) return PT_E_ARGUMENT;
  for (tensor = 0; tensor < session->plan.tensor_count; ++tensor) {
    session->flags[tensor] &= (uint8_t)~PT_SWAPPED;
    if ((bits[tensor / 8] >> tensor % 8 & 1) != 0) session->flags[tensor] |= PT_SWAPPED;
  }
  return PT_OK;
}
