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

/* Scaled in two steps, so that it ends in infinity and, through denormals, in 0. */
static inline float pt_real_exp(float x) {
  const float above = x < -104.0f ? -104.0f : x, held = above > 89.0f ? 89.0f : above;
  int32_t whole;
  const float rest = pt_exp_parts_f(held, &whole);
  const float y = rest * pt_power_of_two_f(whole / 2) * pt_power_of_two_f(whole - whole / 2);
  return x != x ? x : y;
}

/* Below 1 an odd polynomial, else 1 - e^-g(x) with g = -log erfc as a polynomial on [1, 4]; from there on erf is 1.
 * Both are least-squares fits on Chebyshev nodes, reweighted until the largest error was least: 1.3e-9 and 2.2e-11. */
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
