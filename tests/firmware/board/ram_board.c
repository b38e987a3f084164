/* A board whose storage is a disk in memory, for storage.c. */
#include <stdio.h>

#include "board.h"
#include "fail_writes.h"
#include "ram_disk.h"

enum { COUNT = 128 };

void board_print(const char* text) {
  fputs(text, stdout);
}

pt_status board_storage(pt_blocks* blocks) {
  static uint8_t bytes[COUNT * PT_BLOCK_BYTES];
  static pt_ram_disk disk;
  static pt_fail_writes fail;
  pt_ram_disk_open(&disk, bytes, COUNT, blocks);
  pt_fail_writes_open(&fail, BOARD_FAIL_AFTER_WRITES, blocks);
  return PT_OK;
}
