/* The memory guard: with the MPU on and no default map, an access outside ROM, the budget and devices is a MemManage
 * fault. The system control space (0xE0000000) is always open; in HardFault and NMI the MPU is off. */
#include "arm_system.h"

#if __ARM_ARCH > 6

enum { DEVICES_AT = 0x40000000, DEVICES_LOG2 = 29 };

#if __ARM_ARCH >= 8

enum { READ_ONLY = 3 << 1, READ_WRITE = 1 << 1, NO_EXECUTE = 1, NORMAL = 0 << 1, DEVICE = 1 << 1 };

static void allow(uint32_t region, uint32_t begin, uint32_t end, uint32_t access, uint32_t memory) {
  ARM_MPU_RNR = region;
  ARM_MPU_RBAR = begin | access;
  ARM_MPU_RLAR = ((end - 1) & ~31u) | memory | 1;
}

static void allow_all(void) {
  ARM_MPU_MAIR0 = 0x04FF; /* 0: normal, write back; 1: device */
  allow(0, (uint32_t)board_rom_begin, (uint32_t)board_rom_end, READ_ONLY, NORMAL);
  allow(1, (uint32_t)board_ram_begin, (uint32_t)board_ram_end, READ_WRITE | NO_EXECUTE, NORMAL);
  allow(2, DEVICES_AT, DEVICES_AT + (1u << DEVICES_LOG2), READ_WRITE | NO_EXECUTE, DEVICE);
}

#else

#define ROM_ACCESS (6u << 24 | 1u << 17)                       /* read only; normal, write through */
#define RAM_ACCESS (1u << 28 | 3u << 24 | 1u << 19 | 3u << 16) /* never execute; normal, write back */
#define DEVICE_ACCESS (1u << 28 | 3u << 24 | 1u << 16)

/* A region is a power of two of at least 256 bytes, aligned to itself; `eighths` says which parts of it count. */
static void allow(uint32_t region, uint32_t begin, uint32_t log2, uint32_t eighths, uint32_t access) {
  ARM_MPU_RNR = region;
  ARM_MPU_RBAR = begin & ~((1u << log2) - 1);
  ARM_MPU_RASR = access | (~eighths & 0xFF) << 8 | (log2 - 1) << 1 | 1;
}

static uint32_t log2_above(uint32_t bytes) {
  uint32_t log2 = 8;
  while ((1u << log2) < bytes) ++log2;
  return log2;
}

/* Each region takes as many whole eighths as fit, and leaves less than one of its eighths to the next. The last ones
 * may start inside a region of 256 bytes. */
static void allow_exactly(uint32_t region, uint32_t begin, uint32_t end, uint32_t access) {
  while (begin < end) {
    const uint32_t log2 = log2_above(end - begin);
    const uint32_t eighth = 1u << (log2 - 3);
    const uint32_t first = (begin & ((1u << log2) - 1)) / eighth;
    const uint32_t count = (end - begin) / eighth;
    allow(region++, begin, log2, ((1u << count) - 1) << first, access);
    begin += count * eighth;
  }
}

static void allow_all(void) {
  const uint32_t rom = (uint32_t)board_rom_begin;
  allow(0, rom, log2_above((uint32_t)board_rom_end - rom), 0xFF, ROM_ACCESS);
  allow(1, DEVICES_AT, DEVICES_LOG2, 0xFF, DEVICE_ACCESS);
  allow_exactly(2, (uint32_t)board_ram_begin, (uint32_t)board_ram_end, RAM_ACCESS);
}

#endif

void board_guard(void) {
  if ((ARM_MPU_TYPE >> 8 & 0xFF) == 0) return;
  allow_all();
  arm_barrier();
  ARM_MPU_CTRL = 1;
  arm_barrier();
}

#else

void board_guard(void) {}

#endif
