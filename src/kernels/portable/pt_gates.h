/* The activations of recurrent gates, in the kernels' own precision and without branches, so that loops over them
 * become vectors. From + - * / and bits of integers alone: every processor and every vector width gives the same bits.
 * Errors in float stay under 3 units in the last place; NaN passes through. */
#pragma once

#include "kernels/portable/pt_math.h"
#include "kernels/portable/real.h"

#ifdef PT_REAL_DOUBLE
static inline double pt_gate_sigmoid(double x) {
  return pt_sigmoid(x);
}
static inline double pt_gate_tanh(double x) {
  return pt_tanh(x);
}
#else

enum { PT_GATE_SIGN = INT32_MIN, PT_GATE_SIZE = INT32_MAX, PT_GATE_INFINITY = 0x7f800000 };

static inline int32_t pt_gate_bits(float x) {
  int32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float pt_gate_value(int32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* x held within [-most, most], `most` as bits; choices are made on integers, which compilers turn into masks. */
static inline float pt_gate_hold(float x, int32_t most) {
  const int32_t bits = pt_gate_bits(x), size = bits & PT_GATE_SIZE;
  return pt_gate_value((bits & PT_GATE_SIGN) | (size < most ? size : most));
}

/* `y`, or NaN where x is one. */
static inline float pt_gate_pass_nan(float x, float y) {
  const int32_t nan = -((pt_gate_bits(x) & PT_GATE_SIZE) > PT_GATE_INFINITY);
  return pt_gate_value(pt_gate_bits(y) | nan);
}

/* 2^n as a float, -126 <= n <= 127 */
static inline float pt_power_of_two_f(int32_t n) {
  return pt_gate_value((int32_t)((uint32_t)(n + 127) << 23));
}

/* e^x = 2^whole times the rest, which is e^r, |r| <= ln 2 / 2, by its Taylor polynomial of degree 7; |x| <= 104. */
static inline float pt_exp_parts_f(float x, int32_t* whole) {
  const float magic = 12582912.0f, shifted = x * 1.44269504f + magic, n = shifted - magic;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  *whole = (int32_t)((uint32_t)pt_gate_bits(shifted) - 0x4b400000u);
  return p * r + 1.0f;
}

/* |x| <= 87 */
static inline float pt_gate_exp(float x) {
  int32_t whole;
  const float rest = pt_exp_parts_f(x, &whole);
  return rest * pt_power_of_two_f(whole);
}

static inline float pt_gate_sigmoid(float x) {
  return pt_gate_pass_nan(x, 1.0f / (1.0f + pt_gate_exp(-pt_gate_hold(x, 0x42ae0000 /* 87 */))));
}

/* Below 0.625 an odd polynomial (S. Moshier's tanhf), else 1 - 2 / (e^2x + 1). */
static inline float pt_gate_tanh(float x) {
  const float held = pt_gate_hold(x, 0x41200000 /* 10 */), z = held * held;
  const int32_t size = pt_gate_bits(held) & PT_GATE_SIZE, sign = pt_gate_bits(held) & PT_GATE_SIGN;
  const float far = 1.0f - 2.0f / (pt_gate_exp(2.0f * pt_gate_value(size)) + 1.0f);
  const int32_t near = -(size < 0x3f200000 /* 0.625 */);
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  p = p * z * held + held;
  return pt_gate_pass_nan(x, pt_gate_value((pt_gate_bits(p) & near) | ((pt_gate_bits(far) | sign) & ~near)));
}
#endif
