#include <string.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/pt_math.h"

/* Element by element with numpy's broadcasting. Dimensions that both inputs walk alike are merged, so that equal
 * shapes, scalars and per-channel operands become long inner loops. Y may be either input of its size. */
typedef void (*row_function)(const void* a, size_t a_step, const void* b, size_t b_step, void* y, size_t count);

typedef struct walk {
  size_t rank, dims[PT_MAX_RANK], a_steps[PT_MAX_RANK], b_steps[PT_MAX_RANK];
  const char *a, *b;
  char* y;
  size_t element;
  row_function row;
} walk;

static void steps_of(const pt_tensor* operand, const pt_tensor* y, size_t* steps) {
  size_t step = 1;
  for (size_t from_end = 0; from_end < y->rank; ++from_end) {
    const size_t dim = y->rank - 1 - from_end;
    const size_t own = from_end < operand->rank ? operand->dims[operand->rank - 1 - from_end] : 1;
    steps[dim] = own == 1 ? 0 : step;
    step *= own;
  }
}

static walk plan_walk(const pt_call* call, size_t element, row_function row) {
  const pt_tensor* y = &call->outputs[0];
  size_t a_steps[PT_MAX_RANK], b_steps[PT_MAX_RANK];
  steps_of(&call->inputs[0], y, a_steps);
  steps_of(&call->inputs[1], y, b_steps);
  walk w = {0, {0}, {0}, {0}, call->inputs[0].data, call->inputs[1].data, y->data, element, row};
  for (size_t dim = 0; dim < y->rank; ++dim) {
    const size_t extent = y->dims[dim];
    if (extent == 1 && y->rank > 1) continue;
    if (w.rank > 0 && w.a_steps[w.rank - 1] == a_steps[dim] * extent &&
        w.b_steps[w.rank - 1] == b_steps[dim] * extent) {
      w.dims[w.rank - 1] *= extent;
      w.a_steps[w.rank - 1] = a_steps[dim];
      w.b_steps[w.rank - 1] = b_steps[dim];
      continue;
    }
    w.dims[w.rank] = extent;
    w.a_steps[w.rank] = a_steps[dim];
    w.b_steps[w.rank++] = b_steps[dim];
  }
  if (w.rank == 0) {
    w.rank = 1;
    w.dims[0] = 1;
  }
  return w;
}

static void walk_elements(void* arg, size_t begin, size_t end) {
  const walk* w = arg;
  const size_t inner = w->dims[w->rank - 1], a_step = w->a_steps[w->rank - 1], b_step = w->b_steps[w->rank - 1];
  while (begin < end) {
    size_t rest = begin / inner, a = begin % inner * a_step, b = begin % inner * b_step;
    for (size_t dim = w->rank - 1; dim-- > 0;) {
      a += rest % w->dims[dim] * w->a_steps[dim];
      b += rest % w->dims[dim] * w->b_steps[dim];
      rest /= w->dims[dim];
    }
    size_t count = inner - begin % inner;
    if (count > end - begin) count = end - begin;
    w->row(w->a + a * w->element, a_step, w->b + b * w->element, b_step, w->y + begin * w->element, count);
    begin += count;
  }
}

static pt_status run(const pt_call* call, size_t element, row_function row) {
  walk w = plan_walk(call, element, row);
  const size_t count = pt_elements(&call->outputs[0]);
  PT_NAME(pt_parallel)(call, count, count, walk_elements, &w);
  return PT_OK;
}

#if defined(__GNUC__) && !defined(__clang__)
#define PT_IVDEP _Pragma("GCC ivdep")
#else
#define PT_IVDEP
#endif

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
PT_BINARY(add_i64, int64_t, (uint64_t)x + (uint64_t)y)
PT_BINARY(sub_i64, int64_t, (uint64_t)x - (uint64_t)y)
PT_BINARY(mul_i64, int64_t, (uint64_t)x*(uint64_t)y)
PT_BINARY(div_i64, int64_t, y == 0 ? 0 : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y)
PT_BINARY(add_i32, int32_t, (uint32_t)x + (uint32_t)y)
PT_BINARY(sub_i32, int32_t, (uint32_t)x - (uint32_t)y)
PT_BINARY(mul_i32, int32_t, (uint32_t)x*(uint32_t)y)
PT_BINARY(div_i32, int32_t, y == 0 ? 0 : y == -1 ? (int32_t)(0 - (uint32_t)x) : x / y)

/* dY A B -> dY * B * A^(B - 1), where A and B broadcast to dY's shape. */
typedef struct pow_grad_state {
  walk a_and_b;
  const pt_real* dy;
  pt_real* dx;
} pow_grad_state;

static void pow_grad_elements(void* arg, size_t begin, size_t end) {
  const pow_grad_state* state = arg;
  const walk* w = &state->a_and_b;
  for (size_t index = begin; index < end; ++index) {
    size_t rest = index, a = 0, b = 0;
    for (size_t dim = w->rank; dim-- > 0;) {
      a += rest % w->dims[dim] * w->a_steps[dim];
      b += rest % w->dims[dim] * w->b_steps[dim];
      rest /= w->dims[dim];
    }
    const double base = (double)((const pt_real*)(const void*)w->a)[a],
                 exponent = (double)((const pt_real*)(const void*)w->b)[b];
    state->dx[index] = (pt_real)((double)state->dy[index] * exponent * pt_pow(base, exponent - 1));
  }
}

pt_status PT_NAME(pt_pow_grad)(const pt_call* call) {
  pt_call inner = *call;
  inner.inputs = call->inputs + 1;
  pow_grad_state state = {plan_walk(&inner, sizeof(pt_real), NULL), call->inputs[0].data, call->outputs[0].data};
  const size_t count = pt_elements(&call->outputs[0]);
  PT_NAME(pt_parallel)(call, count, count * 16, pow_grad_elements, &state);
  return PT_OK;
}
