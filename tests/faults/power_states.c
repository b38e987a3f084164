/* Power lost in an emitted project's training, in every state that its storage can be in then. Linked with the project in
 * place of its main.c.
 *
 * A first run trains to the end on a disk in RAM and logs every block that it writes, and where it syncs. A state is the
 * disk as power left it: all that was synced, and of what was written since a prefix, or any part of it (a disk that
 * reorders), with a block that is half of the old and half of the new where one was being written. From each state the
 * training is opened again: it is at a step that was committed, at none before the last one, with that step's bits, and
 * ends with the bits of the first run. Some are lost once more on the way. And every bit of the newest record is flipped:
 * the one before it counts.
 *
 * usage: power_states BLOCKS SAMPLES SEED; prints "states N failed N", and a line for each that failed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { LAST = 6, COMMIT_EVERY = 2, MOST_WRITES = 20000 };

typedef struct entry {
  uint32_t block;
  uint32_t durable; /* how many entries of the log were synced when it was written */
  uint32_t step;    /* the last one committed then, + 1; 0: none */
  uint8_t data[PT_BLOCK_BYTES];
} entry;

typedef struct run {
  entry* entries;
  uint32_t count, durable, step;
} run;

static uint8_t* disk;
static uint32_t disk_blocks, states, failed;
static run* recording; /* NULL: nothing is logged */
static uint32_t state_of[LAST + 1];
static uint64_t draws, resumed;
static pt_trainer trainer;

/* ---- the disk ---- */

static pt_status read_blocks(void* context, uint32_t block, void* data, uint32_t count) {
  (void)context;
  if (pt_blocks_within(disk_blocks, block, count) != PT_OK) return PT_E_FULL;
  memcpy(data, disk + (size_t)block * PT_BLOCK_BYTES, (size_t)count * PT_BLOCK_BYTES);
  return PT_OK;
}

static pt_status write_blocks(void* context, uint32_t block, const void* data, uint32_t count) {
  uint32_t at;
  (void)context;
  if (pt_blocks_within(disk_blocks, block, count) != PT_OK) return PT_E_FULL;
  memcpy(disk + (size_t)block * PT_BLOCK_BYTES, data, (size_t)count * PT_BLOCK_BYTES);
  for (at = 0; recording != NULL && at < count; ++at) {
    entry* made = &recording->entries[recording->count++];
    if (recording->count > MOST_WRITES) exit(2);
    made->block = block + at;
    made->durable = recording->durable;
    made->step = recording->step;
    memcpy(made->data, (const uint8_t*)data + (size_t)at * PT_BLOCK_BYTES, PT_BLOCK_BYTES);
  }
  return PT_OK;
}

static pt_status sync_blocks(void* context) {
  (void)context;
  if (recording != NULL) recording->durable = recording->count;
  return PT_OK;
}

static pt_blocks disk_of(void) {
  pt_blocks made;
  made.context = NULL;
  made.count = disk_blocks;
  made.read = read_blocks;
  made.write = write_blocks;
  made.sync = sync_blocks;
  return made;
}

/* ---- training ---- */

/* `least`: the step, + 1, that must be there; `first`: the run whose states are remembered. */
static const char* train(uint32_t least, int first) {
  static pt_blocks blocks;
  const pt_samples samples = pt_samples_of(&pt_model_training);
  uint32_t crc = 0;
  pt_status status;
  blocks = disk_of();
  status = pt_trainer_open(&trainer, &pt_model_description, &pt_model_memory, &blocks);
  if (status != PT_OK) return "it cannot be opened";
  if (trainer.step + 1 < least || trainer.step > LAST) return "a committed step is lost";
  resumed = trainer.step;
  trainer.steps = LAST;
  while (1) {
    if (trainer.committed == trainer.step) {
      if (recording != NULL) recording->step = (uint32_t)trainer.step + 1;
      if (pt_trainer_state(&trainer, &crc) != PT_OK) return "the state cannot be read";
      if (first) state_of[trainer.step] = crc;
      if (crc != state_of[trainer.step]) return "other bits";
    }
    if (trainer.step == LAST) return NULL;
    if (pt_trainer_keep_features(&trainer, &samples) != PT_OK) return "the features cannot be kept";
    float loss;
    status = pt_trainer_step(&trainer, &samples, &loss);
    if (status == PT_OK && (trainer.step % COMMIT_EVERY == 0 || trainer.step == LAST))
      status = pt_trainer_commit(&trainer);
    if (status != PT_OK) return "a step fails";
  }
}

/* ---- the states ---- */

static uint32_t draw(uint32_t below) {
  draws = draws * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(draws >> 33) % below;
}

static void put(const entry* written, uint32_t from, uint32_t to) {
  memcpy(disk + (size_t)written->block * PT_BLOCK_BYTES + from, written->data + from, to - from);
}

/* Power is lost when `end` blocks were written, all of them on the disk but, of those not synced, the ones that are drawn. */
static uint32_t lose_power(const run* done, const uint8_t* before, uint32_t end, int reorders, int tears) {
  const uint32_t durable = end < done->count ? done->entries[end].durable : done->durable;
  const uint32_t synced = durable < end ? durable : end;
  const uint32_t kept = reorders ? draw(4) : 4; /* quarters of them */
  uint32_t at;
  memcpy(disk, before, (size_t)disk_blocks * PT_BLOCK_BYTES);
  for (at = 0; at < end; ++at)
    if (at < synced || draw(4) < kept) put(&done->entries[at], 0, PT_BLOCK_BYTES);
  if (tears && end < done->count) {
    const uint32_t cut = 1 + draw(PT_BLOCK_BYTES - 1);
    if (draw(2) == 0)
      put(&done->entries[end], 0, cut);
    else
      put(&done->entries[end], cut, PT_BLOCK_BYTES);
  }
  return end < done->count ? done->entries[end].step : done->step;
}

static void judge(const char* wrong, const char* what, uint32_t end) {
  ++states;
  if (wrong == NULL) return;
  if (++failed <= 20) printf("power lost after %u blocks, %s: %s\n", end, what, wrong);
}

static void every_prefix(const run* done, const uint8_t* before) {
  uint32_t end;
  for (end = 0; end <= done->count; ++end) {
    judge(train(lose_power(done, before, end, 0, 0), 0), "in order", end);
    judge(train(lose_power(done, before, end, 0, 1), 0), "in order, the next one torn", end);
  }
}

static void sample(const run* done, const uint8_t* before, uint32_t count) {
  for (; count > 0; --count) {
    const uint32_t end = draw(done->count + 1);
    judge(train(lose_power(done, before, end, 1, (int)draw(2)), 0), "reordered", end);
  }
}

/* Lost once, and once more in the run that goes on. */
static void sample_twice(const run* done, const uint8_t* before, uint32_t count) {
  run second;
  uint8_t* between = malloc((size_t)disk_blocks * PT_BLOCK_BYTES);
  second.entries = malloc(MOST_WRITES * sizeof *second.entries);
  for (; between != NULL && second.entries != NULL && count > 0; --count) {
    const uint32_t end = draw(done->count + 1), step = lose_power(done, before, end, 1, 1);
    const char* wrong;
    memcpy(between, disk, (size_t)disk_blocks * PT_BLOCK_BYTES);
    second.count = second.durable = 0;
    second.step = step;
    recording = &second;
    wrong = train(step, 0);
    recording = NULL;
    if (wrong == NULL) {
      const uint32_t later = draw(second.count + 1);
      wrong = train(lose_power(&second, between, later, 1, 1), 0);
    }
    judge(wrong, "reordered, and lost again", end);
  }
  free(between);
  free(second.entries);
}

/* The newest record damaged: the one before it counts. Every `every`-th bit of it. */
static void flip_newest_record(const run* done, const uint8_t* before, uint32_t every) {
  uint32_t last = done->count, bit;
  while (last > 0 && done->entries[last - 1].block >= PT_RECORD_BLOCKS) --last;
  for (bit = draw(every); last > 0 && bit < 8 * PT_BLOCK_BYTES; bit += every) {
    const uint32_t older = done->entries[last - 1].step;
    const char* wrong;
    (void)lose_power(done, before, done->count, 0, 0);
    disk[(size_t)done->entries[last - 1].block * PT_BLOCK_BYTES + bit / 8] ^= (uint8_t)(1u << bit % 8);
    wrong = train(older, 0);
    judge(wrong == NULL && resumed + 1 != older ? "the flip is not noticed" : wrong,
          "a bit of the newest record flipped", bit);
  }
}

int main(int argc, char** argv) {
  static run done;
  const uint32_t samples = argc == 4 ? (uint32_t)atoi(argv[2]) : 0;
  uint8_t* before;
  const char* wrong;
  if (argc != 4) return 2;
  disk_blocks = (uint32_t)atoi(argv[1]);
  draws = (uint64_t)atoi(argv[3]);
  disk = calloc(disk_blocks, PT_BLOCK_BYTES);
  before = calloc(disk_blocks, PT_BLOCK_BYTES);
  done.entries = malloc(MOST_WRITES * sizeof *done.entries);
  if (disk == NULL || before == NULL || done.entries == NULL) return 2;
  recording = &done;
  wrong = train(0, 1);
  recording = NULL;
  judge(wrong, "not at all", 0);
  if (samples >= 1000) every_prefix(&done, before);
  sample(&done, before, samples);
  sample_twice(&done, before, samples);
  flip_newest_record(&done, before, samples >= 1000 ? 1 : 41);
  printf("states %u failed %u writes %u\n", states, failed, done.count);
  return 0;
}
