#include "runtime/schedule.h"

#include <stddef.h>

static double steps_of(const pt_extent* extent, uint64_t total) {
  return extent->percent ? extent->value / 100 * (double)total : extent->value;
}

static double power(double base, uint64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

/* cos(pi t / 2) for t from 0 to 1, by the Taylor series nearest to it. */
static double quarter_wave(double t) {
  const double half_pi = 1.5707963267948966;
  const int falls = t > 0.5;
  const double x = (falls ? 1 - t : t) * half_pi, z = -x * x;
  double sum = 0; /* of z^n / (2n)!, or / (2n + 1)! */
  int n;
  for (n = 10; n >= 1; --n) {
    const double even = 2.0 * n, odd = even + 1;
    sum = (sum + 1) * z / (falls ? even * odd : even * (even - 1));
  }
  return falls ? x * (1 + sum) : 1 + sum;
}

/* How many of the steps `at` have been passed. */
static uint64_t passed(const pt_schedule* schedule, uint64_t step, uint64_t total) {
  uint64_t count = 0;
  uint32_t at;
  for (at = 0; at < schedule->at_count; ++at) count += (double)step >= steps_of(&schedule->at[at], total);
  return count;
}

static double rate_between(const pt_schedule* schedule, double lr, uint64_t count) {
  if (schedule->rates == NULL) return lr * power(schedule->gamma, count);
  return count == 0 ? lr : schedule->rates[count - 1];
}

static double stairs(const pt_schedule* schedule, double done, uint64_t total) {
  const double every = steps_of(&schedule->every, total);
  return power(schedule->gamma, (uint64_t)(done / (every > 1 ? every : 1)));
}

static double share_of(uint64_t step, uint64_t steps) {
  return steps == 0 ? 0 : step < steps ? (double)step / (double)steps : 1;
}

/* The rate of a decay, whose steps are counted from its own start. */
static double decayed(const pt_schedule* schedule, double lr, uint64_t step, uint64_t total) {
  const uint64_t period = schedule->every.value > 0 ? (uint64_t)steps_of(&schedule->every, total) : total;
  double wave;
  switch (schedule->decay) {
    case PT_DECAY_STEP:
      return lr * stairs(schedule, (double)step, total);
    case PT_DECAY_MULTI_STEP:
      return rate_between(schedule, lr, passed(schedule, step, total));
    case PT_DECAY_EXPONENTIAL:
      return lr * power(schedule->gamma, step);
    case PT_DECAY_COSINE:
      wave = quarter_wave(share_of(schedule->every.value > 0 && period > 0 ? step % period : step, period));
      return schedule->to + (lr - schedule->to) * (wave * wave); /* (1 + cos(pi t)) / 2 */
    case PT_DECAY_LINEAR:
      return lr + (schedule->to - lr) * share_of(step, period);
    default:
      return lr;
  }
}

double pt_rate_at(const pt_schedule* schedule, double lr, uint64_t step, uint64_t total) {
  const uint64_t warmup = (uint64_t)steps_of(&schedule->warmup, total);
  if (step < warmup) return lr * ((double)(step + 1) / (double)warmup);
  return decayed(schedule, lr, step - warmup, total > warmup ? total - warmup : 0);
}
