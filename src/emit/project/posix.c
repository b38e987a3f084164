/* The board that is this computer: console on standard output, storage in the file that PT_STORAGE names, or
 * storage.img. For tests, and for trying a firmware without a board. */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64 /* a storage of 2 GiB and more, on processors of 32 bits too */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "board.h"
#include "fail_writes.h"

typedef struct host_file {
  int file;
  uint32_t count; /* blocks */
} host_file;

/* The guard is the operating system's. */
__attribute__((constructor)) void board_start(void) {}

void board_print(const char* text) {
  fputs(text, stdout);
}

void board_exit(int code) {
  exit(code);
}

/* The stack is not measured: frames of this computer say nothing about frames of a microcontroller. */
uint32_t board_stack_bytes(void) {
  return 0;
}
uint32_t board_stack_used(void) {
  return 0;
}

/* One call of pread or pwrite moves at most 2 GiB, and may move less. */
static pt_status move_blocks(const host_file* storage, uint32_t block, uint8_t* to, const uint8_t* from,
                             uint32_t count) {
  const size_t bytes = (size_t)count * PT_BLOCK_BYTES;
  size_t done = 0;
  const pt_status status = pt_blocks_within(storage->count, block, count);
  if (status != PT_OK) return status;
  while (done < bytes) {
    const off_t at = (off_t)block * PT_BLOCK_BYTES + (off_t)done;
    const ssize_t moved = to != NULL ? pread(storage->file, to + done, bytes - done, at)
                                     : pwrite(storage->file, from + done, bytes - done, at);
    if (moved <= 0) return PT_E_IO;
    done += (size_t)moved;
  }
  return PT_OK;
}
static pt_status read_blocks(void* context, uint32_t block, void* data, uint32_t count) {
  return move_blocks(context, block, data, NULL, count);
}
static pt_status write_blocks(void* context, uint32_t block, const void* data, uint32_t count) {
  return move_blocks(context, block, NULL, data, count);
}

static pt_status sync_blocks(void* context) {
  const host_file* storage = context;
  return fsync(storage->file) == 0 ? PT_OK : PT_E_IO;
}

static pt_status open_file(host_file* storage) {
  const char* name = getenv("PT_STORAGE");
  struct stat facts;
  storage->file = open(name != NULL ? name : "storage.img", O_RDWR);
  if (storage->file < 0 || fstat(storage->file, &facts) != 0) return PT_E_IO;
  storage->count =
      (uint32_t)(facts.st_size / PT_BLOCK_BYTES < UINT32_MAX ? facts.st_size / PT_BLOCK_BYTES : UINT32_MAX);
  return PT_OK;
}

pt_status board_storage(pt_blocks* blocks) {
  static host_file storage;
  const pt_status status = open_file(&storage);
  if (status != PT_OK) return status;
  *blocks = (pt_blocks){
      .context = &storage, .count = storage.count, .read = read_blocks, .write = write_blocks, .sync = sync_blocks};
#ifdef BOARD_FAIL_AFTER_WRITES
  static pt_fail_writes fail;
  pt_fail_writes_open(&fail, BOARD_FAIL_AFTER_WRITES, blocks);
#endif
  return status;
}
