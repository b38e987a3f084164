/* The activations of recurrent gates, in the kernels' own precision and without branches, so that loops over them
 * become vectors. From + - * / and bits of integers alone: every processor and every vector width gives the same bits.
 * Errors in float stay under 3 units in the last place; NaN passes through. */
#ifndef PANTOUM_KERNELS_PORTABLE_PT_GATES_H
#define PANTOUM_KERNELS_PORTABLE_PT_GATES_H

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

/* e^x = 2^n e^r, |r| <= ln 2 / 2, by its Taylor polynomial of degree 7; x is held within [-87, 88]. */
static inline float pt_gate_exp(float x) {
  const float low = x < -87.0f ? -87.0f : x, held = low > 88.0f ? 88.0f : low;
  const float magic = 12582912.0f, shifted = held * 1.44269504f + magic, n = shifted - magic;
  const float r = (held - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.0f / 5040.0f, scale;
  uint32_t bits;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits - 0x4b400000u + 127u) << 23;
  memcpy(&scale, &bits, sizeof scale);
  return p * scale;
}

static inline float pt_gate_sigmoid(float x) {
  return 1.0f / (1.0f + pt_gate_exp(-x));
}

/* Below 0.625 an odd polynomial (S. Moshier's tanhf), else 1 - 2 / (e^2x + 1). */
static inline float pt_gate_tanh(float x) {
  const float a = x < 0 ? -x : x, z = x * x;
  const float far = 1.0f - 2.0f / (pt_gate_exp(2.0f * a) + 1.0f), signed_far = x < 0 ? -far : far;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  p = p * z * x + x;
  return a < 0.625f ? p : signed_far;
}
#endif

#endif
