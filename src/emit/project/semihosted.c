/* A board that talks to its host alone: console, end and storage over semihosting. */
#include "board.h"
#include "fail_writes.h"
#include "semihosting.h"

#ifndef BOARD_STORAGE_NAME
#define BOARD_STORAGE_NAME "storage.img"
#endif

void board_print(const char* text) {
  semihosting_print(text);
}

void board_exit(int code) {
  semihosting_exit(code);
}

pt_status board_storage(pt_blocks* blocks) {
  static semihosting_file file;
  const pt_status status = semihosting_storage(&file, BOARD_STORAGE_NAME, blocks);
#ifdef BOARD_FAIL_AFTER_WRITES
  static pt_fail_writes fail;
  if (status == PT_OK) pt_fail_writes_open(&fail, BOARD_FAIL_AFTER_WRITES, blocks);
#endif
  return status;
}
