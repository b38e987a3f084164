/* Opens a binary plan with one bit flipped, for each pair of numbers (byte, bit) on standard input, and prints the status. */
#include <stdio.h>

#include "pantoum/pantoum.h"

int main(int argc, char** argv) {
  static unsigned char bytes[1 << 20];
  FILE* file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  const size_t size = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0;
  unsigned long byte, bit;
  pt_plan plan;
  if (size == 0 || size == sizeof bytes || pt_plan_open(&plan, bytes, size) != PT_OK) return 1;
  while (scanf("%lu %lu", &byte, &bit) == 2) {
    bytes[byte] ^= (unsigned char)(1u << bit);
    printf("%d\n", pt_plan_open(&plan, bytes, size));
    bytes[byte] ^= (unsigned char)(1u << bit);
  }
  return 0;
}
