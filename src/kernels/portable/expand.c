#include <string.h>

#include "kernels/portable/broadcast.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"

/* Y = a * X, X broadcast to Y's shape; other types than floating point are copied. */
typedef struct expansion {
  pt_broadcast shape;
  const char* x;
  char* y;
  size_t element;
  pt_real a;
} expansion;

static void expand_elements(void* arg, size_t begin, size_t end) {
  const expansion* e = arg;
  const size_t step = pt_broadcast_step(&e->shape, 0);
  pt_real* y = (pt_real*)(void*)e->y;
  while (begin < end) {
    size_t at, count = pt_broadcast_seek(&e->shape, begin, end, &at);
    const pt_real* x = (const pt_real*)(const void*)e->x + at;
    for (size_t i = 0; i < count; ++i) y[begin + i] = e->a * x[i * step];
    begin += count;
  }
}

static void copy_elements(void* arg, size_t begin, size_t end) {
  const expansion* e = arg;
  const size_t step = pt_broadcast_step(&e->shape, 0) * e->element;
  while (begin < end) {
    size_t at, count = pt_broadcast_seek(&e->shape, begin, end, &at);
    for (size_t i = 0; i < count; ++i)
      memcpy(e->y + (begin + i) * e->element, e->x + at * e->element + i * step, e->element);
    begin += count;
  }
}

static pt_status run(const pt_call* call, pt_body body) {
  const pt_tensor* y = &call->outputs[0];
  expansion e = {pt_broadcast_of(call->inputs, 1, y), call->inputs[0].data, y->data, pt_element_size(y->dtype),
                 (pt_real)call->reals[0]};
  return pt_by_element(call, 1, body, &e);
}

pt_status PT_NAME(pt_expand)(const pt_call* call) {
  return run(call, expand_elements);
}
pt_status PT_NAME(pt_expand_copy)(const pt_call* call) {
  return run(call, copy_elements);
}
