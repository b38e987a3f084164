/* Zephyr as a board: the console by printk, storage on the disk BOARD_DISK of its disk access API. The guard, faults and the start are Zephyr's own. */
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>
#ifdef CONFIG_DISK_ACCESS
#include <zephyr/storage/disk_access.h>
#endif

#include "board.h"

#ifndef BOARD_DISK
#define BOARD_DISK "SD"
#endif

void board_start(void) {}

void board_print(const char* text) {
  printk("%s", text);
}

void board_exit(int code) {
  (void)code;
  for (;;) k_sleep(K_FOREVER);
}

uint32_t board_stack_bytes(void) {
  return CONFIG_MAIN_STACK_SIZE;
}
uint32_t board_stack_used(void) {
  size_t unused = 0;
#if defined(CONFIG_THREAD_STACK_INFO) && defined(CONFIG_INIT_STACKS)
  if (k_thread_stack_space_get(k_current_get(), &unused) != 0) unused = 0;
#endif
  return (uint32_t)(CONFIG_MAIN_STACK_SIZE - unused);
}

#ifdef CONFIG_DISK_ACCESS
static pt_status read_blocks(void* context, uint32_t block, void* data, uint32_t count) {
  const pt_status status = pt_blocks_within(*(uint32_t*)context, block, count);
  if (status != PT_OK) return status;
  return disk_access_read(BOARD_DISK, (uint8_t*)data, block, count) == 0 ? PT_OK : PT_E_IO;
}
static pt_status write_blocks(void* context, uint32_t block, const void* data, uint32_t count) {
  const pt_status status = pt_blocks_within(*(uint32_t*)context, block, count);
  if (status != PT_OK) return status;
  return disk_access_write(BOARD_DISK, (const uint8_t*)data, block, count) == 0 ? PT_OK : PT_E_IO;
}
static pt_status sync_blocks(void* context) {
  (void)context;
  return disk_access_ioctl(BOARD_DISK, DISK_IOCTL_CTRL_SYNC, NULL) == 0 ? PT_OK : PT_E_IO;
}

pt_status board_storage(pt_blocks* blocks) {
  static uint32_t count;
  uint32_t bytes = 0;
  if (disk_access_init(BOARD_DISK) != 0 || disk_access_ioctl(BOARD_DISK, DISK_IOCTL_GET_SECTOR_COUNT, &count) != 0 ||
      disk_access_ioctl(BOARD_DISK, DISK_IOCTL_GET_SECTOR_SIZE, &bytes) != 0 || bytes != PT_BLOCK_BYTES)
    return PT_E_IO;
  *blocks =
      (pt_blocks){.context = &count, .count = count, .read = read_blocks, .write = write_blocks, .sync = sync_blocks};
  return PT_OK;
}
#else
pt_status board_storage(pt_blocks* blocks) {
  (void)blocks;
  return PT_E_IO;
}
#endif
