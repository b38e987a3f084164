#include <stdint.h>

#include "kernels/portable/broadcast.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"

/* compare, where, maximum_grad: element by element with numpy's broadcasting. An output may be written over an input of
 * its type and size. */
typedef struct choice {
  pt_broadcast shape;
  const char* from[PT_BROADCAST_OPERANDS];
  char* y;
  size_t element;
  int64_t relation;
  uint8_t dtype; /* element type of the operands */
} choice;

static choice describe(const pt_call* call, size_t element) {
  choice c = {
      pt_broadcast_of(call->inputs, call->input_count, &call->outputs[0]), {0}, call->outputs[0].data, element, 0, 0};
  for (size_t operand = 0; operand < call->input_count; ++operand) c.from[operand] = call->inputs[operand].data;
  return c;
}

static pt_status run(const pt_call* call, choice* c, pt_body body) {
  return pt_by_element(call, 1, body, c);
}

/* ---- where ---- */

#define PT_WHERE_ROW(type)                                                                                           \
  do {                                                                                                               \
    const type *a = (const type*)(const void*)c->from[1] + at[1], *b = (const type*)(const void*)c->from[2] + at[2]; \
    type* y = (type*)(void*)c->y + begin;                                                                            \
    for (size_t i = 0; i < count; ++i) y[i] = test[i * steps[0]] ? a[i * steps[1]] : b[i * steps[2]];                \
  } while (0)

static void where_elements(void* arg, size_t begin, size_t end) {
  const choice* c = arg;
  size_t steps[3];
  for (size_t operand = 0; operand < 3; ++operand) steps[operand] = pt_broadcast_step(&c->shape, operand);
  while (begin < end) {
    size_t at[3], count = pt_broadcast_seek(&c->shape, begin, end, at);
    const uint8_t* test = (const uint8_t*)c->from[0] + at[0];
    if (c->element == 8)
      PT_WHERE_ROW(uint64_t);
    else if (c->element == 4)
      PT_WHERE_ROW(uint32_t);
    else
      PT_WHERE_ROW(uint8_t);
    begin += count;
  }
}

pt_status PT_NAME(pt_where)(const pt_call* call) {
  choice c = describe(call, pt_element_size(call->outputs[0].dtype));
  return run(call, &c, where_elements);
}

/* ---- compare ---- */

#define PT_COMPARE_CASE(relation, expression)                                                 \
  case relation:                                                                              \
    for (size_t i = 0; i < count; ++i, a += a_step, b += b_step) *y++ = (expression) ? 1 : 0; \
    break;

#define PT_COMPARE_ROW(type)                                                                                           \
  static void compare_##type(int64_t relation, const type* a, size_t a_step, const type* b, size_t b_step, uint8_t* y, \
                             size_t count) {                                                                           \
    switch (relation) {                                                                                                \
      PT_COMPARE_CASE(PT_COMPARE_EQUAL, *a == *b)                                                                      \
      PT_COMPARE_CASE(PT_COMPARE_LESS, *a < *b)                                                                        \
      PT_COMPARE_CASE(PT_COMPARE_LESS_EQUAL, *a <= *b)                                                                 \
      PT_COMPARE_CASE(PT_COMPARE_GREATER, *a > *b)                                                                     \
      PT_COMPARE_CASE(PT_COMPARE_GREATER_EQUAL, *a >= *b)                                                              \
      PT_COMPARE_CASE(PT_COMPARE_AND, *a != 0 && *b != 0)                                                              \
      PT_COMPARE_CASE(PT_COMPARE_OR, *a != 0 || *b != 0)                                                               \
      default:                                                                                                         \
        PT_COMPARE_CASE(PT_COMPARE_XOR, (*a != 0) != (*b != 0))                                                        \
    }                                                                                                                  \
  }
PT_COMPARE_ROW(float)
PT_COMPARE_ROW(double)
PT_COMPARE_ROW(int64_t)
PT_COMPARE_ROW(int32_t)
PT_COMPARE_ROW(uint8_t)

static void compare_elements(void* arg, size_t begin, size_t end) {
  const choice* c = arg;
  const size_t a_step = pt_broadcast_step(&c->shape, 0), b_step = pt_broadcast_step(&c->shape, 1);
  while (begin < end) {
    size_t at[2], count = pt_broadcast_seek(&c->shape, begin, end, at);
    const void *a = c->from[0] + at[0] * c->element, *b = c->from[1] + at[1] * c->element;
    uint8_t* y = (uint8_t*)c->y + begin;
    switch (c->dtype) {
      case PT_F32:
        compare_float(c->relation, a, a_step, b, b_step, y, count);
        break;
      case PT_F64:
        compare_double(c->relation, a, a_step, b, b_step, y, count);
        break;
      case PT_I64:
        compare_int64_t(c->relation, a, a_step, b, b_step, y, count);
        break;
      case PT_I32:
        compare_int32_t(c->relation, a, a_step, b, b_step, y, count);
        break;
      default:
        compare_uint8_t(c->relation, a, a_step, b, b_step, y, count);
    }
    begin += count;
  }
}

pt_status PT_NAME(pt_compare)(const pt_call* call) {
  choice c = describe(call, pt_element_size(call->inputs[0].dtype));
  c.relation = call->ints[0];
  c.dtype = call->inputs[0].dtype;
  return run(call, &c, compare_elements);
}

/* ---- maximum_grad ---- */

static void maximum_grad_elements(void* arg, size_t begin, size_t end) {
  const choice* c = arg;
  const size_t a_step = pt_broadcast_step(&c->shape, 1), b_step = pt_broadcast_step(&c->shape, 2);
  const pt_real* dy = (const pt_real*)(const void*)c->from[0];
  pt_real* y = (pt_real*)(void*)c->y;
  while (begin < end) {
    size_t at[3], count = pt_broadcast_seek(&c->shape, begin, end, at);
    const pt_real *a = (const pt_real*)(const void*)c->from[1] + at[1],
                  *b = (const pt_real*)(const void*)c->from[2] + at[2];
    for (size_t i = 0; i < count; ++i, a += a_step, b += b_step)
      y[begin + i] = *a > *b ? dy[begin + i] : *a == *b ? dy[begin + i] / 2 : 0;
    begin += count;
  }
}

pt_status PT_NAME(pt_maximum_grad)(const pt_call* call) {
  choice c = describe(call, sizeof(pt_real));
  return run(call, &c, maximum_grad_elements);
}
