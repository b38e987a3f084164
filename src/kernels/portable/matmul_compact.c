#include "kernels/portable/compact.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/matmul.h"
#include "kernels/portable/parts.h"

static pt_nest nest_of(const matmul_shape* p, size_t rows, size_t columns) {
  return (pt_nest){rows,
                   columns,
                   {1, 1, p->k},
                   {0, 0, (ptrdiff_t)p->a_k},
                   {0, 0, (ptrdiff_t)p->b_k},
                   (ptrdiff_t)p->a_row,
                   (ptrdiff_t)p->b_column,
                   (ptrdiff_t)columns,
                   1,
                   pt_goes_on(p->call)};
}

static void add_bias(pt_real* c, const pt_real* bias, size_t rows, size_t columns) {
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column) *c++ += bias[column];
}

pt_status PT_NAME(pt_matmul_compact)(const pt_call* call) {
  const matmul_shape p = matmul_shape_of(call);
  pt_nest nest = nest_of(&p, p.m, p.n);
  pt_real* c = call->outputs[0].data;
  for (size_t batch = 0; batch < p.batches; ++batch)
    PT_NAME(pt_nest_run)(&nest, matmul_a(&p, batch), matmul_b(&p, batch), c + batch * p.m * p.n);
  if (call->input_count > 2 && !pt_is_unfinished(call)) add_bias(c, call->inputs[2].data, p.batches * p.m, p.n);
  return PT_OK;
}

/* ---- strip by strip ---- */

enum { kColumns = 64, kStrip = 256 };

typedef struct strip {
  size_t rows, columns;
} strip;

static strip strip_of(const matmul_shape* p) {
  strip s = {0, p->n < kColumns ? p->n : kColumns};
  s.rows = kStrip / s.columns / 4 * 4;
  if (s.rows > p->m) s.rows = p->m;
  return s;
}

size_t PT_NAME(pt_matmul_compact_scratch)(const pt_call* call) {
  const matmul_shape p = matmul_shape_of(call);
  const strip s = strip_of(&p);
  return s.rows * s.columns;
}

static void take(const matmul_shape* p, const pt_finish* finish, size_t row, size_t column, strip part) {
  if (part.columns == p->n) {
    finish->take(finish->context, 0, 0, row * p->n, part.rows * p->n, finish->scratch);
    return;
  }
  for (size_t at = 0; at < part.rows; ++at)
    finish->take(finish->context, 0, 0, (row + at) * p->n + column, part.columns, finish->scratch + at * part.columns);
}

static void finish_matrix(const matmul_shape* p, size_t batch, const pt_real* bias, const pt_finish* finish) {
  const strip whole = strip_of(p);
  for (size_t row = 0; row < p->m; row += whole.rows)
    for (size_t column = 0; column < p->n; column += whole.columns) {
      const strip part = {pt_least(whole.rows, p->m - row), pt_least(whole.columns, p->n - column)};
      pt_nest nest = nest_of(p, part.rows, part.columns);
      PT_NAME(pt_nest_run)
      (&nest, matmul_a(p, batch) + row * p->a_row, matmul_b(p, batch) + column * p->b_column, finish->scratch);
      if (bias != NULL) add_bias(finish->scratch, bias + column, part.rows, part.columns);
      take(p, finish, batch * p->m + row, column, part);
    }
}

void PT_NAME(pt_matmul_compact_finish)(const pt_call* call, const pt_finish* finish) {
  const matmul_shape p = matmul_shape_of(call);
  const pt_real* bias = call->input_count > 2 ? call->inputs[2].data : NULL;
  for (size_t batch = 0; batch < p.batches; ++batch) finish_matrix(&p, batch, bias, finish);
}
