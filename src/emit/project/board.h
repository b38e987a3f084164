/* The functions that a firmware needs from its board. Every board implements all of them. A new Arm board is a new file with board_print, board_exit
 * and board_storage; startup_arm.c, guard_arm.c and fault_arm.c have the rest.
 *
 * Order on Arm: the reset handler switches the FPU on, paints the stack, copies .data, zeroes .bss, calls board_start
 * and main, and passes main's result to board_exit. On Linux (posix.c), board_start runs before main, too. */
#pragma once

#include <stdint.h>

#include "blocks.h"

/* Exit codes for faults that end the run. main itself should return codes below 64. */
enum {
  BOARD_EXIT_GUARD = 70,     /* MemManage: an access outside ROM, RAM_SIZE and devices; a write to ROM; code in RAM */
  BOARD_EXIT_BUS = 71,       /* BusFault or SecureFault: no memory and no device has that address */
  BOARD_EXIT_USAGE = 72,     /* UsageFault: an undefined instruction, no FPU */
  BOARD_EXIT_HARD = 73,      /* HardFault; the only kind of fault on Cortex-M0 */
  BOARD_EXIT_STACK = 74,     /* the stack left its STACK_SIZE bytes */
  BOARD_EXIT_UNEXPECTED = 75 /* an exception that the firmware did not enable */
};

/* Enables the fault exceptions and sets the memory guard. The start-up calls this function once, before main and after it has switched the FPU on. */
void board_start(void);

/* Writes a zero-terminated text to the console; no newline is added. */
void board_print(const char* text);

/* Ends the run with a code of 0 to 255; 0 is success. */
void board_exit(int code) __attribute__((noreturn));

/* board_stack_bytes returns the bytes that are reserved for the stack; board_stack_used returns how many of them the program has used so far, judged
 * by the bytes that it has written. A frame that was reserved but never written does not count. board_stack_used takes time linear in the unused
 * bytes. */
uint32_t board_stack_bytes(void);
uint32_t board_stack_used(void);

/* Opens the board's storage. The board owns all that `blocks` points to, and keeps it valid. PT_E_IO: the board has no storage, or the storage fails.
 * Build with -DBOARD_FAIL_AFTER_WRITES=n to make the n-th block written, and all later ones, fail with PT_E_IO. */
pt_status board_storage(pt_blocks* blocks);
