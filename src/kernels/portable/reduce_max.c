#include "kernels/portable/kernels.h"
#include "kernels/portable/reduction.h"

/* Maxima over the dimensions of a mask (NaN wins). The gradient is shared evenly by all elements that equal their
 * maximum. */
typedef struct maxima {
  reduction r;
  const pt_real *dy, *y;
  pt_real* out;
} maxima;

static const pt_real* first_of(const maxima* m, size_t output) {
  return m->r.x + pt_reduction_at(output, m->r.kept, m->r.kept_steps, m->r.kept_rank);
}
static size_t element_of(const maxima* m, size_t element) {
  return pt_reduction_at(element, m->r.reduced, m->r.reduced_steps, m->r.reduced_rank);
}

static void max_outputs(void* arg, size_t begin, size_t end) {
  const maxima* m = arg;
  for (size_t output = begin; output < end; ++output) {
    const pt_real* x = first_of(m, output);
    pt_real most = x[0];
    for (size_t element = 1; element < m->r.count; ++element) {
      const pt_real value = x[element_of(m, element)];
      if (value > most || value != value) most = value;
    }
    m->out[output] = most;
  }
}

static void max_grad_outputs(void* arg, size_t begin, size_t end) {
  const maxima* m = arg;
  for (size_t output = begin; output < end; ++output) {
    const pt_real *x = first_of(m, output), most = m->y[output];
    pt_real* dx = m->out + (x - m->r.x);
    size_t winners = 0;
    for (size_t element = 0; element < m->r.count; ++element) winners += x[element_of(m, element)] == most;
    const pt_real share = winners > 0 ? m->dy[output] / (pt_real)winners : 0;
    for (size_t element = 0; element < m->r.count; ++element) {
      const size_t at = element_of(m, element);
      dx[at] = x[at] == most ? share : 0;
    }
  }
}

pt_status PT_NAME(pt_reduce_max)(const pt_call* call) {
  maxima m = {pt_reduction_of(&call->inputs[0], call->ints[0]), NULL, NULL, call->outputs[0].data};
  return PT_NAME(pt_parallel)(call, m.r.outputs, m.r.outputs * m.r.count * 2, max_outputs, &m);
}
pt_status PT_NAME(pt_reduce_max_grad)(const pt_call* call) {
  maxima m = {pt_reduction_of(&call->inputs[1], call->ints[0]), call->inputs[0].data, call->inputs[2].data,
              call->outputs[0].data};
  return PT_NAME(pt_parallel)(call, m.r.outputs, m.r.outputs * m.r.count * 4, max_grad_outputs, &m);
}
