#include <string.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/lanes.h"
#include "kernels/portable/parallel.h"

/* Sums over the dimensions of a mask. The reduced elements of an output are numbered row-major and summed in lanes
 * (lanes.h). */
enum { kColumns = 32 };

typedef struct reduction {
  size_t kept_rank, kept[PT_MAX_RANK], kept_steps[PT_MAX_RANK];
  size_t reduced_rank, reduced[PT_MAX_RANK], reduced_steps[PT_MAX_RANK];
  size_t outputs, count; /* count: reduced elements per output */
  const pt_real* x;
  pt_real* y;
  pt_real divisor; /* 0: none */
} reduction;

/* Dimensions that are walked alike are merged. */
static void append(size_t* dims, size_t* steps, size_t* rank, size_t extent, size_t step) {
  if (*rank > 0 && steps[*rank - 1] == extent * step) {
    dims[*rank - 1] *= extent;
    steps[*rank - 1] = step;
    return;
  }
  dims[*rank] = extent;
  steps[(*rank)++] = step;
}

static reduction describe(const pt_call* call) {
  const pt_tensor* x = &call->inputs[0];
  const uint64_t mask = (uint64_t)call->ints[0];
  reduction r;
  memset(&r, 0, sizeof r);
  r.outputs = r.count = 1;
  for (size_t dim = 0; dim < x->rank; ++dim) {
    const size_t extent = x->dims[dim], step = pt_extent(x, dim + 1, x->rank);
    if (mask >> dim & 1) {
      r.count *= extent;
      if (extent != 1) append(r.reduced, r.reduced_steps, &r.reduced_rank, extent, step);
    } else {
      r.outputs *= extent;
      if (extent != 1) append(r.kept, r.kept_steps, &r.kept_rank, extent, step);
    }
  }
  r.x = x->data;
  r.y = call->outputs[0].data;
  return r;
}

static size_t offset_of(size_t index, const size_t* dims, const size_t* steps, size_t rank) {
  size_t offset = 0;
  for (size_t dim = rank; dim-- > 0;) {
    offset += index % dims[dim] * steps[dim];
    index /= dims[dim];
  }
  return offset;
}

static void store(const reduction* r, size_t output, pt_real sum) {
  r->y[output] = r->divisor > 0 ? sum / r->divisor : sum;
}

/* The innermost dimension is reduced: runs of it are contiguous. */
static void sum_rows(void* arg, size_t begin, size_t end) {
  const reduction* r = arg;
  const size_t run = r->reduced_rank > 0 ? r->reduced[r->reduced_rank - 1] : 1;
  const size_t step = r->reduced_rank > 0 ? r->reduced_steps[r->reduced_rank - 1] : 1;
  for (size_t output = begin; output < end; ++output) {
    const pt_real* x = r->x + offset_of(output, r->kept, r->kept_steps, r->kept_rank);
    pt_lanes lanes = {{0}, 0};
    for (size_t first = 0; first < r->count; first += run) {
      const pt_real* from = x + offset_of(first, r->reduced, r->reduced_steps, r->reduced_rank);
      if (step == 1)
        PT_LANES_ADD(lanes, run, from[at]);
      else
        PT_LANES_ADD(lanes, run, from[at * step]);
    }
    store(r, output, pt_lanes_total(&lanes));
  }
}

/* The innermost dimension is kept: neighbouring outputs are summed side by side, each in its own lanes. */
static void sum_columns(void* arg, size_t begin, size_t end) {
  const reduction* r = arg;
  const size_t inner = r->kept[r->kept_rank - 1], blocks = (inner + kColumns - 1) / kColumns;
  for (size_t job = begin; job < end; ++job) {
    const size_t first = job % blocks * kColumns, columns = inner - first < kColumns ? inner - first : kColumns;
    const size_t output = job / blocks * inner + first;
    const pt_real* x = r->x + offset_of(output, r->kept, r->kept_steps, r->kept_rank);
    pt_real sums[PT_LANES][kColumns];
    memset(sums, 0, sizeof sums);
    for (size_t element = 0; element < r->count; ++element) {
      const pt_real* from = x + offset_of(element, r->reduced, r->reduced_steps, r->reduced_rank);
      pt_real* lane = sums[element % PT_LANES];
      for (size_t column = 0; column < columns; ++column) lane[column] += from[column];
    }
    for (size_t column = 0; column < columns; ++column)
      store(r, output + column, pt_lanes_tree(&sums[0][column], kColumns));
  }
}

static pt_status run(const pt_call* call, reduction* r) {
  const size_t work = r->outputs * r->count;
  if (r->outputs == 0) return PT_OK;
  if (r->count > 0 && r->kept_rank > 0 && r->kept_steps[r->kept_rank - 1] == 1 && r->reduced_rank > 0) {
    const size_t inner = r->kept[r->kept_rank - 1];
    PT_NAME(pt_parallel)(call, r->outputs / inner * ((inner + kColumns - 1) / kColumns), work, sum_columns, r);
  } else {
    PT_NAME(pt_parallel)(call, r->outputs, work, sum_rows, r);
  }
  return PT_OK;
}

pt_status PT_NAME(pt_reduce_sum)(const pt_call* call) {
  reduction r = describe(call);
  return run(call, &r);
}
pt_status PT_NAME(pt_reduce_mean)(const pt_call* call) {
  reduction r = describe(call);
  r.divisor = (pt_real)r.count;
  return run(call, &r);
}

/* Y = a * X, X broadcast to Y's shape. */
typedef struct expansion {
  const pt_tensor* y;
  size_t steps[PT_MAX_RANK];
  const pt_real* x;
  pt_real* out;
  pt_real a;
} expansion;

static void expand_rows(void* arg, size_t begin, size_t end) {
  const expansion* e = arg;
  const pt_tensor* y = e->y;
  const size_t inner = y->rank > 0 ? y->dims[y->rank - 1] : 1, step = y->rank > 0 ? e->steps[y->rank - 1] : 0;
  for (size_t row = begin; row < end; ++row) {
    size_t rest = row, from = 0;
    for (size_t dim = y->rank > 0 ? y->rank - 1u : 0; dim-- > 0;) {
      from += rest % y->dims[dim] * e->steps[dim];
      rest /= y->dims[dim];
    }
    pt_real* out = e->out + row * inner;
    for (size_t at = 0; at < inner; ++at) out[at] = e->a * e->x[from + at * step];
  }
}

pt_status PT_NAME(pt_expand)(const pt_call* call) {
  const pt_tensor *x = &call->inputs[0], *y = &call->outputs[0];
  expansion e = {y, {0}, x->data, y->data, (pt_real)call->reals[0]};
  size_t step = 1;
  for (size_t from_end = 0; from_end < y->rank; ++from_end) {
    const size_t own = from_end < x->rank ? x->dims[x->rank - 1 - from_end] : 1;
    e.steps[y->rank - 1 - from_end] = own == 1 ? 0 : step;
    step *= own;
  }
  const size_t count = pt_elements(y), inner = y->rank > 0 ? y->dims[y->rank - 1] : 1;
  if (count > 0) PT_NAME(pt_parallel)(call, count / inner, count, expand_rows, &e);
  return PT_OK;
}
