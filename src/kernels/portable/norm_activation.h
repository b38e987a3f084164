/* The activations that batch normalization applies itself (PT_NORM_ACTIVATIONS), and their slopes as functions of the
 * normalized value. The bits of every element are those of the separate ops. */
#pragma once

#include "kernels/portable/real.h"

typedef struct pt_activation {
  int64_t op;   /* PT_OP_*, of PT_NORM_ACTIVATIONS; 0: none */
  pt_real p, q; /* its first two reals */
} pt_activation;

/* The activation of a batch_norm_act* call: its op is the first integer, its reals follow eps. */
static inline pt_activation pt_activation_of(const pt_call* call) {
  const pt_activation of = {call->ints[PT_NORM_ACTIVATION], (pt_real)call->reals[1], (pt_real)call->reals[2]};
  return of;
}

static inline int pt_is_norm_activation(int64_t op) {
  switch (op) {
#define PT_ACTIVATION(name) case PT_OP_##name:
    PT_NORM_ACTIVATIONS(PT_ACTIVATION)
#undef PT_ACTIVATION
    return 1;
    default:
      return 0;
  }
}

/* May a product finish its result with it? */
static inline int pt_is_epilogue(int64_t op) {
  switch (op) {
#define PT_ACTIVATION(name) case PT_OP_##name:
    PT_EPILOGUES(PT_ACTIVATION)
#undef PT_ACTIVATION
    return 1;
    default:
      return 0;
  }
}

/* `op` is a constant where this is called in a loop: one comparison or two are left of it. */
static inline pt_real pt_activate(int64_t op, pt_real p, pt_real q, pt_real x) {
  switch (op) {
    case PT_OP_relu:
      return x > 0 ? x : x != x ? x : 0;
    case PT_OP_leaky_relu:
      return x > 0 ? x : p * x;
    case PT_OP_clip:
      return x < p ? p : x > q ? q : x;
    default:
      return x;
  }
}

static inline pt_real pt_activation_grad(int64_t op, pt_real p, pt_real q, pt_real dy, pt_real x) {
  switch (op) {
    case PT_OP_relu:
      return x > 0 ? dy : 0;
    case PT_OP_leaky_relu:
      return x > 0 ? dy : p * dy;
    case PT_OP_clip:
      return x > p && x < q ? dy : 0;
    default:
      return dy;
  }
}

/* Repeats the loop for every activation, so that the activation is a constant within it. */
#define PT_BY_ACTIVATION(of, LOOP) \
  do {                             \
    switch ((of).op) {             \
      case PT_OP_relu:             \
        LOOP(PT_OP_relu);          \
        break;                     \
      case PT_OP_leaky_relu:       \
        LOOP(PT_OP_leaky_relu);    \
        break;                     \
      case PT_OP_clip:             \
        LOOP(PT_OP_clip);          \
        break;                     \
      default:                     \
        LOOP(0);                   \
    }                              \
  } while (0)
