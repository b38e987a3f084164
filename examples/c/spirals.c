/* Trains a classifier of three spirals in the plane from a plan file, and tells how well it does on points that it has
 * not seen.
 *
 *   spirals PLAN WEIGHTS [STEPS [OUTPUT]]
 *
 * The plan says how much RAM a step takes; this program adds its own batch and test points to that. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "pantoum/train.h"

enum { CLASSES = 3, MOST_BATCH = 1024, TEST_POINTS = 600 };

typedef struct points {
  float at[MOST_BATCH][2];
  int64_t label[MOST_BATCH];
} points;

/* A number in [0, 1): the same on every machine. */
static double draw(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 40) / 16777216.0;
}

static void draw_points(points* into, size_t count, uint64_t* state) {
  for (size_t point = 0; point < count; ++point) {
    const int64_t label = (int64_t)(draw(state) * CLASSES);
    const double radius = draw(state), noise = 0.1 * (draw(state) - 0.5);
    const double angle = 4.0 * radius + 6.283185307179586 * (double)label / CLASSES + noise;
    into->at[point][0] = (float)(radius * cos(angle));
    into->at[point][1] = (float)(radius * sin(angle));
    into->label[point] = label;
  }
}

/* What the plan was made for: a batch of at most MOST_BATCH points and their classes. */
static int read_batch(pt_trainer* trainer, size_t* batch) {
  pt_train_tensor input = {.size = sizeof input};
  const int status = pt_train_tensor_at(trainer, PT_TRAIN_INPUT, 0, &input);
  if (status != 0) return status;
  if (input.rank != 2 || input.dims[1] != 2 || input.dtype != PT_F32 || input.dims[0] > MOST_BATCH) {
    fprintf(stderr, "the plan is not one of points in the plane, or its batch is above %d\n", (int)MOST_BATCH);
    return -1;
  }
  *batch = (size_t)input.dims[0];
  return 0;
}

static int train(pt_trainer* trainer, size_t batch, uint64_t steps) {
  static points drawn;
  uint64_t state = 1;
  for (uint64_t step = 1; step <= steps; ++step) {
    draw_points(&drawn, batch, &state);
    const pt_train_data data[] = {{drawn.at, batch * sizeof drawn.at[0]}, {drawn.label, batch * sizeof drawn.label[0]}};
    pt_train_result result = {.size = sizeof result};
    const int status = pt_train_step(trainer, data, 2, &result);
    if (status != 0) return status;
    if (step % 500 == 0) printf("step %llu  loss %.4f\n", (unsigned long long)result.step, result.loss);
  }
  return 0;
}

static int test(pt_trainer* trainer) {
  static points unseen;
  uint64_t state = 99;
  draw_points(&unseen, TEST_POINTS, &state);
  const pt_train_data data[] = {{unseen.at, TEST_POINTS * sizeof unseen.at[0]},
                                {unseen.label, TEST_POINTS * sizeof unseen.label[0]}};
  pt_train_evaluation found = {.size = sizeof found};
  pt_train_usage usage = {.size = sizeof usage};
  int status = pt_train_evaluate(trainer, data, 2, TEST_POINTS, &found);
  if (status == 0) status = pt_train_get_usage(trainer, &usage);
  if (status == 0)
    printf("accuracy %.3f on %llu unseen points; an arena of %llu bytes\n", found.accuracy,
           (unsigned long long)found.samples, (unsigned long long)usage.arena_bytes);
  return status;
}

int main(int count, char** words) {
  if (count < 3) {
    fprintf(stderr, "usage: spirals PLAN WEIGHTS [STEPS [OUTPUT]]\n");
    return 2;
  }
  const pt_train_options options = {.size = sizeof options, .learning_rate = 0.05, .threads = 1};
  pt_trainer* trainer = NULL;
  size_t batch = 0;
  int status = pt_train_open(&trainer, words[1], words[2], &options);
  if (status == 0) status = read_batch(trainer, &batch);
  if (status == 0) status = train(trainer, batch, count > 3 ? strtoull(words[3], NULL, 10) : 3000);
  if (status == 0) status = test(trainer);
  if (status == 0 && count > 4) status = pt_train_save(trainer, words[4]);
  if (status > 0) fputs(pt_train_last_error(trainer)->text, stderr);
  pt_train_close(trainer);
  return status == 0 ? 0 : 1;
}
