/* One step on zeros, through pantoum/train.h alone: use_train PLAN WEIGHTS prints its loss and the kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pantoum/train.h>

int main(int count, char** words) {
  pt_trainer* trainer = NULL;
  int status = count == 3 ? pt_train_open(&trainer, words[1], words[2], NULL) : -1;
  pt_train_data data[2];
  for (int kind = PT_TRAIN_INPUT; status == 0 && kind <= PT_TRAIN_LABEL; ++kind) {
    pt_train_tensor tensor = {.size = sizeof tensor};
    status = pt_train_tensor_at(trainer, kind, 0, &tensor);
    if (status == 0) data[kind] = (pt_train_data){calloc(1, (size_t)tensor.bytes), (size_t)tensor.bytes};
  }
  pt_train_result result = {.size = sizeof result};
  if (status == 0) status = pt_train_step(trainer, data, 2, &result);
  pt_train_usage usage = {.size = sizeof usage};
  if (status == 0) status = pt_train_get_usage(trainer, &usage);
  if (status == 0)
    printf("%.6f %s\n", result.loss, usage.kernels);
  else
    fputs(pt_train_last_error(trainer)->text, stderr);
  pt_train_close(trainer);
  return status != 0 || strcmp(pt_train_version(), "") == 0;
}
