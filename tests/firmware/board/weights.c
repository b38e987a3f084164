/* In place of a project's main.c: prints the bits of every loss, and writes all parameters and state to the file "weights": a line "TENSOR BYTES" for
 * each, and its bytes. SPOIL=n in the environment: before that, n trainings get a label
 * and an input that no kernel takes; each is begun again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "model.h"
#include "print.h"
#include "runtime/plan_bytes.h"

#ifndef STEPS
#define STEPS 12
#endif

static pt_trainer trainer;
static pt_samples good;

static pt_status spoilt_row(void* context, uint32_t which, uint32_t sample, void* data) {
  const pt_status status = good.row(context, which, sample, data);
  const float huge = 1e6f;
  const int64_t label = 1000;
  if (which == 0) memcpy(data, &huge, sizeof huge);
  if (which == 1) memcpy(data, &label, sizeof label);
  return status;
}

static pt_status open(void) {
  pt_blocks blocks;
  pt_status status = PT_OK;
  if (PT_MODEL_STORAGE) status = board_storage(&blocks);
  return status != PT_OK
             ? status
             : pt_trainer_open(&trainer, &pt_model_description, &pt_model_memory, PT_MODEL_STORAGE ? &blocks : NULL);
}

static pt_status write_weights(void) {
  FILE* file = fopen("weights", "wb");
  uint32_t tensor;
  pt_status status = file == NULL ? PT_E_IO : PT_OK;
  for (tensor = 0; tensor < trainer.plan.tensor_count && status == PT_OK; ++tensor) {
    static uint8_t bytes[1 << 20];
    pt_tensor_info info;
    if (pt_tensor_pair(&trainer.plan, tensor) == PT_NOWHERE || pt_is_successor(&trainer.plan, tensor)) continue;
    status = pt_plan_tensor_info(&trainer.plan, tensor, &info);
    if (status == PT_OK && info.payload > sizeof bytes) status = PT_E_FULL;
    if (status == PT_OK)
      status = pt_session_read(trainer.session, tensor, 0, bytes, (size_t)info.payload, trainer.journal.buffer,
                               PT_BLOCK_BYTES);
    if (status == PT_OK) fprintf(file, "%lu %lu\n", (unsigned long)tensor, (unsigned long)info.payload);
    if (status == PT_OK && fwrite(bytes, 1, (size_t)info.payload, file) != info.payload) status = PT_E_IO;
  }
  if (file != NULL) fclose(file);
  return status;
}

int main(void) {
  pt_samples spoilt;
  float loss = 0;
  const char* text = getenv("SPOIL");
  const int runs = text != NULL ? atoi(text) : 0;
  int run;
  pt_status status = PT_OK;
  good = pt_samples_of(&pt_model_training);
  spoilt = good;
  spoilt.row = spoilt_row;
  for (run = 1; run <= runs && status == PT_OK; ++run) {
    pt_status failed;
    status = open();
    if (status == PT_OK) status = pt_trainer_step(&trainer, &good, &loss);
    failed = pt_trainer_step(&trainer, &spoilt, &loss);
    printf("spoilt status %d, then %d\n", (int)failed, (int)pt_trainer_step(&trainer, &good, &loss));
  }
  if (status == PT_OK) status = open();
  while (status == PT_OK && trainer.step < STEPS) {
    uint32_t bits;
    status = pt_trainer_step(&trainer, &good, &loss);
    memcpy(&bits, &loss, sizeof bits);
    if (status == PT_OK) printf("loss %08lx\n", (unsigned long)bits);
    if (status == PT_OK && trainer.blocks != NULL) status = pt_trainer_commit(&trainer);
  }
  if (status == PT_OK) status = write_weights();
  printf("status %d\n", (int)status);
  return (int)status;
}
