#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/philox.h"

/* Element e is kept when word e % 4 of Philox(counter = (e / 4 low, e / 4 high, op key, step), key = seed) is at or
 * above p 2^32; what is kept is divided by 1 - p. The same counter gives the same mask, so that recomputing and the
 * gradient agree. Y may be X. The call's elements may be some of the whole, from e = pt_call.slice_begin on. */
typedef struct dropout {
  const pt_real* x;
  pt_real *y, scale;
  size_t first, count; /* elements */
  uint32_t threshold, op_key, step, key[2];
} dropout;

static void drop_groups(void* arg, size_t begin, size_t end) {
  const dropout* d = arg;
  for (size_t index = begin; index < end; ++index) {
    const size_t group = d->first / 4 + index;
    const uint32_t counter[4] = {(uint32_t)group, (uint32_t)((uint64_t)group >> 32), d->op_key, d->step};
    uint32_t words[4];
    pt_philox(counter, d->key, words);
    for (size_t word = 0; word < 4; ++word) {
      const size_t at = group * 4 + word - d->first;
      if (group * 4 + word < d->first || at >= d->count) continue;
      d->y[at] = words[word] >= d->threshold ? d->x[at] * d->scale : 0;
    }
  }
}

pt_status PT_NAME(pt_dropout)(const pt_call* call) {
  const double p = call->reals[0], threshold = p * 4294967296.0;
  dropout d = {call->inputs[0].data,
               call->outputs[0].data,
               0,
               call->slice_begin,
               pt_elements(&call->outputs[0]),
               0,
               (uint32_t)call->ints[0],
               0,
               {0, 0}};
  if (p >= 1) {
    for (size_t at = 0; at < d.count; ++at) d.y[at] = 0;
    return PT_OK;
  }
  d.scale = (pt_real)(1 / (1 - p));
  d.threshold = threshold > 0 ? (uint32_t)threshold : 0;
  d.step = (uint32_t)call->scalars->step;
  d.key[0] = (uint32_t)call->scalars->seed;
  d.key[1] = (uint32_t)(call->scalars->seed >> 32);
  return PT_NAME(pt_parallel)(call, (d.first % 4 + d.count + 3) / 4, d.count * 8, drop_groups, &d);
}
