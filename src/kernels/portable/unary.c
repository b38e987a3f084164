#include <math.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/real_math.h"

/* The formulas alone are what the OpenCL engine compiles too, with macros of its own (kernels/opencl): on devices without doubles, those
 * in floats. */
#ifndef __OPENCL_VERSION__
/* Element by element, one tensor or two of one shape. Outputs may be either input. */
typedef struct elements {
  const pt_real *a, *b;
  pt_real* y;
  pt_real p, q, r;
} elements;

static pt_status run(const pt_call* call, pt_body body, size_t weight) {
  elements state = {
      call->inputs[0].data, call->input_count > 1 ? call->inputs[1].data : NULL, call->outputs[0].data, 0, 0, 0};
  if (call->real_count > 0) state.p = (pt_real)call->reals[0];
  if (call->real_count > 1) state.q = (pt_real)call->reals[1];
  if (call->real_count > 2) state.r = (pt_real)call->reals[2];
  return pt_by_element(call, weight, body, &state);
}

/* A loop over the elements x, or dy and x, under the name of its function; p, q, r are the first reals. PT_UNARY and
 * PT_GRADIENT define a kernel by it. */
#define PT_UNARY_LOOP(name, weight, expression)                            \
  static void name##_elements(void* arg, size_t begin, size_t end) {       \
    const elements* state = arg;                                           \
    const pt_real *a = state->a, p = state->p, q = state->q, r = state->r; \
    pt_real* out = state->y;                                               \
    (void)p, (void)q, (void)r;                                             \
    PT_IVDEP for (size_t at = begin; at < end; ++at) {                     \
      const pt_real x = a[at];                                             \
      out[at] = (pt_real)(expression);                                     \
    }                                                                      \
  }                                                                        \
  static pt_status run_##name(const pt_call* call) {                       \
    return run(call, name##_elements, weight);                             \
  }

#define PT_GRADIENT_LOOP(name, weight, expression)                                        \
  static void name##_elements(void* arg, size_t begin, size_t end) {                      \
    const elements* state = arg;                                                          \
    const pt_real *a = state->a, *b = state->b, p = state->p, q = state->q, r = state->r; \
    pt_real* out = state->y;                                                              \
    (void)p, (void)q, (void)r;                                                            \
    PT_IVDEP for (size_t at = begin; at < end; ++at) {                                    \
      const pt_real dy = a[at], x = b[at];                                                \
      out[at] = (pt_real)(expression);                                                    \
    }                                                                                     \
  }                                                                                       \
  static pt_status run_##name(const pt_call* call) {                                      \
    return run(call, name##_elements, weight);                                            \
  }

#define PT_KERNEL(name)                               \
  pt_status PT_NAME(pt_##name)(const pt_call* call) { \
    return run_##name(call);                          \
  }
#define PT_UNARY(name, weight, expression) PT_UNARY_LOOP(name, weight, expression) PT_KERNEL(name)
#define PT_GRADIENT(name, weight, expression) PT_GRADIENT_LOOP(name, weight, expression) PT_KERNEL(name)
#endif

static pt_real between_0_and_1(pt_real y) {
  return y < 0 ? 0 : y > 1 ? 1 : y;
}
/* In PyTorch's order: the same bits. */
static pt_real hard_swish(pt_real x) {
  const pt_real gate = x + 3;
  return x * (gate < 0 ? 0 : gate > 6 ? 6 : gate) / 6;
}

PT_UNARY(relu, 1, x > 0 ? x : x != x ? x : 0)
PT_UNARY(leaky_relu, 1, x > 0 ? x : p * x)
PT_UNARY(sigmoid, 16, pt_real_sigmoid(x))
PT_UNARY(tanh, 16, pt_real_tanh(x))
PT_UNARY(erf, 32, pt_real_erf(x))
PT_UNARY(exp, 16, pt_real_exp(x))
PT_UNARY(neg, 1, -x)
PT_UNARY(scale, 1, p* x + q)
PT_UNARY(abs, 1, x < 0 ? -x : x == 0 ? 0 : x)
PT_UNARY(sign, 1, x > 0 ? 1 : x < 0 ? -1 : x)
PT_UNARY(clip, 1, x<p ? p : x> q ? q : x)
PT_UNARY(hard_sigmoid, 1, between_0_and_1(p* x + q))
PT_UNARY(hard_swish, 2, hard_swish(x))

PT_GRADIENT(relu_grad, 1, x > 0 ? dy : 0)
PT_GRADIENT(leaky_relu_grad, 1, x > 0 ? dy : p * dy)
PT_GRADIENT(sigmoid_grad, 1, dy*(x*(1 - x)))
PT_GRADIENT(tanh_grad, 1, dy*(1 - x * x))
PT_GRADIENT(erf_grad, 16, dy*((pt_real)1.1283791670955126 * pt_real_exp(-x * x)))
PT_GRADIENT(sqrt_grad, 2, dy / (2 * x))
PT_GRADIENT(softplus_grad, 16, dy* pt_real_sigmoid(x))
PT_GRADIENT(clip_grad, 1, x > p && x < q ? dy : 0)
PT_GRADIENT(hard_sigmoid_grad, 1, x > q && x < r ? p * dy : 0)
PT_GRADIENT(hard_swish_grad, 2, x <= -3 ? 0 : x < 3 ? dy * (x / 3 + (pt_real)0.5) : dy)

PT_CONSTANT pt_real kHalfRoot = (pt_real)0.70710678118654752, kDensity = (pt_real)0.39894228040143268,
                    kTanhScale = (pt_real)0.79788456080286536, kTanhCube = (pt_real)0.044715, kHalf = (pt_real)0.5;

static pt_real gelu_erf(pt_real x) {
  return kHalf * x * (1 + pt_real_erf(x * kHalfRoot));
}
static pt_real gelu_erf_slope(pt_real x) {
  return kHalf * (1 + pt_real_erf(x * kHalfRoot)) + x * kDensity * pt_real_exp(-kHalf * x * x);
}
static pt_real gelu_tanh(pt_real x) {
  return kHalf * x * (1 + pt_real_tanh(kTanhScale * (x + kTanhCube * x * x * x)));
}
static pt_real gelu_tanh_slope(pt_real x) {
  const pt_real t = pt_real_tanh(kTanhScale * (x + kTanhCube * x * x * x));
  return kHalf * (1 + t) + kHalf * x * (1 - t * t) * kTanhScale * (1 + 3 * kTanhCube * x * x);
}

PT_UNARY_LOOP(gelu_of_erf, 32, gelu_erf(x))
PT_UNARY_LOOP(gelu_of_tanh, 16, gelu_tanh(x))
PT_GRADIENT_LOOP(gelu_of_erf_grad, 48, dy* gelu_erf_slope(x))
PT_GRADIENT_LOOP(gelu_of_tanh_grad, 24, dy* gelu_tanh_slope(x))

PT_GRADIENT_LOOP(arc_tan_grad, 2, dy / (x * x + 1))
PT_GRADIENT_LOOP(arc_tanh_grad, 2, dy*(1 / (1 - x * x)))

/* A float with the low `gone` bits of its fraction rounded away; a carry into the exponent is what rounding up means. */
static float without_bits(float x, int gone) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits += ((UINT32_C(1) << (gone - 1)) - 1) + ((bits >> gone) & 1);
  bits &= ~((UINT32_C(1) << gone) - 1);
  memcpy(&x, &bits, sizeof x);
  return x;
}
/* Below 2^-14 its numbers are 2^-24 apart, as those of a float between 0.5 and 1 are; from 65520 on it is infinite. */
static pt_real to_float16(pt_real wide) {
  const float x = (float)wide, size = x < 0 ? -x : x;
  if (!(size < 65520.0f)) return x - x == 0 ? (pt_real)(x < 0 ? -HUGE_VALF : HUGE_VALF) : (pt_real)x;
  if (size >= 6.103515625e-05f) return (pt_real)without_bits(x, 13);
  const volatile float held = size + 0.5f;
  return (pt_real)(x < 0 ? -(held - 0.5f) : held - 0.5f);
}
static pt_real to_bfloat16(pt_real wide) {
  const float x = (float)wide;
  return (pt_real)(x - x == 0 ? without_bits(x, 16) : x);
}

PT_UNARY_LOOP(round_to_float16, 4, to_float16(x))
PT_UNARY_LOOP(round_to_bfloat16, 4, to_bfloat16(x))

#ifndef PT_NO_DOUBLE
/* Halves to even: adding 2^52 leaves no bits behind the point. */
static double nearest(double x) {
  const double big = 4503599627370496.0;
  if (!(x < big && x > -big)) return x;
  return x < 0 ? -((big - x) - big) : (x + big) - big;
}

PT_UNARY(sqrt, 2, sqrt((double)x))
PT_UNARY(log, 16, pt_log((double)x))
PT_UNARY(sin, 24, pt_sin((double)x))
PT_UNARY(cos, 24, pt_cos((double)x))
PT_UNARY(elu, 16, x > 0 ? (double)(p * x) : (double)q * pt_expm1((double)(r * x)))
PT_UNARY(softplus, 32, pt_softplus((double)x))
PT_UNARY_LOOP(round_down, 2, floor((double)x))
PT_UNARY_LOOP(round_up, 2, ceil((double)x))
PT_UNARY_LOOP(round_even, 2, nearest((double)x))
PT_GRADIENT(elu_grad, 16, x > 0 ? (double)(dy * p) : (double)dy * ((double)(q * r) * pt_exp((double)(r * x))))
PT_UNARY_LOOP(arc_sin, 32, pt_asin((double)x))
PT_UNARY_LOOP(arc_cos, 32, pt_acos((double)x))
PT_UNARY_LOOP(arc_tan, 24, pt_atan((double)x))
PT_UNARY_LOOP(arc_sinh, 32, pt_asinh((double)x))
PT_UNARY_LOOP(arc_cosh, 32, pt_acosh((double)x))
PT_UNARY_LOOP(arc_tanh, 32, pt_atanh((double)x))
PT_GRADIENT_LOOP(arc_sin_grad, 4, dy*(1 / (pt_real)sqrt((double)(1 - x * x))))
PT_GRADIENT_LOOP(arc_cos_grad, 4, -(dy*(1 / (pt_real)sqrt((double)(1 - x * x)))))
PT_GRADIENT_LOOP(arc_sinh_grad, 4, dy / (pt_real)sqrt((double)(x * x + 1)))
PT_GRADIENT_LOOP(arc_cosh_grad, 4, dy*(1 / (pt_real)sqrt((double)(x * x - 1))))
#endif

#ifndef __OPENCL_VERSION__
pt_status PT_NAME(pt_round)(const pt_call* call) {
  return call->ints[0] == 0 ? run_round_down(call) : call->ints[0] == 1 ? run_round_up(call) : run_round_even(call);
}

pt_status PT_NAME(pt_gelu)(const pt_call* call) {
  return call->ints[0] != 0 ? run_gelu_of_tanh(call) : run_gelu_of_erf(call);
}

pt_status PT_NAME(pt_gelu_grad)(const pt_call* call) {
  return call->ints[0] != 0 ? run_gelu_of_tanh_grad(call) : run_gelu_of_erf_grad(call);
}

pt_status PT_NAME(pt_arc)(const pt_call* call) {
  static pt_status (*const functions[PT_ARC_COUNT])(const pt_call*) = {run_arc_sin,  run_arc_cos,  run_arc_tan,
                                                                       run_arc_sinh, run_arc_cosh, run_arc_tanh};
  return functions[call->ints[0]](call);
}

pt_status PT_NAME(pt_arc_grad)(const pt_call* call) {
  static pt_status (*const slopes[PT_ARC_COUNT])(const pt_call*) = {
      run_arc_sin_grad, run_arc_cos_grad, run_arc_tan_grad, run_arc_sinh_grad, run_arc_cosh_grad, run_arc_tanh_grad};
  return slopes[call->ints[0]](call);
}

pt_status PT_NAME(pt_round_to)(const pt_call* call) {
  return call->ints[0] == PT_ROUND_TO_FLOAT16 ? run_round_to_float16(call) : run_round_to_bfloat16(call);
}
#endif
