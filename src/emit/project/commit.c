#include "commit.h"

#include <string.h>

#include "runtime/plan_bytes.h"

enum {
  WHOLE = PT_BLOCK_BYTES,
  /* a record */
  AT_MAGIC = 0,
  AT_CRC = 4, /* of all behind it */
  AT_PLAN = 8,
  AT_SEQUENCE = 12, /* 1, 2, ...: record n lies in block n % 2, and its state in the room of that number */
  AT_STEP = 16,
  AT_ROLES = 24,
  MOST_TENSORS = (WHOLE - AT_ROLES) * 8
};
#define MAGIC 0x43544e50u /* "PNTC" */

static void store_u32(uint8_t* bytes, uint32_t value) {
  unsigned at;
  for (at = 0; at < 4; ++at) bytes[at] = (uint8_t)(value >> 8 * at);
}

/* State that lives in RAM and that steps change. */
static int is_state(const pt_plan* plan, uint32_t tensor) {
  const uint8_t* record = pt_tensor_record(plan, tensor);
  return record[PT_TENSOR_HOME] == PT_HOME_RAM && (record[PT_TENSOR_FLAGS] & PT_FLAG_SUCCESSOR) == 0 &&
         pt_load_u32(record + PT_TENSOR_PAIR) != PT_NOWHERE;
}

static uint32_t blocks_of(const pt_plan* plan, uint32_t tensor) {
  return (uint32_t)(((uint64_t)pt_tensor_units(plan, tensor) * plan->align_bytes + WHOLE - 1) / WHOLE);
}

static uint32_t state_blocks(const pt_plan* plan) {
  uint32_t tensor, sum = 0;
  for (tensor = 0; tensor < plan->tensor_count; ++tensor)
    if (is_state(plan, tensor)) sum += blocks_of(plan, tensor);
  return sum;
}

static int has_pairs_in_storage(const pt_plan* plan) {
  uint32_t tensor;
  for (tensor = 0; tensor < plan->tensor_count; ++tensor) {
    const uint8_t* record = pt_tensor_record(plan, tensor);
    if (record[PT_TENSOR_HOME] == PT_HOME_AUX && pt_load_u32(record + PT_TENSOR_PAIR) != PT_NOWHERE) return 1;
  }
  return 0;
}

static uint32_t storage_blocks(const pt_plan* plan) {
  return (uint32_t)((plan->storage_bytes + WHOLE - 1) / WHOLE);
}

uint32_t pt_journal_blocks(const pt_plan* plan) {
  return PT_RECORD_BLOCKS + storage_blocks(plan) + 2 * state_blocks(plan);
}

pt_status pt_journal_open(pt_journal* journal, pt_blocks* blocks, pt_session* session, const pt_plan* plan,
                          uint8_t* buffer) {
  if (plan->tensor_count > MOST_TENSORS) return PT_E_PLAN;
  if (blocks->count < pt_journal_blocks(plan)) return PT_E_FULL;
  journal->blocks = blocks;
  journal->session = session;
  journal->plan = plan;
  journal->buffer = buffer;
  journal->state_at = PT_RECORD_BLOCKS + storage_blocks(plan);
  journal->state_size = state_blocks(plan);
  journal->every_step = (uint8_t)has_pairs_in_storage(plan);
  journal->sequence = 0;
  journal->bytes_written = 0;
  return PT_OK;
}

/* ---- records ---- */

static pt_status read_record(const pt_journal* journal, uint32_t which, int* whole) {
  uint8_t* record = journal->buffer;
  const pt_status status = journal->blocks->read(journal->blocks->context, which, record, 1);
  *whole = status == PT_OK && pt_load_u32(record + AT_MAGIC) == MAGIC &&
           pt_load_u32(record + AT_CRC) == pt_crc32(record + AT_PLAN, WHOLE - AT_PLAN) &&
           pt_load_u32(record + AT_SEQUENCE) % PT_RECORD_BLOCKS == which;
  return status;
}

/* The newest whole record is in the buffer afterwards. PT_E_STATE: there is none. */
static pt_status newest_record(const pt_journal* journal) {
  uint32_t which, sequence = 0;
  int whole;
  for (which = 0; which < PT_RECORD_BLOCKS; ++which) {
    const pt_status status = read_record(journal, which, &whole);
    if (status != PT_OK) return status;
    if (whole && pt_load_u32(journal->buffer + AT_SEQUENCE) > sequence)
      sequence = pt_load_u32(journal->buffer + AT_SEQUENCE);
  }
  return sequence == 0 ? PT_E_STATE : read_record(journal, sequence % PT_RECORD_BLOCKS, &whole);
}

static uint32_t plan_crc(const pt_plan* plan) {
  return pt_load_u32(plan->bytes + PT_AT_CRC);
}

/* ---- the state in RAM ---- */

static pt_status move_state(pt_journal* journal, uint32_t tensor, uint32_t block, int writes) {
  uint8_t* data = (uint8_t*)pt_session_data(journal->session, tensor);
  const size_t bytes = (size_t)pt_tensor_units(journal->plan, tensor) * journal->plan->align_bytes;
  const uint32_t direct = (uint32_t)(bytes / WHOLE);
  const size_t rest = bytes % WHOLE;
  const pt_blocks* blocks = journal->blocks;
  pt_status status = PT_OK;
  if (direct > 0)
    status = writes ? blocks->write(blocks->context, block, data, direct)
                    : blocks->read(blocks->context, block, data, direct);
  if (status != PT_OK || rest == 0) return status;
  if (!writes) {
    status = blocks->read(blocks->context, block + direct, journal->buffer, 1);
    if (status == PT_OK) memcpy(data + bytes - rest, journal->buffer, rest);
    return status;
  }
  memset(journal->buffer, 0, WHOLE);
  memcpy(journal->buffer, data + bytes - rest, rest);
  return blocks->write(blocks->context, block + direct, journal->buffer, 1);
}

static pt_status move_states(pt_journal* journal, uint32_t sequence, int writes) {
  uint32_t tensor, block = journal->state_at + sequence % PT_RECORD_BLOCKS * journal->state_size;
  for (tensor = 0; tensor < journal->plan->tensor_count; ++tensor) {
    pt_status status;
    if (!is_state(journal->plan, tensor)) continue;
    status = move_state(journal, tensor, block, writes);
    if (status != PT_OK) return status;
    block += blocks_of(journal->plan, tensor);
  }
  return PT_OK;
}

/* ---- the two ends ---- */

pt_status pt_journal_resume(pt_journal* journal, uint64_t* step) {
  const size_t bits = (journal->plan->tensor_count + 7) / 8;
  uint32_t sequence;
  uint64_t found;
  pt_status status = newest_record(journal);
  if (status != PT_OK) return status;
  if (pt_load_u32(journal->buffer + AT_PLAN) != plan_crc(journal->plan)) return PT_E_VERSION;
  sequence = pt_load_u32(journal->buffer + AT_SEQUENCE);
  found = pt_load_u64(journal->buffer + AT_STEP);
  status = pt_session_set_roles(journal->session, journal->buffer + AT_ROLES, bits);
  if (status == PT_OK) status = move_states(journal, sequence, 0);
  if (status != PT_OK) return status;
  journal->sequence = sequence;
  *step = found;
  return PT_OK;
}

pt_status pt_journal_commit(pt_journal* journal, uint64_t step) {
  const pt_blocks* blocks = journal->blocks;
  const uint32_t sequence = journal->sequence + 1;
  uint8_t* record = journal->buffer;
  pt_status status = move_states(journal, sequence, 1);
  if (status == PT_OK) status = blocks->sync(blocks->context);
  if (status != PT_OK) return status;
  memset(record, 0, WHOLE);
  store_u32(record + AT_MAGIC, MAGIC);
  store_u32(record + AT_PLAN, plan_crc(journal->plan));
  store_u32(record + AT_SEQUENCE, sequence);
  store_u32(record + AT_STEP, (uint32_t)step);
  store_u32(record + AT_STEP + 4, (uint32_t)(step >> 32));
  status = pt_session_get_roles(journal->session, record + AT_ROLES, (journal->plan->tensor_count + 7) / 8);
  if (status != PT_OK) return status;
  store_u32(record + AT_CRC, pt_crc32(record + AT_PLAN, WHOLE - AT_PLAN));
  status = blocks->write(blocks->context, sequence % PT_RECORD_BLOCKS, record, 1);
  if (status == PT_OK) status = blocks->sync(blocks->context);
  if (status != PT_OK) return status;
  journal->sequence = sequence;
  journal->bytes_written += (uint64_t)(journal->state_size + 1) * WHOLE;
  return PT_OK;
}
