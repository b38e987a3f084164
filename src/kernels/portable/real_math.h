/* exp, erf and the gates' activations in the kernels' own precision: processors with a unit for floats alone take
 * doubles a hundred times as long, and vectors hold half as many. Without branches, from + - * / and bits of integers:
 * the same bits everywhere. In float, errors stay under 2 units in the last place (sigmoid, tanh: 3). */
#pragma once

#include "kernels/portable/pt_gates.h"

#ifdef PT_REAL_DOUBLE
static inline double pt_real_exp(double x) {
  return pt_exp(x);
}
static inline double pt_real_erf(double x) {
  return pt_erf(x);
}
#else

/* `x` where it is NaN, else `y`. */
static inline float pt_real_or_nan(float x, float y) {
  const int32_t bits = pt_gate_bits(x), nan = -((bits & PT_GATE_SIZE) > PT_GATE_INFINITY);
  return pt_gate_value((bits & nan) | (pt_gate_bits(y) & ~nan));
}

/* Scaled in two steps, so that it ends in infinity and, through denormals, in 0. */
static inline float pt_real_exp(float x) {
  int32_t whole;
  const float rest = pt_exp_parts_f(pt_gate_hold(x, 0x42d00000 /* 104 */), &whole);
  return pt_real_or_nan(x, rest * pt_power_of_two_f(whole / 2) * pt_power_of_two_f(whole - whole / 2));
}

/* Below 1 an odd polynomial, else 1 - e^-g(x) with g = -log erfc as a polynomial on [1, 4]; from there on erf is 1.
 * Both are least-squares fits on Chebyshev nodes, reweighted until the largest error was least: 1.3e-9 and 2.2e-11. */
static inline float pt_real_erf(float x) {
  const int32_t size = pt_gate_bits(x) & PT_GATE_SIZE, sign = pt_gate_bits(x) & PT_GATE_SIGN;
  const float a = pt_gate_value(size < 0x40800000 /* 4 */ ? size : 0x40800000), z = a * a;
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
  const int32_t near = -(size < 0x3f800000 /* 1 */), far = pt_gate_bits(1.0f - pt_real_exp(-g));
  return pt_real_or_nan(x, pt_gate_value(((pt_gate_bits(p) & near) | (far & ~near)) ^ sign));
}
#endif

static inline pt_real pt_real_sigmoid(pt_real x) {
  return pt_gate_sigmoid(x);
}
static inline pt_real pt_real_tanh(pt_real x) {
  return pt_gate_tanh(x);
}
