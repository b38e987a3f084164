/* What the memory guard lets pass and what it stops. The link chooses: act is one of these (never 0, as no address is),
 * target an address. */
#include "board.h"

enum { WRITE = 1, READ, EXECUTE, OVERFLOW, UNDEFINED };

extern const uint8_t act[], target[], board_ram_end[];

/* Ends where the stack does, long before the number. */
__attribute__((noinline)) static uint32_t overflow(uint32_t depth) {
  volatile uint32_t frame[16];
  frame[depth & 15] = depth;
  return depth == 0 ? 0 : overflow(depth - 1) + frame[depth & 15];
}

static void last_byte(void) {
  volatile uint8_t* last = (volatile uint8_t*)((uintptr_t)board_ram_end - 1);
  *last = 0xA5;
  board_print(*last == 0xA5 ? "last byte\n" : "lost byte\n");
}

int main(void) {
  volatile uint8_t* at = (volatile uint8_t*)(uintptr_t)target;
  last_byte();
  switch ((uintptr_t)act) {
    case WRITE:
      *at = 1;
      break;
    case READ:
      return *at & 1;
    case EXECUTE:
      ((void (*)(void))((uintptr_t)target | 1))();
      break;
    case OVERFLOW:
      return (int)(overflow(1000000) & 1);
    case UNDEFINED:
      __asm__ volatile(".inst.n 0xde00");
      break;
    default:
      break;
  }
  return 0;
}
