/* What a firmware asks of the board that it runs on. Each board implements all of it; a new board is a new file with
 * these functions (board_print, board_exit, board_storage) beside startup_arm.c, guard_arm.c and fault_arm.c.
 *
 * Order on Arm: the reset handler switches the FPU on, paints the stack, copies .data, zeroes .bss, calls board_start
 * and main, and gives main's result to board_exit. On Linux (posix.c) board_start runs before main, too. */
#pragma once

#include <stdint.h>

#include "blocks.h"

/* Exit codes of what goes wrong below main; main itself should stay under 64. */
enum {
  BOARD_EXIT_GUARD = 70,     /* MemManage: an access outside ROM, RAM_SIZE and devices; a write to ROM; code in RAM */
  BOARD_EXIT_BUS = 71,       /* BusFault or SecureFault: nothing answers at that address */
  BOARD_EXIT_USAGE = 72,     /* UsageFault: an undefined instruction, no FPU */
  BOARD_EXIT_HARD = 73,      /* HardFault; on Cortex-M0 the only fault that there is */
  BOARD_EXIT_STACK = 74,     /* the stack left its STACK_SIZE bytes */
  BOARD_EXIT_UNEXPECTED = 75 /* an exception that nobody asked for */
};

/* Enables the faults and sets the memory guard; the FPU is on already. Called once, before main. */
void board_start(void);

/* Writes a zero-terminated text to the console; no newline is added. */
void board_print(const char* text);

/* Ends the run with a code of 0 to 255; 0 is success. */
void board_exit(int code) __attribute__((noreturn));

/* Bytes reserved for the stack, and how many of them were ever written. A frame that was reserved but never written is
 * not seen. Cost of the second: linear in the unused part. */
uint32_t board_stack_bytes(void);
uint32_t board_stack_used(void);

/* Opens the board's storage; what it points to is the board's and stays valid. PT_E_IO: there is none, or it fails.
 * Build with -DBOARD_FAIL_AFTER_WRITES=n to make the n-th block written, and all later ones, fail with PT_E_IO. */
pt_status board_storage(pt_blocks* blocks);
