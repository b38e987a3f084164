/* The outputs of a plan on a board: in place of an emitted project's main.c, with the samples that run.py writes beside the board. Prints "output K" and the bytes of a row in
 * hexadecimal digits, sample by sample, and at its end the stack. */
#include <string.h>

#include "board.h"
#include "given.h"
#include "model.h"
#include "print.h"

static pt_trainer trainer;

/* Row `which` of the model's batch is the input that as many rows before it are read by a prediction. */
static pt_status row(void* context, uint32_t which, uint32_t sample, void* data) {
  const pt_batch_tensor* rows = pt_model_description.rows;
  uint32_t at, input = 0;
  (void)context;
  for (at = 0; at < which; ++at)
    if (rows[at].readers & PT_READ_BY_PREDICT) ++input;
  memcpy(data, given[input] + (size_t)sample * rows[which].row_bytes, rows[which].row_bytes);
  return PT_OK;
}

static void print_row(uint32_t output, const uint8_t* data) {
  const uint32_t bytes = pt_model_description.outputs[output].row_bytes;
  char text[129];
  uint32_t at, length = 0;
  print_text("output ");
  print_number(output);
  print_text(" ");
  for (at = 0; at < bytes; ++at) {
    text[length++] = "0123456789abcdef"[data[at] >> 4];
    text[length++] = "0123456789abcdef"[data[at] & 15];
    if (length < sizeof text - 1 && at + 1 < bytes) continue;
    text[length] = 0;
    print_text(text);
    length = 0;
  }
  print_text("\n");
}

static pt_status predict(void) {
  const pt_samples samples = {NULL, GIVEN_SAMPLES, 1, row};
  const pt_model* model = &pt_model_description;
  uint32_t sample, output;
  for (sample = 0; sample < samples.count; ++sample) {
    const uint32_t at = sample % model->batch;
    const pt_status status = at > 0 ? PT_OK : pt_trainer_predict(&trainer, &samples, sample);
    if (status != PT_OK) return status;
    for (output = 0; output < model->output_count; ++output)
      print_row(output, (const uint8_t*)pt_trainer_output(&trainer, output, at));
  }
  return PT_OK;
}

int main(void) {
  pt_blocks blocks;
  pt_status status = PT_OK;
  if (PT_MODEL_STORAGE) status = board_storage(&blocks);
  if (status == PT_OK)
    status = pt_trainer_open(&trainer, &pt_model_description, &pt_model_memory, PT_MODEL_STORAGE ? &blocks : NULL);
  if (status == PT_OK) status = predict();
  if (status == PT_OK) print_usage(&trainer);
  return (int)status;
}
