/* The high-water mark: grows with the depth of a recursion by what its frames hold, and never shrinks. */
#include "board.h"

extern const uint8_t STACK_SIZE[]; /* given to the link */

enum { FRAME_BYTES = 64, STEP = 4, STEPS = 3 };

__attribute__((noinline)) static uint32_t descend(uint32_t depth) {
  volatile uint8_t frame[FRAME_BYTES];
  uint32_t index;
  for (index = 0; index < FRAME_BYTES; ++index) frame[index] = (uint8_t)depth;
  return depth == 0 ? 0 : descend(depth - 1) + frame[depth % FRAME_BYTES];
}

static int grows(void) {
  uint32_t step, used = board_stack_used();
  for (step = 1; step <= STEPS; ++step) {
    const uint32_t before = used;
    descend(step * STEP);
    used = board_stack_used();
    if (step > 1 && (used < before + STEP * FRAME_BYTES || used > before + STEP * 2 * FRAME_BYTES)) return 0;
  }
  descend(1);
  return used == board_stack_used() && used < board_stack_bytes();
}

int main(void) {
  if (board_stack_bytes() != (uintptr_t)STACK_SIZE || board_stack_used() == 0) return 1;
  return grows() ? 0 : 2;
}
