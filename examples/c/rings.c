/* Plans a model of NNTrainer's form (rings.ini), trains it, and predicts: all in one C program.
 *
 *   rings MODEL RAM [ONNX]
 *
 * RAM is what a step may take, as "12KiB". The trained model is written as ONNX where a file is named. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "pantoum/compile.h"

enum { BATCH = 32, TEST = 512, STEPS = 600 };

static double draw(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 40) / 16777216.0;
}

/* Points, and probabilities of the two classes: 1 and 0, or 0 and 1. */
static void draw_points(float (*points)[2], float (*classes)[2], size_t count, uint64_t* state) {
  for (size_t point = 0; point < count; ++point) {
    const int outside = draw(state) < 0.5;
    const double radius = outside ? 0.8 + 0.2 * draw(state) : 0.5 * draw(state);
    const double angle = 6.283185307179586 * draw(state);
    points[point][0] = (float)(radius * cos(angle));
    points[point][1] = (float)(radius * sin(angle));
    classes[point][0] = outside ? 0.0F : 1.0F;
    classes[point][1] = outside ? 1.0F : 0.0F;
  }
}

static int open_trainer(pt_compiler* compiler, const char* ram, pt_trainer** trainer) {
  pt_compiled plan = {.size = sizeof plan};
  int status = pt_compile_set(compiler, "ram", ram);
  if (status == 0) status = pt_compile_set(compiler, "effort", "20"); /* a short search: the step is small */
  if (status == 0) status = pt_compile_plan(compiler, &plan);
  if (status == 0)
    printf("a step takes %llu bytes of RAM; without a plan it would take %llu\n", (unsigned long long)plan.arena_bytes,
           (unsigned long long)plan.unplanned_bytes);
  if (status == 0) status = pt_compile_train(compiler, trainer, NULL);
  if (status != 0) fputs(pt_compile_last_error(compiler)->text, stderr);
  return status;
}

static int train(pt_trainer* trainer, uint64_t* state) {
  float points[BATCH][2], classes[BATCH][2];
  int status = 0;
  for (int step = 1; step <= STEPS && status == 0; ++step) {
    draw_points(points, classes, BATCH, state);
    const pt_train_data data[] = {{points, sizeof points}, {classes, sizeof classes}};
    pt_train_result result = {.size = sizeof result};
    status = pt_train_step(trainer, data, 2, &result);
    if (status == 0 && step % 200 == 0) printf("step %d  loss %.4f\n", step, result.loss);
  }
  return status;
}

/* Of points that were not trained on. */
static int predict(pt_trainer* trainer, uint64_t* state) {
  static float points[TEST][2], classes[TEST][2], found[TEST][2];
  draw_points(points, classes, TEST, state);
  const pt_train_data data = {points, sizeof points};
  const pt_train_room room = {found, sizeof found};
  const int status = pt_train_predict(trainer, &data, 1, TEST, &room, 1);
  if (status != 0) return status;
  int right = 0;
  for (int point = 0; point < TEST; ++point)
    right += (found[point][0] > found[point][1]) == (classes[point][0] > classes[point][1]);
  printf("%.1f%% of %d points are classified correctly\n", 100.0 * right / TEST, (int)TEST);
  return 0;
}

int main(int count, char** words) {
  if (count < 3) {
    fputs("usage: rings MODEL RAM [ONNX]\n", stderr);
    return 2;
  }
  pt_compiler* compiler = NULL;
  pt_trainer* trainer = NULL;
  uint64_t state = 1;
  int status = pt_compile_open(&compiler, words[1]);
  if (status != 0) fputs(pt_compile_last_error(compiler)->text, stderr);
  if (status == 0) status = open_trainer(compiler, words[2], &trainer);
  if (trainer != NULL) {
    if (status == 0) status = train(trainer, &state);
    if (status == 0) status = predict(trainer, &state);
    if (status == 0) status = pt_train_save(trainer, "rings.safetensors");
    if (status != 0) fputs(pt_train_last_error(trainer)->text, stderr);
  }
  if (status == 0 && count > 3) {
    status = pt_compile_export(compiler, "rings.safetensors", words[3]);
    if (status != 0) fputs(pt_compile_last_error(compiler)->text, stderr);
  }
  pt_train_close(trainer);
  pt_compile_close(compiler);
  return status == 0 ? 0 : 1;
}
