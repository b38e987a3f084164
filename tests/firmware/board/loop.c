/* Loops whose instructions can be counted by hand. */
#include "board.h"

/* 1 + 3 * 1000 + 1 */
__attribute__((naked, noinline)) static void loop_once(void) {
  __asm__ volatile(
      ".syntax unified\n"
      "ldr r0, =1000\n"
      "1: nop\n"
      "subs r0, #1\n"
      "bne 1b\n"
      "bx lr\n");
}

/* 1 + 4 * 100 + 1; the store to a device, or to RAM, ends no block early */
__attribute__((naked, noinline)) static void loop_store(volatile uint32_t* word) {
  (void)word;
  __asm__ volatile(
      ".syntax unified\n"
      "movs r1, #100\n"
      "1: str r1, [r0]\n"
      "nop\n"
      "subs r1, #1\n"
      "bne 1b\n"
      "bx lr\n");
}

int main(void) {
  volatile uint32_t word;
  uint32_t time;
  for (time = 0; time < 20; ++time) loop_once();
  loop_store(&word);
#if defined(DEVICE)
  loop_store((volatile uint32_t*)DEVICE);
#endif
  return 0;
}
