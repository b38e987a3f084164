#include "kernels/portable/broadcast.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/pt_math.h"

/* Computes Y from A and B element by element, with numpy's broadcasting. Y may be the same memory as an input of Y's size. */
typedef void (*row_function)(const void* a, size_t a_step, const void* b, size_t b_step, void* y, size_t count);

typedef struct walk {
  pt_broadcast shape;
  const char *a, *b;
  char* y;
  size_t element;
  row_function row;
} walk;

static void walk_elements(void* arg, size_t begin, size_t end) {
  const walk* w = arg;
  const size_t a_step = pt_broadcast_step(&w->shape, 0), b_step = pt_broadcast_step(&w->shape, 1);
  while (begin < end) {
    size_t at[2], count = pt_broadcast_seek(&w->shape, begin, end, at);
    w->row(w->a + at[0] * w->element, a_step, w->b + at[1] * w->element, b_step, w->y + begin * w->element, count);
    begin += count;
  }
}

static pt_status run(const pt_call* call, size_t element, row_function row) {
  walk w = {pt_broadcast_of(call->inputs, 2, &call->outputs[0]),
            call->inputs[0].data,
            call->inputs[1].data,
            call->outputs[0].data,
            element,
            row};
  return pt_by_element(call, 1, walk_elements, &w);
}

#define PT_BINARY(name, type, expression)                                                                        \
  static void name##_row(const void* av, size_t a_step, const void* bv, size_t b_step, void* yv, size_t count) { \
    const type *a = av, *b = bv;                                                                                 \
    type* out = yv;                                                                                              \
    if (a_step == 1 && b_step == 1) {                                                                            \
      PT_IVDEP for (size_t at = 0; at < count; ++at) {                                                           \
        const type x = a[at], y = b[at];                                                                         \
        out[at] = (type)(expression);                                                                            \
      }                                                                                                          \
    } else if (a_step == 1 && b_step == 0) {                                                                     \
      const type y = count > 0 ? *b : 0;                                                                         \
      PT_IVDEP for (size_t at = 0; at < count; ++at) {                                                           \
        const type x = a[at];                                                                                    \
        out[at] = (type)(expression);                                                                            \
      }                                                                                                          \
    } else {                                                                                                     \
      for (size_t at = 0; at < count; ++at) {                                                                    \
        const type x = a[at * a_step], y = b[at * b_step];                                                       \
        out[at] = (type)(expression);                                                                            \
      }                                                                                                          \
    }                                                                                                            \
  }                                                                                                              \
  pt_status PT_NAME(pt_##name)(const pt_call* call) {                                                            \
    return run(call, sizeof(type), name##_row);                                                                  \
  }

PT_BINARY(add, pt_real, x + y)
PT_BINARY(sub, pt_real, x - y)
PT_BINARY(mul, pt_real, x* y)
PT_BINARY(div, pt_real, x / y)
PT_BINARY(pow, pt_real, y == 2 ? x * x : (pt_real)pt_pow((double)x, (double)y))
PT_BINARY(maximum, pt_real, x > y || x != x ? x : y)
PT_BINARY(minimum, pt_real, x < y || x != x ? x : y)

/* dY A B -> dY * B * A^(B - 1), and 0 where B is 0. A and B broadcast to dY's shape. */
typedef struct pow_grad_state {
  pt_broadcast a_and_b;
  const pt_real *dy, *a, *b;
  pt_real* dx;
} pow_grad_state;

static void pow_grad_elements(void* arg, size_t begin, size_t end) {
  const pow_grad_state* state = arg;
  for (size_t index = begin; index < end; ++index) {
    size_t at[2];
    pt_broadcast_seek(&state->a_and_b, index, end, at);
    const double base = (double)state->a[at[0]], exponent = (double)state->b[at[1]];
    const double slope = exponent == 0 ? 0 : exponent * pt_pow(base, exponent - 1);
    state->dx[index] = (pt_real)((double)state->dy[index] * slope);
  }
}

pt_status PT_NAME(pt_pow_grad)(const pt_call* call) {
  pow_grad_state state = {pt_broadcast_of(call->inputs + 1, 2, &call->outputs[0]), call->inputs[0].data,
                          call->inputs[1].data, call->inputs[2].data, call->outputs[0].data};
  return pt_by_element(call, 16, pow_grad_elements, &state);
}
