/* Integer arithmetic as the kernels and constant folding do it, in 64 bits: the caller keeps the low bits of its own
 * element type, so that sums and products wrap as in numpy. What ONNX leaves open is defined here: nothing traps. */
#pragma once

#include <stdint.h>

static inline int64_t pt_whole_add(int64_t x, int64_t y) {
  return (int64_t)((uint64_t)x + (uint64_t)y);
}
static inline int64_t pt_whole_sub(int64_t x, int64_t y) {
  return (int64_t)((uint64_t)x - (uint64_t)y);
}
static inline int64_t pt_whole_mul(int64_t x, int64_t y) {
  return (int64_t)((uint64_t)x * (uint64_t)y);
}

/* Towards zero; by zero it is 0, and the least integer by -1 wraps to itself. */
static inline int64_t pt_whole_div(int64_t x, int64_t y) {
  if (y == 0) return 0;
  return y == -1 ? pt_whole_sub(0, x) : x / y;
}

/* The rest of pt_whole_div, with the sign of x; by zero it is 0. */
static inline int64_t pt_whole_fmod(int64_t x, int64_t y) {
  return y == 0 || y == -1 ? 0 : x % y;
}

/* The rest of the division rounded down, with the sign of y; by zero it is 0. */
static inline int64_t pt_whole_mod(int64_t x, int64_t y) {
  const int64_t rest = pt_whole_fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* A negative exponent gives 1 / x^-y towards zero, and 0 for x = 0. */
static inline int64_t pt_whole_pow(int64_t x, int64_t y) {
  int64_t power = 1;
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 != 0 ? -1 : 1) : 0;
  for (; y > 0; y /= 2) {
    if (y % 2 != 0) power = pt_whole_mul(power, x);
    x = pt_whole_mul(x, x);
  }
  return power;
}

/* Shift unsigned numbers of `bits` by any count; bits that are shifted out are lost. */
static inline int64_t pt_whole_shift_left(int64_t x, int64_t y, int bits) {
  return y < 0 || y >= bits ? 0 : (int64_t)((uint64_t)x << y);
}
static inline int64_t pt_whole_shift_right(int64_t x, int64_t y, int bits) {
  return y < 0 || y >= bits ? 0 : (int64_t)((uint64_t)x >> y);
}

/* Towards zero, clamped to [least, most]; NaN gives 0. */
static inline int64_t pt_whole_of(double value, int64_t least, int64_t most) {
  if (value != value) return 0;
  if (value >= (double)most) return most;
  if (value <= (double)least) return least;
  return (int64_t)value;
}
