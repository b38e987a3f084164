/* Blocks in RAM: a read or write copies, sync does nothing. */
#include "ram_disk.h"

#include <string.h>

static pt_status read_blocks(void* context, uint32_t block, void* data, uint32_t count) {
  const pt_ram_disk* disk = context;
  const pt_status status = pt_blocks_within(disk->count, block, count);
  if (status == PT_OK) memcpy(data, disk->bytes + (size_t)block * PT_BLOCK_BYTES, (size_t)count * PT_BLOCK_BYTES);
  return status;
}

static pt_status write_blocks(void* context, uint32_t block, const void* data, uint32_t count) {
  pt_ram_disk* disk = context;
  const pt_status status = pt_blocks_within(disk->count, block, count);
  if (status == PT_OK) memcpy(disk->bytes + (size_t)block * PT_BLOCK_BYTES, data, (size_t)count * PT_BLOCK_BYTES);
  return status;
}

static pt_status sync_blocks(void* context) {
  (void)context;
  return PT_OK;
}

void pt_ram_disk_open(pt_ram_disk* disk, void* bytes, uint32_t count, pt_blocks* blocks) {
  disk->bytes = bytes;
  disk->count = count;
  *blocks =
      (pt_blocks){.context = disk, .count = count, .read = read_blocks, .write = write_blocks, .sync = sync_blocks};
}
