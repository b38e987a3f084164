/* Tells of a fault on the console, as "fault: MemManage, address 0x20010000, pc 0x000001a4", and ends the run. */
#include "arm_system.h"
#include "board.h"

enum { FRAME_WORDS = 8, FRAME_PC = 6, RESERVE_BYTES = 255 };

/* The number of the exception and the stack pointer go to report_fault, on a stack that is known to be good: a stack
 * that overflowed cannot be used again, and nothing returns from here. */
__attribute__((naked)) void board_fault(void) {
  __asm__ volatile(
      ".syntax unified\n"
      "mov r1, sp\n"
      "ldr r2, =board_stack_end\n"
      "cmp r1, r2\n"
      "bhi 1f\n"
      "ldr r3, =board_stack_begin\n"
      "adds r3, %0\n"
      "cmp r1, r3\n"
      "bhs 2f\n"
      "1: mov sp, r2\n"
      "2: mrs r0, ipsr\n"
      "ldr r2, =report_fault\n"
      "bx r2\n" ::"i"(RESERVE_BYTES));
}

typedef struct fault_kind {
  const char* name;
  int code;
} fault_kind;

static fault_kind kind_of(uint32_t exception) {
  static const fault_kind kinds[] = {{"HardFault", BOARD_EXIT_HARD},
                                     {"MemManage", BOARD_EXIT_GUARD},
                                     {"BusFault", BOARD_EXIT_BUS},
                                     {"UsageFault", BOARD_EXIT_USAGE},
                                     {"SecureFault", BOARD_EXIT_BUS}};
  const fault_kind unexpected = {"unexpected exception", BOARD_EXIT_UNEXPECTED};
  return exception >= 3 && exception <= 7 ? kinds[exception - 3] : unexpected;
}

static void print_hex(const char* label, uint32_t value) {
  char text[] = "0x00000000";
  uint32_t digit;
  for (digit = 9; digit >= 2; --digit, value >>= 4) text[digit] = "0123456789abcdef"[value & 15];
  board_print(label);
  board_print(text);
}

static void print_address(void) {
#if __ARM_ARCH > 6
  const uint32_t cause = ARM_CFSR;
  if (cause & 1u << 7) print_hex(", address ", ARM_MMFAR);
  if (cause & 1u << 15) print_hex(", address ", ARM_BFAR);
  print_hex(", cause ", cause);
#endif
}

static int stacking_failed(void) {
#if __ARM_ARCH > 6
  return (ARM_CFSR & (1u << 4 | 1u << 12)) != 0;
#else
  return 0;
#endif
}

__attribute__((used, noreturn)) void report_fault(uint32_t exception, const uint32_t* frame);
void report_fault(uint32_t exception, const uint32_t* frame) {
  const fault_kind kind = kind_of(exception);
  const int on_stack = frame >= board_stack_begin && frame + FRAME_WORDS <= board_stack_end;
  board_print("fault: ");
  board_print(kind.name);
  print_address();
  if (on_stack && !stacking_failed()) {
    print_hex(", pc ", frame[FRAME_PC]);
    board_print("\n");
    board_exit(kind.code);
  }
  board_print(", the stack has overflowed\n");
  board_exit(BOARD_EXIT_STACK);
}
