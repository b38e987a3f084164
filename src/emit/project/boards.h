/* The boards that a firmware can be emitted for, as a table that C and C++ read:
 *
 *   #define ROW(name, machine, flags, rom_origin, rom_bytes, ram_origin, ram_bytes, storage, guard, sources) ...
 *   PT_BOARDS(ROW)
 *
 * name        what users write
 * machine     QEMU's -M
 * flags       for arm-none-eabi-gcc, compiling and linking
 * rom, ram    what the chip has; RAM_SIZE of a firmware is at most ram_bytes and may be less
 * storage     "semihosting": a file of the host; "sd": an SD card (QEMU: -drive if=sd,format=raw,file=...)
 * guard       1: the memory protection unit traps the first byte beyond RAM_SIZE; 0: the chip has none
 * sources     of this board, beside PT_BOARD_SOURCES */
#pragma once

#define PT_BOARD_SOURCES "startup_arm.c guard_arm.c fault_arm.c semihosting.c fail_writes.c"

/* clang-format off */
#define PT_BOARDS(ROW) \
  ROW("microbit",    "microbit",    "-mcpu=cortex-m0", \
      0x00000000u, 0x00040000u, 0x20000000u, 0x00004000u, "semihosting", 0, "semihosted.c") \
  ROW("lm3s6965evb", "lm3s6965evb", "-mcpu=cortex-m3", \
      0x00000000u, 0x00040000u, 0x20000000u, 0x00010000u, "sd",          1, "lm3s6965.c sd_spi.c sd_crc.c") \
  ROW("mps2-an385",  "mps2-an385",  "-mcpu=cortex-m3", \
      0x00000000u, 0x00400000u, 0x20000000u, 0x00400000u, "semihosting", 1, "semihosted.c") \
  ROW("mps2-an386",  "mps2-an386",  "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16", \
      0x00000000u, 0x00400000u, 0x20000000u, 0x00400000u, "semihosting", 1, "semihosted.c") \
  ROW("mps2-an500",  "mps2-an500",  "-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-sp-d16", \
      0x00000000u, 0x00400000u, 0x20000000u, 0x00400000u, "semihosting", 1, "semihosted.c") \
  ROW("mps3-an547",  "mps3-an547",  "-mcpu=cortex-m55 -mfloat-abi=hard", \
      0x00000000u, 0x00080000u, 0x21000000u, 0x00400000u, "semihosting", 1, "semihosted.c")
/* clang-format on */
