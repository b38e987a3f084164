#include "kernels/portable/compact.h"
#include "kernels/portable/matmul_shape.h"
#include "kernels/portable/products.h"

pt_status PT_NAME(pt_matmul_compact)(const pt_call* call) {
  const matmul_shape p = matmul_shape_of(call);
  pt_nest nest = {p.m,
                  p.n,
                  {1, 1, p.k},
                  {0, 0, (ptrdiff_t)p.a_k},
                  {0, 0, (ptrdiff_t)p.b_k},
                  (ptrdiff_t)p.a_row,
                  (ptrdiff_t)p.b_column,
                  (ptrdiff_t)p.n,
                  1};
  pt_real* c = call->outputs[0].data;
  for (size_t batch = 0; batch < p.batches; ++batch)
    PT_NAME(pt_nest_run)(&nest, matmul_a(&p, batch), matmul_b(&p, batch), c + batch * p.m * p.n);
  if (call->input_count < 3) return PT_OK;
  const pt_real* bias = call->inputs[2].data;
  for (size_t row = 0; row < p.batches * p.m; ++row)
    for (size_t column = 0; column < p.n; ++column) *c++ += bias[column];
  return PT_OK;
}
