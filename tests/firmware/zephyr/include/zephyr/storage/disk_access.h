/* A disk of Zephyr's disk access API in this machine's memory. */
#pragma once

#include <stdint.h>
#include <string.h>

enum { DISK_IOCTL_GET_SECTOR_COUNT = 1, DISK_IOCTL_GET_SECTOR_SIZE = 2, DISK_IOCTL_CTRL_SYNC = 5, DISK_SECTORS = 8192 };

static uint8_t disk_bytes[DISK_SECTORS * 512];

static inline int disk_access_init(const char* disk) {
  return strcmp(disk, "SD");
}
static inline int disk_access_ioctl(const char* disk, uint8_t command, void* answer) {
  if (command == DISK_IOCTL_GET_SECTOR_COUNT) *(uint32_t*)answer = DISK_SECTORS;
  if (command == DISK_IOCTL_GET_SECTOR_SIZE) *(uint32_t*)answer = 512;
  return strcmp(disk, "SD");
}
static inline int disk_access_read(const char* disk, uint8_t* data, uint32_t first, uint32_t count) {
  memcpy(data, disk_bytes + (size_t)first * 512, (size_t)count * 512);
  return strcmp(disk, "SD");
}
static inline int disk_access_write(const char* disk, const uint8_t* data, uint32_t first, uint32_t count) {
  memcpy(disk_bytes + (size_t)first * 512, data, (size_t)count * 512);
  return strcmp(disk, "SD");
}
