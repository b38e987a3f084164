/* exp, erf and the gates' activations in the kernels' own precision: processors with a unit for floats alone take
 * doubles a hundred times as long, and vectors hold half as many. Without branches, from + - * / and bits of integers:
 * the same bits everywhere. In float, errors stay under 2 units in the last place (sigmoid, tanh: 3). */
#ifndef PANTOUM_KERNELS_PORTABLE_REAL_MATH_H
#define PANTOUM_KERNELS_PORTABLE_REAL_MATH_H

#include "kernels/portable/pt_gates.h"

#ifdef PT_REAL_DOUBLE
static inline double pt_real_exp(double x) {
  return pt_exp(x);
}
static inline double pt_real_erf(double x) {
  return pt_erf(x);
}
#else

/* 2^n of n as a float's exponent, -126 <= n <= 127 */
static inline float pt_real_power_of_two(int32_t n) {
  return pt_gate_value((int32_t)((uint32_t)(n + 127) << 23));
}

/* e^x = 2^n e^r, |r| <= ln 2 / 2, by its Taylor polynomial of degree 7; scaled in two steps, so that it ends in
 * infinity and, through denormals, in 0. */
static inline float pt_real_exp(float x) {
  const float above = x < -104.0f ? -104.0f : x, held = above > 89.0f ? 89.0f : above;
  const float magic = 12582912.0f, shifted = held * 1.44269504f + magic, n = shifted - magic;
  const float r = (held - n * 0.693359375f) - n * -2.12194440e-4f;
  const int32_t whole = (int32_t)((uint32_t)pt_gate_bits(shifted) - 0x4b400000u), half = whole / 2;
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  p = p * pt_real_power_of_two(half) * pt_real_power_of_two(whole - half);
  return x != x ? x : p;
}

/* Below 1 an odd polynomial, else 1 - e^-g(x) with g = -log erfc as a polynomial on [1, 4]; from there on erf is 1. Both
 * are least-squares fits on Chebyshev nodes, reweighted until the largest error was least: 1.3e-9 and 2.2e-11. */
static inline float pt_real_erf(float x) {
  const float size = x < 0 ? -x : x, a = size > 4.0f ? 4.0f : size, z = a * a;
  float p = 7.8538578e-5f, g = 2.1686850e-5f;
  p = p * z - 8.0101931e-4f;
  p = p * z + 5.1883277e-3f;
  p = p * z - 2.6853813e-2f;
  p = p * z + 1.1283585e-1f;
  p = p * z - 3.7612626e-1f;
  p = p * z + 1.2837917e-1f;
  p = a + a * p;
  g = g * a - 4.4133636e-4f;
  g = g * a + 4.2045619e-3f;
  g = g * a - 2.5208257e-2f;
  g = g * a + 1.0841858e-1f;
  g = g * a + 6.3321990e-1f;
  g = g * a + 1.1295785f;
  g = g * a - 1.8804023e-4f;
  g = a < 1.0f ? p : 1.0f - pt_real_exp(-g);
  return x != x ? x : x < 0 ? -g : g;
}
#endif

static inline pt_real pt_real_sigmoid(pt_real x) {
  return pt_gate_sigmoid(x);
}
static inline pt_real pt_real_tanh(pt_real x) {
  return pt_gate_tanh(x);
}

#endif
