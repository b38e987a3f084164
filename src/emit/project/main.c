/* Trains the model on the samples in model/, then classifies samples that it has not seen. This file is yours: take
 * samples from a sensor, stop when you like, use the network (pt_trainer_predict_one) in between. */
#include "board.h"
#include "model.h"
#include "print.h"

#ifndef STEPS
#define STEPS \
  100 /* of the whole training: a run that was cut off goes on, and a schedule falls, until there are so many */
#endif
#ifndef TELL_EVERY
#define TELL_EVERY ((STEPS + 19) / 20) /* a loss is printed about twenty times in a run */
#endif
#ifndef COMMIT_EVERY
#define COMMIT_EVERY 10 /* where the state lives in RAM; what lives in storage is committed in every step */
#endif

static pt_trainer trainer;

static int stop(const char* what, pt_status status) {
  print_text(what);
  print_text(": status ");
  print_number((uint32_t)status);
  print_text("\n");
  return (int)status;
}

static pt_status train(void) {
  const pt_samples samples = pt_samples_of(&pt_model_training);
  pt_status status = pt_trainer_keep_features(&trainer, &samples); /* where a frozen backbone's are kept: once */
  if (status != PT_OK) return status;
  print_features(&trainer);
  while (trainer.step < STEPS) {
    float loss = 0;
    status = pt_trainer_step(&trainer, &samples, &loss);
    if (status == PT_E_NUMBER) print_step(&trainer, loss);
    if (status != PT_OK) return status;
    if (trainer.blocks != NULL && (trainer.step % COMMIT_EVERY == 0 || trainer.step == STEPS))
      status = pt_trainer_commit(&trainer);
    if (status != PT_OK) return status;
    if (trainer.step % TELL_EVERY == 0 || trainer.step == STEPS) print_step(&trainer, loss);
  }
  return PT_OK;
}

static pt_status test(void) {
  const pt_samples samples = pt_samples_of(&pt_model_test);
  float loss = 0;
  uint32_t right = 0, counted = 0;
  pt_status status;
  if (samples.count < pt_model_description.batch || pt_model_description.eval < 0) return PT_OK;
  status = pt_trainer_evaluate(&trainer, &samples, &loss, &right, &counted);
  if (status == PT_OK) print_evaluation(loss, right, counted);
  return status;
}

/* A classifier's answers for samples that it has not seen: the class of the largest score. */
static uint32_t best_of(const float* scores, uint32_t count) {
  uint32_t best = 0, at;
  for (at = 1; at < count; ++at)
    if (scores[at] > scores[best]) best = at;
  return best;
}

static pt_status classify(void) {
  const pt_samples samples = pt_samples_of(&pt_model_test);
  const pt_model* model = &pt_model_description;
  uint32_t sample, right = 0;
  if (samples.count == 0 || model->classes < 0) return PT_OK;
  for (sample = 0; sample < samples.count; ++sample) {
    const uint32_t output = (uint32_t)model->classes, row = sample % model->batch;
    int64_t label = 0;
    pt_status status = row > 0 ? PT_OK : pt_trainer_predict(&trainer, &samples, sample); /* a batch at a time */
    if (status == PT_OK) status = samples.row(samples.context, model->labels, sample, &label);
    if (status != PT_OK) return status;
    if (best_of((const float*)pt_trainer_output(&trainer, output, row), model->outputs[output].row_bytes / 4) == label)
      ++right;
  }
  print_classified(right, samples.count);
  return PT_OK;
}

int main(void) {
  pt_blocks blocks;
  pt_status status = PT_OK;
  if (PT_MODEL_STORAGE) status = board_storage(&blocks);
  if (status == PT_OK)
    status = pt_trainer_open(&trainer, &pt_model_description, &pt_model_memory, PT_MODEL_STORAGE ? &blocks : NULL);
  if (status != PT_OK) return stop("open", status);
  trainer.steps = STEPS;
  if (trainer.step > 0) print_resumed(&trainer);
  status = train();
  if (status != PT_OK) return stop("train", status);
  status = test();
  if (status != PT_OK) return stop("test", status);
  status = classify();
  if (status != PT_OK) return stop("classify", status);
  status = print_state(&trainer);
  if (status != PT_OK) return stop("state", status);
  print_usage(&trainer);
  return 0;
}
