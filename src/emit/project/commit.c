#include "commit.h"

#include <string.h>

#include "runtime/plan_bytes.h"

enum {
  WHOLE = PT_BLOCK_BYTES,
  /* a record */
  AT_MAGIC = 0,
  AT_CRC = 4, /* of all behind it */
  AT_PLAN = 8,
  AT_SEQUENCE = 12, /* 1, 2, ...: record n lies in block n % 2, and its state in the area of that number */
  AT_STEP = 16,
  AT_AREA = 24, /* CRC-32 of what lies in the area, where blocks are checked */
  AT_ROLES = 28,
  MOST_TENSORS = (WHOLE - AT_ROLES) * 8
};
#define MAGIC 0x43544e50u /* "PNTC" */

static void store_u32(uint8_t* bytes, uint32_t value) {
  unsigned at;
  for (at = 0; at < 4; ++at) bytes[at] = (uint8_t)(value >> 8 * at);
}

/* State that lives in RAM and that steps change. */
static int is_state(const pt_plan* plan, uint32_t tensor) {
  return pt_lives_in(pt_tensor_what(plan, tensor), PT_HOME_RAM) && pt_tensor_pair(plan, tensor) != PT_NOWHERE;
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

int pt_commits_every_step(const pt_plan* plan) {
  uint32_t tensor;
  for (tensor = 0; tensor < plan->tensor_count; ++tensor)
    if (pt_tensor_home(plan, tensor) == PT_HOME_AUX && pt_tensor_pair(plan, tensor) != PT_NOWHERE) return 1;
  return 0;
}

uint32_t pt_plan_blocks(const pt_plan* plan) {
  return (uint32_t)((plan->storage_bytes + WHOLE - 1) / WHOLE);
}

static size_t sum_bytes(const pt_plan* plan) {
  return pt_plan_blocks(plan) * sizeof(uint32_t);
}

static uint32_t area_blocks(const pt_plan* plan, int checked) {
  return state_blocks(plan) + (checked ? (uint32_t)((sum_bytes(plan) + WHOLE - 1) / WHOLE) : 0);
}

uint32_t pt_journal_blocks(const pt_plan* plan, int checked) {
  return PT_RECORD_BLOCKS + pt_plan_blocks(plan) + 2 * area_blocks(plan, checked);
}

uint64_t pt_commit_bytes(const pt_plan* plan, int checked) {
  return (uint64_t)(area_blocks(plan, checked) + 1) * WHOLE;
}

pt_status pt_journal_open(pt_journal* journal, pt_blocks* blocks, pt_session* session, const pt_plan* plan,
                          uint32_t* sums, uint8_t* buffer) {
  if (plan->tensor_count > MOST_TENSORS) return PT_E_PLAN;
  if (blocks->count < pt_journal_blocks(plan, sums != NULL)) return PT_E_FULL;
  journal->blocks = blocks;
  journal->session = session;
  journal->plan = plan;
  journal->sums = sums;
  journal->buffer = buffer;
  journal->state_at = PT_RECORD_BLOCKS + pt_plan_blocks(plan);
  journal->state_size = area_blocks(plan, sums != NULL);
  journal->every_step = (uint8_t)pt_commits_every_step(plan);
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

/* Identifies the plan and whether blocks are checked, since both decide how areas are laid out. */
static uint32_t identity(const pt_journal* journal) {
  const uint32_t crc = pt_load_u32(journal->plan->bytes + PT_AT_CRC);
  return journal->sums != NULL ? ~crc : crc;
}

/* ---- the state in RAM ---- */

static pt_status move_bytes(pt_journal* journal, uint8_t* data, size_t bytes, uint32_t block, int writes) {
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

/* `crc`: of all that was moved; 0 where blocks are not checked. */
static pt_status move_area(pt_journal* journal, uint32_t sequence, int writes, uint32_t* crc) {
  const pt_plan* plan = journal->plan;
  uint32_t tensor, block = journal->state_at + sequence % PT_RECORD_BLOCKS * journal->state_size;
  pt_status status = PT_OK;
  *crc = 0;
  for (tensor = 0; tensor < plan->tensor_count && status == PT_OK; ++tensor) {
    size_t bytes;
    uint8_t* data;
    if (!is_state(plan, tensor)) continue;
    bytes = (size_t)pt_tensor_units(plan, tensor) * plan->align_bytes;
    data = (uint8_t*)pt_session_data(journal->session, tensor);
    status = move_bytes(journal, data, bytes, block, writes);
    block += blocks_of(plan, tensor);
    if (status == PT_OK && journal->sums != NULL) *crc = pt_crc32_more(*crc, data, bytes);
  }
  if (status != PT_OK || journal->sums == NULL) return status;
  status = move_bytes(journal, (uint8_t*)journal->sums, sum_bytes(plan), block, writes);
  *crc = pt_crc32_more(*crc, (const uint8_t*)journal->sums, sum_bytes(plan));
  return status;
}

/* ---- the two ends ---- */

pt_status pt_journal_resume(pt_journal* journal, uint64_t* step) {
  const size_t bits = (journal->plan->tensor_count + 7) / 8;
  uint32_t sequence, area, crc;
  uint64_t found;
  pt_status status = newest_record(journal);
  if (status != PT_OK) return status;
  if (pt_load_u32(journal->buffer + AT_PLAN) != identity(journal)) return PT_E_VERSION;
  sequence = pt_load_u32(journal->buffer + AT_SEQUENCE);
  area = pt_load_u32(journal->buffer + AT_AREA);
  found = pt_load_u64(journal->buffer + AT_STEP);
  status = pt_session_set_roles(journal->session, journal->buffer + AT_ROLES, bits);
  if (status == PT_OK) status = move_area(journal, sequence, 0, &crc);
  if (status == PT_OK && crc != area) status = PT_E_IO;
  if (status != PT_OK) return status;
  journal->sequence = sequence;
  *step = found;
  return PT_OK;
}

pt_status pt_journal_commit(pt_journal* journal, uint64_t step) {
  const pt_blocks* blocks = journal->blocks;
  const uint32_t sequence = journal->sequence + 1;
  uint8_t* record = journal->buffer;
  uint32_t area;
  pt_status status = move_area(journal, sequence, 1, &area);
  if (status == PT_OK) status = blocks->sync(blocks->context);
  if (status != PT_OK) return status;
  memset(record, 0, WHOLE);
  store_u32(record + AT_MAGIC, MAGIC);
  store_u32(record + AT_PLAN, identity(journal));
  store_u32(record + AT_SEQUENCE, sequence);
  store_u32(record + AT_STEP, (uint32_t)step);
  store_u32(record + AT_STEP + 4, (uint32_t)(step >> 32));
  store_u32(record + AT_AREA, area);
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
