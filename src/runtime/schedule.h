/* The learning rate over a training, for the trainer of this machine and for that of a firmware: a function of the step
 * and of how many there are, in doubles of + - * / alone, so that every processor gives the same bits. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PT_DECAY_CONSTANT = 0,
  PT_DECAY_STEP = 1,
  PT_DECAY_MULTI_STEP = 2,
  PT_DECAY_EXPONENTIAL = 3,
  PT_DECAY_COSINE = 4,
  PT_DECAY_LINEAR = 5
};

/* A number of steps, or a share of all of them. */
typedef struct pt_extent {
  double value;
  uint8_t percent; /* 1: value is in percent */
} pt_extent;

/* Warm-up, in which the rate rises in equal parts to the whole one; then a decay that counts its steps from there. */
typedef struct pt_schedule {
  uint8_t decay;    /* PT_DECAY_... */
  pt_extent warmup; /* the rate rises for so long */
  double gamma;     /* step, multi_step, exponential: the factor */
  pt_extent
      every; /* step: so often; cosine: its wave begins again so often; linear: the fall takes so long; 0: all steps */
  const pt_extent* at; /* multi_step: there; at_count of them, the caller's */
  uint32_t at_count;
  double to;           /* cosine, linear: the rate that the last step comes next to */
  const double* rates; /* multi_step: the rate from each of `at` on, the caller's; NULL: gamma times the rate before */
} pt_schedule;

/* The rate of step `step` (0 for the first) of `total`, where the whole rate is `lr`. */
double pt_rate_at(const pt_schedule* schedule, double lr, uint64_t step, uint64_t total);

#ifdef __cplusplus
}
#endif
