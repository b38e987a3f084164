#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/philox.h"
#include "kernels/portable/pt_math.h"

/* Elements 4 g to 4 g + 3 come of the four words of Philox(counter = (g low, g high, op key, step), key = seed), as in
 * dropout.c: the same counter gives the same numbers, however the work is split and however often it is done. The call's elements may be some of the
 * whole, from pt_call.slice_begin on. */
typedef struct draw {
  pt_real* y;
  size_t first, count; /* elements */
  double a, b;
  int normal;
  uint32_t op_key, step, key[2];
} draw;

/* 24 bits, which float32 holds: never 1. Rounding may still lead to b, which does not belong to [a, b). */
static double uniform(const draw* d, uint32_t word) {
  const pt_real value = (pt_real)(d->a + (d->b - d->a) * ((double)(word >> 8) * (1.0 / 16777216.0)));
  return value < (pt_real)d->b ? value : d->a;
}

/* Box and Muller's two numbers of two words; no logarithm of 0. */
static void normal_pair(const draw* d, const uint32_t words[2], double out[2]) {
  const double u = ((double)words[0] + 0.5) * (1.0 / 4294967296.0);
  const double angle = (double)words[1] * (6.283185307179586 / 4294967296.0);
  const double radius = sqrt(-2 * pt_log(u));
  out[0] = d->a + d->b * (radius * pt_cos(angle));
  out[1] = d->a + d->b * (radius * pt_sin(angle));
}

static void draw_groups(void* arg, size_t begin, size_t end) {
  const draw* d = arg;
  for (size_t index = begin; index < end; ++index) {
    const size_t group = d->first / 4 + index;
    const uint32_t counter[4] = {(uint32_t)group, (uint32_t)((uint64_t)group >> 32), d->op_key, d->step};
    uint32_t words[4];
    double made[4];
    pt_philox(counter, d->key, words);
    for (size_t word = 0; word < 4; word += 2) {
      if (d->normal) {
        normal_pair(d, words + word, made + word);
      } else {
        made[word] = uniform(d, words[word]);
        made[word + 1] = uniform(d, words[word + 1]);
      }
    }
    for (size_t word = 0; word < 4; ++word) {
      const size_t at = group * 4 + word - d->first;
      if (group * 4 + word >= d->first && at < d->count) d->y[at] = (pt_real)made[word];
    }
  }
}

pt_status PT_NAME(pt_random)(const pt_call* call) {
  const uint64_t seed = call->scalars->seed;
  draw d = {call->outputs[0].data,
            call->slice_begin,
            pt_elements(&call->outputs[0]),
            call->reals[0],
            call->reals[1],
            call->ints[1] == PT_RANDOM_NORMAL,
            (uint32_t)call->ints[0],
            (uint32_t)call->scalars->step,
            {(uint32_t)seed, (uint32_t)(seed >> 32)}};
  return PT_NAME(pt_parallel)(call, (d.first % 4 + d.count + 3) / 4, d.count * 16, draw_groups, &d);
}
