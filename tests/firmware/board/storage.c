/* Blocks that survive a restart: the first run writes a pattern by single and multiple blocks and reads it again; a
 * later run finds it. The link chooses what is tried: act is one of these (never 0, as no address is). */
#include <string.h>

#include "board.h"

enum { SURVIVE = 1, BEYOND = 2, NO_STORAGE = 3, FAILING = 4 };
enum { BLOCKS = 21, MANY = 7 };
#define CHECK(condition) \
  if (!(condition)) return __LINE__ & 63

extern const uint8_t act[], expected_blocks[];

static uint8_t data[MANY * PT_BLOCK_BYTES + 1];

static void fill(uint8_t* bytes, uint32_t block, uint32_t count) {
  uint32_t index;
  for (index = 0; index < count * PT_BLOCK_BYTES; ++index)
    bytes[index] = (uint8_t)((block * PT_BLOCK_BYTES + index) * 2654435761u >> 24);
}

static int holds(const uint8_t* bytes, uint32_t block, uint32_t count) {
  uint32_t index;
  for (index = 0; index < count * PT_BLOCK_BYTES; ++index)
    if (bytes[index] != (uint8_t)((block * PT_BLOCK_BYTES + index) * 2654435761u >> 24)) return 0;
  return 1;
}

/* Runs of `count` blocks that end with the storage's last one; `odd` moves the data off every alignment. */
static pt_status verify(pt_blocks* blocks, uint32_t count, uint32_t odd, int* good) {
  uint32_t at;
  *good = 1;
  for (at = blocks->count - BLOCKS; at < blocks->count; at += count) {
    const pt_status status = blocks->read(blocks->context, at, data + odd, count);
    if (status != PT_OK) return status;
    *good &= holds(data + odd, at, count);
  }
  return PT_OK;
}

static pt_status write_all(pt_blocks* blocks) {
  uint32_t at = blocks->count - BLOCKS, done;
  pt_status status = PT_OK;
  for (done = 0; done < BLOCKS && status == PT_OK; done += done < MANY ? 1 : MANY) {
    const uint32_t count = done < MANY ? 1 : MANY;
    fill(data + 1, at + done, count);
    status = blocks->write(blocks->context, at + done, data + 1, count);
  }
  return status == PT_OK ? blocks->sync(blocks->context) : status;
}

static int survive(pt_blocks* blocks) {
  int good;
  CHECK(verify(blocks, 1, 0, &good) == PT_OK);
  board_print(good ? "found\n" : "new\n");
  if (!good) CHECK(write_all(blocks) == PT_OK);
  CHECK(verify(blocks, 1, 1, &good) == PT_OK && good);
  CHECK(verify(blocks, MANY, 0, &good) == PT_OK && good);
  return 0;
}

static int beyond(pt_blocks* blocks) {
  void* context = blocks->context;
  CHECK(blocks->read(context, blocks->count - 1, data, 1) == PT_OK);
  CHECK(blocks->read(context, blocks->count, data, 1) == PT_E_FULL);
  CHECK(blocks->read(context, blocks->count - 1, data, 2) == PT_E_FULL);
  CHECK(blocks->write(context, blocks->count - 1, data, 2) == PT_E_FULL);
  CHECK(blocks->write(context, UINT32_MAX, data, 2) == PT_E_FULL);
  CHECK(blocks->read(context, blocks->count - 1, data, 1) == PT_OK);
  return 0;
}

/* Built with BOARD_FAIL_AFTER_WRITES=5: the fifth block fails, and the four before it stay. */
static int fails(pt_blocks* blocks) {
  const uint32_t at = blocks->count - BLOCKS;
  fill(data, at, MANY);
  CHECK(blocks->write(blocks->context, at, data, 2) == PT_OK);
  CHECK(blocks->write(blocks->context, at + 2, data + 2 * PT_BLOCK_BYTES, 5) == PT_E_IO);
  CHECK(blocks->write(blocks->context, at, data, 1) == PT_E_IO);
  memset(data, 0, sizeof data);
  CHECK(blocks->read(blocks->context, at, data, MANY) == PT_OK);
  CHECK(holds(data, at, 4) && !holds(data + 4 * PT_BLOCK_BYTES, at + 4, 1));
  return 0;
}

int main(void) {
  pt_blocks blocks;
  const pt_status status = board_storage(&blocks);
  if ((uintptr_t)act == NO_STORAGE) return status == PT_E_IO ? 0 : 1;
  CHECK(status == PT_OK && blocks.count == (uintptr_t)expected_blocks);
  return (uintptr_t)act == SURVIVE ? survive(&blocks) : (uintptr_t)act == BEYOND ? beyond(&blocks) : fails(&blocks);
}
