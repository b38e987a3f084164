#include <string.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/lanes.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/reduction.h"

/* Sums over the dimensions of a mask. The reduced elements of an output are numbered row-major and summed in lanes
 * (lanes.h). */
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
enum { kColumns = 8 }; /* eight lanes of them are on the stack */
#else
enum { kColumns = 32 };
#endif

static void store(const reduction* r, size_t output, pt_real sum) {
  r->y[output] = r->divisor > 0 ? sum / r->divisor : sum;
}

/* The innermost dimension is reduced: runs of it are contiguous. */
static void sum_rows(void* arg, size_t begin, size_t end) {
  const reduction* r = arg;
  const size_t run = r->reduced_rank > 0 ? r->reduced[r->reduced_rank - 1] : 1;
  const size_t step = r->reduced_rank > 0 ? r->reduced_steps[r->reduced_rank - 1] : 1;
  for (size_t output = begin; output < end; ++output) {
    const pt_real* x = r->x + pt_reduction_at(output, r->kept, r->kept_steps, r->kept_rank);
    pt_lanes lanes = {{0}, 0};
    for (size_t first = 0; first < r->count; first += run) {
      const pt_real* from = x + pt_reduction_at(first, r->reduced, r->reduced_steps, r->reduced_rank);
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
    const pt_real* x = r->x + pt_reduction_at(output, r->kept, r->kept_steps, r->kept_rank);
    pt_real sums[PT_LANES][kColumns];
    memset(sums, 0, sizeof sums);
    for (size_t element = 0; element < r->count; ++element) {
      const pt_real* from = x + pt_reduction_at(element, r->reduced, r->reduced_steps, r->reduced_rank);
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
  reduction r = pt_reduction_of(&call->inputs[0], call->ints[0]);
  r.y = call->outputs[0].data;
  return run(call, &r);
}
pt_status PT_NAME(pt_reduce_mean)(const pt_call* call) {
  reduction r = pt_reduction_of(&call->inputs[0], call->ints[0]);
  r.y = call->outputs[0].data;
  r.divisor = (pt_real)r.count;
  return run(call, &r);
}
