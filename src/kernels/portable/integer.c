#include "kernels/portable/broadcast.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/pt_integer.h"

/* i64, i32, u8 and bool, element by element with numpy's broadcasting: in 64 bits, of which the type keeps the low ones
 * (sums and products wrap). Y may be either input of its size. */
typedef struct integers {
  pt_broadcast shape;
  const char *a, *b;
  char* y;
  size_t element;
  uint8_t dtype;
} integers;

#define PT_INTEGER_LOOP(type, expression)                                                                \
  do {                                                                                                   \
    const type *a = (const type*)(const void*)w->a + at[0], *b = (const type*)(const void*)w->b + at[1]; \
    type* out = (type*)(void*)w->y + begin;                                                              \
    enum { bits = 8 * sizeof(type) };                                                                    \
    for (size_t i = 0; i < count; ++i) {                                                                 \
      const int64_t x = (int64_t)a[i * a_step], y = (int64_t)b[i * b_step];                              \
      (void)bits;                                                                                        \
      out[i] = (type)(expression);                                                                       \
    }                                                                                                    \
  } while (0)

/* One function for all types: `expression` of the int64s x and y. */
#define PT_INTEGER(name, expression)                                                                 \
  static void name##_elements(void* arg, size_t begin, size_t end) {                                 \
    const integers* w = arg;                                                                         \
    const size_t a_step = pt_broadcast_step(&w->shape, 0), b_step = pt_broadcast_step(&w->shape, 1); \
    while (begin < end) {                                                                            \
      size_t at[2], count = pt_broadcast_seek(&w->shape, begin, end, at);                            \
      if (w->dtype == PT_I64)                                                                        \
        PT_INTEGER_LOOP(int64_t, expression);                                                        \
      else if (w->dtype == PT_I32)                                                                   \
        PT_INTEGER_LOOP(int32_t, expression);                                                        \
      else                                                                                           \
        PT_INTEGER_LOOP(uint8_t, expression);                                                        \
      begin += count;                                                                                \
    }                                                                                                \
  }

static pt_status run(const pt_call* call, pt_body body) {
  const pt_tensor* y = &call->outputs[0];
  integers w = {pt_broadcast_of(call->inputs, 2, y),
                call->inputs[0].data,
                call->inputs[1].data,
                y->data,
                pt_element_size(y->dtype),
                y->dtype};
  return pt_by_element(call, 1, body, &w);
}

PT_INTEGER(add, pt_whole_add(x, y))
PT_INTEGER(sub, pt_whole_sub(x, y))
PT_INTEGER(mul, pt_whole_mul(x, y))
PT_INTEGER(div, pt_whole_div(x, y))
PT_INTEGER(mod, pt_whole_mod(x, y))
PT_INTEGER(fmod, pt_whole_fmod(x, y))
PT_INTEGER(pow, pt_whole_pow(x, y))
PT_INTEGER(maximum, x > y ? x : y)
PT_INTEGER(minimum, x < y ? x : y)
PT_INTEGER(bits_and, x& y)
PT_INTEGER(bits_or, x | y)
PT_INTEGER(bits_xor, x ^ y)
PT_INTEGER(shift_left, pt_whole_shift_left(x, y, bits))
PT_INTEGER(shift_right, pt_whole_shift_right(x, y, bits))

#define PT_INTEGER_KERNEL(name)                               \
  pt_status PT_NAME(pt_integer_##name)(const pt_call* call) { \
    return run(call, name##_elements);                        \
  }
PT_INTEGER_KERNEL(add)
PT_INTEGER_KERNEL(sub)
PT_INTEGER_KERNEL(mul)
PT_INTEGER_KERNEL(div)
PT_INTEGER_KERNEL(pow)
PT_INTEGER_KERNEL(maximum)
PT_INTEGER_KERNEL(minimum)

pt_status PT_NAME(pt_mod)(const pt_call* call) {
  return run(call, call->ints[0] != 0 ? fmod_elements : mod_elements);
}
pt_status PT_NAME(pt_bitwise)(const pt_call* call) {
  static const pt_body bodies[PT_BITWISE_COUNT] = {bits_and_elements, bits_or_elements, bits_xor_elements,
                                                   shift_left_elements, shift_right_elements};
  return run(call, bodies[call->ints[0]]);
}
