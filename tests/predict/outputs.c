/* The outputs of a plan in C: outputs PLAN FIRST WEIGHTS SAMPLES FOLDER INPUT...
 * FIRST has the weights that the plan begins with and its constants, WEIGHTS the trained ones. Each INPUT has the samples of one input, one behind the other; FOLDER/K.bin gets output K. Prints the arena's bytes, and what the prediction allocated. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "allocations.h"
#include "pantoum/train.h"

enum { MOST = 16 };

static void* read_whole(const char* path, size_t* bytes) {
  FILE* file = fopen(path, "rb");
  void* data = NULL;
  if (file == NULL) return NULL;
  fseek(file, 0, SEEK_END);
  *bytes = (size_t)ftell(file);
  rewind(file);
  data = malloc(*bytes + 1);
  if (data != NULL && fread(data, 1, *bytes, file) != *bytes) data = NULL;
  fclose(file);
  return data;
}

static int write_whole(const char* folder, size_t number, const pt_train_room* room) {
  char path[4096];
  FILE* file;
  size_t written;
  snprintf(path, sizeof path, "%s/%zu.bin", folder, number);
  file = fopen(path, "wb");
  if (file == NULL) return -1;
  written = fwrite(room->data, 1, room->bytes, file);
  return fclose(file) == 0 && written == room->bytes ? 0 : -1;
}

static int predict(pt_trainer* trainer, char** words, size_t inputs) {
  const uint64_t samples = strtoull(words[0], NULL, 10);
  pt_train_data data[MOST];
  pt_train_room rooms[MOST];
  pt_train_usage usage = {.size = sizeof usage};
  size_t outputs = 0, at;
  int status = pt_train_count(trainer, PT_TRAIN_OUTPUT, &outputs);
  if (status != 0 || outputs > MOST || inputs > MOST) return status != 0 ? status : -1;
  for (at = 0; at < inputs; ++at) {
    data[at].data = read_whole(words[2 + at], &data[at].bytes);
    if (data[at].data == NULL) return -1;
  }
  for (at = 0; at < outputs; ++at) {
    pt_train_tensor output = {.size = sizeof output};
    status = pt_train_tensor_at(trainer, PT_TRAIN_OUTPUT, at, &output);
    if (status != 0) return status;
    rooms[at].bytes = (size_t)(output.bytes / (uint64_t)output.dims[0] * samples);
    rooms[at].data = malloc(rooms[at].bytes);
  }
  counting = 1;
  status = pt_train_predict(trainer, data, inputs, samples, rooms, outputs);
  counting = 0;
  for (at = 0; at < outputs && status == 0; ++at) status = write_whole(words[1], at, &rooms[at]);
  if (status == 0) status = pt_train_get_usage(trainer, &usage);
  if (status == 0) printf("%zu %llu %ld\n", outputs, (unsigned long long)usage.arena_bytes, counted);
  return status;
}

int main(int count, char** words) {
  const pt_train_options options = {.size = sizeof options};
  pt_trainer* trainer = NULL;
  int status;
  if (count < 7) return 2;
  status = pt_train_open(&trainer, words[1], words[2], &options);
  if (status == 0) status = pt_train_load(trainer, words[3]);
  if (status == 0) status = predict(trainer, words + 4, (size_t)count - 6);
  if (status > 0) fputs(pt_train_last_error(trainer)->text, stderr);
  pt_train_close(trainer);
  return status == 0 ? 0 : 1;
}
