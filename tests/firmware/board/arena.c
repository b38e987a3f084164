/* An arena of ARENA_BYTES: what does not fit into RAM_SIZE must not link. */
#include "board.h"

__attribute__((section(".arena"), aligned(16), used)) static uint8_t arena[ARENA_BYTES];

int main(void) {
  return ((uintptr_t)arena & 15) == 0 ? 0 : 1;
}
