/* A board that classifies after it has trained: in place of a project's main.c. Prints the bits of every output, and how many classes are right. */
#include <string.h>

#include "board.h"
#include "model.h"
#include "print.h"

#ifndef STEPS
#define STEPS 12
#endif

static pt_trainer trainer;

static uint32_t best_of(const float* scores, uint32_t count) {
  uint32_t best = 0, at;
  for (at = 1; at < count; ++at)
    if (scores[at] > scores[best]) best = at;
  return best;
}

static pt_status classify(void) {
  static uint8_t input[4096];
  const pt_samples samples = pt_samples_of(&pt_model_test);
  const pt_model* model = &pt_model_description;
  const void* inputs[8] = {input, NULL};
  uint32_t sample, right = 0, equal = 0;
  if (model->output_count != 1 || model->rows[0].row_bytes > sizeof input) return PT_E_ARGUMENT;
  for (sample = 0; sample < samples.count; ++sample) {
    const uint32_t row = sample % model->batch, classes = model->outputs[0].row_bytes / 4;
    const float* scores;
    float kept[64];
    int64_t label = -1;
    uint32_t at;
    /* in the batch that it lies in, then alone */
    pt_status status = pt_trainer_predict(&trainer, &samples, sample - row);
    if (status != PT_OK) return status;
    scores = (const float*)pt_trainer_output(&trainer, 0, row);
    if (scores == NULL || classes > 64) return PT_E_PLAN;
    memcpy(kept, scores, classes * sizeof *kept);
    status = samples.row(samples.context, 0, sample, input);
    if (status == PT_OK) status = pt_trainer_predict_one(&trainer, inputs);
    if (status == PT_OK) status = samples.row(samples.context, 1, sample, &label);
    if (status != PT_OK) return status;
    scores = (const float*)pt_trainer_output(&trainer, 0, 0);
    if (memcmp(kept, scores, classes * sizeof *kept) == 0) ++equal;
    if (best_of(kept, classes) == (uint32_t)label) ++right;
    print_text("scores");
    for (at = 0; at < classes; ++at) {
      uint32_t bits;
      memcpy(&bits, &kept[at], sizeof bits);
      print_text(" ");
      print_number(bits);
    }
    print_text("\n");
  }
  print_text("classified right ");
  print_number(right);
  print_text(" alone as in its batch ");
  print_number(equal);
  print_text(" of ");
  print_number(samples.count);
  print_text("\n");
  return PT_OK;
}

int main(void) {
  const pt_samples samples = pt_samples_of(&pt_model_training), tests = pt_samples_of(&pt_model_test);
  pt_blocks blocks;
  pt_status status = PT_OK;
  float loss = 0;
  uint32_t right = 0, counted = 0;
  if (PT_MODEL_STORAGE) status = board_storage(&blocks);
  if (status == PT_OK)
    status = pt_trainer_open(&trainer, &pt_model_description, &pt_model_memory, PT_MODEL_STORAGE ? &blocks : NULL);
  while (status == PT_OK && trainer.step < STEPS) status = pt_trainer_step(&trainer, &samples, &loss);
  if (status == PT_OK) status = classify();
  if (status == PT_OK) status = pt_trainer_evaluate(&trainer, &tests, &loss, &right, &counted);
  if (status == PT_OK) print_evaluation(loss, right, counted);
  if (status == PT_OK) status = print_state(&trainer);
  print_text("status ");
  print_number((uint32_t)status);
  print_text("\n");
  return (int)status;
}
