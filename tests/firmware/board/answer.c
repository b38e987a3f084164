/* Prints, and ends with a code that comes from .data and .bss, which the start-up must have filled. */
#include <string.h>

#include "board.h"

static volatile int from_data = 40;
static volatile int from_bss[100];
static volatile float from_fpu = 1.5F;

int main(void) {
  board_print("hello ");
  board_print("board\n");
  return from_data + from_bss[99] + (int)(from_fpu * 2.0F) - 1;
}
