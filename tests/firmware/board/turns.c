/* A loop whose turns run kernels through pointers, as the interpreter does; instructions can be counted by hand. */
#include "board.h"

#ifndef TURNS
#define TURNS 4
#endif

/* 2 */
__attribute__((naked, noinline, used)) static void shared(void) {
  __asm__ volatile("nop\nbx lr\n");
}

/* 4 + 2 * 2 */
__attribute__((naked, noinline)) static void kernel_a(void) {
  __asm__ volatile("push {r3, lr}\nbl shared\nbl shared\npop {r3, pc}\n");
}

/* 3 + 8 */
__attribute__((naked, noinline)) static void kernel_b(void) {
  __asm__ volatile("push {r3, lr}\nbl kernel_a\npop {r3, pc}\n");
}

static void (*const volatile kernels[])(void) = {kernel_a, kernel_b, kernel_b};

__attribute__((noinline)) static void interpret(void) {
  uint32_t at;
  for (at = 0; at < 3; ++at) kernels[at]();
  __asm__ volatile("");
}

__attribute__((noinline)) static void turn(void) {
  interpret();
  shared();
}

int main(void) {
  uint32_t time;
  interpret();
  for (time = 0; time < TURNS; ++time) turn();
  interpret();
  return 0;
}
