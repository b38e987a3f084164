/* A storage in front of another: it passes on everything but the writes from the chosen one on. */
#include "fail_writes.h"

static pt_status read_blocks(void* context, uint32_t block, void* data, uint32_t count) {
  const pt_fail_writes* fail = context;
  return fail->storage.read(fail->storage.context, block, data, count);
}

static pt_status write_blocks(void* context, uint32_t block, const void* data, uint32_t count) {
  pt_fail_writes* fail = context;
  const uint32_t good = count < fail->left ? count : fail->left;
  pt_status status = pt_blocks_within(fail->storage.count, block, count);
  if (status == PT_OK && good > 0) status = fail->storage.write(fail->storage.context, block, data, good);
  if (status != PT_OK) return status;
  fail->left -= good;
  return good == count ? PT_OK : PT_E_IO;
}

static pt_status sync_blocks(void* context) {
  const pt_fail_writes* fail = context;
  return fail->storage.sync(fail->storage.context);
}

void pt_fail_writes_open(pt_fail_writes* fail, uint32_t first, pt_blocks* blocks) {
  fail->storage = *blocks;
  fail->left = first > 0 ? first - 1 : 0;
  blocks->context = fail;
  blocks->read = read_blocks;
  blocks->write = write_blocks;
  blocks->sync = sync_blocks;
}
