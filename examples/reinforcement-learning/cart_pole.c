/* Deep Q-learning: a program learns to balance a pole on a cart. Every step of the world asks the network what each push is worth; every second one trains
 * it on moments that are drawn from those that were seen.
 *
 *   cart_pole MODEL RAM WEIGHTS EPISODES
 *
 * Reads a network of four inputs and two outputs, plans its step into RAM ("24KiB"), learns for so many episodes, then balances for 20 more without chance. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pantoum/compile.h"

enum { STATE = 4, PUSHES = 2, BATCH = 32, SEEN = 10000, LONGEST = 500, TESTS = 20, COPY_EVERY = 200 };
static const float kLater = 0.99F; /* how much a reward of the next moment counts now */

typedef struct moment {
  float before[STATE], after[STATE], reward;
  int push, ended;
} moment;

typedef struct learner {
  pt_trainer* online; /* trains, and chooses */
  pt_trainer* target; /* what it was some steps ago: tells what the next moment is worth */
  moment* seen;
  size_t count, trained;
  uint64_t state;
} learner;

static double draw(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 40) / 16777216.0;
}

/* ---- The world: a pole of 1 m on a cart that is pushed to the left or right, 50 times a second. */

static void begin_world(float* at, uint64_t* state) {
  for (int each = 0; each < STATE; ++each) at[each] = (float)(0.1 * draw(state) - 0.05);
}

/* 1 where the pole falls or the cart leaves the track. */
static int push_cart(float* at, int push) {
  const double force = push ? 10.0 : -10.0, angle = at[2], turn = at[3], cosine = cos(angle), sine = sin(angle);
  const double pulled = (force + 0.05 * turn * turn * sine) / 1.1;
  const double bends = (9.8 * sine - cosine * pulled) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1));
  const double pace = pulled - 0.05 * bends * cosine / 1.1;
  at[0] += (float)(0.02 * at[1]);
  at[1] += (float)(0.02 * pace);
  at[2] += (float)(0.02 * at[3]);
  at[3] += (float)(0.02 * bends);
  return fabs(at[0]) > 2.4 || fabs(at[2]) > 12 * 3.14159265358979 / 180;
}

/* ---- The network. */

static int worths_of(pt_trainer* trainer, float (*states)[STATE], size_t count, float (*worths)[PUSHES]) {
  const pt_train_data data = {states, count * sizeof *states};
  const pt_train_room room = {worths, count * sizeof *worths};
  return pt_train_predict(trainer, &data, 1, count, &room, 1);
}

static int best_push(pt_trainer* trainer, float* at, int* push) {
  float state[1][STATE], worths[1][PUSHES];
  memcpy(state, at, sizeof state);
  const int status = worths_of(trainer, state, 1, worths);
  *push = worths[0][1] > worths[0][0];
  return status;
}

/* One step on moments that were seen: a push was worth its reward and, unless it ended the episode, the best push of the next moment. */
static int train_once(learner* of) {
  float before[BATCH][STATE], after[BATCH][STATE], wanted[BATCH][PUSHES], later[BATCH][PUSHES];
  const moment* drawn[BATCH];
  for (int each = 0; each < BATCH; ++each) {
    drawn[each] = &of->seen[(size_t)(draw(&of->state) * (double)(of->count < SEEN ? of->count : SEEN))];
    memcpy(before[each], drawn[each]->before, sizeof before[each]);
    memcpy(after[each], drawn[each]->after, sizeof after[each]);
  }
  int status = worths_of(of->online, before, BATCH, wanted); /* no error for the push that was not made */
  if (status == 0) status = worths_of(of->target, after, BATCH, later);
  if (status != 0) return status;
  for (int each = 0; each < BATCH; ++each) {
    const float best = later[each][0] > later[each][1] ? later[each][0] : later[each][1];
    wanted[each][drawn[each]->push] = drawn[each]->reward + (drawn[each]->ended ? 0 : kLater * best);
  }
  const pt_train_data data[] = {{before, sizeof before}, {wanted, sizeof wanted}};
  pt_train_result result = {.size = sizeof result};
  status = pt_train_step(of->online, data, 2, &result);
  ++of->trained;
  return status;
}

/* The target becomes what the online network is now. */
static int copy_weights(learner* of) {
  size_t count = 0;
  int status = pt_train_count(of->online, PT_TRAIN_WEIGHT, &count);
  for (size_t at = 0; at < count && status == 0; ++at) {
    pt_train_tensor tensor = {.size = sizeof tensor};
    status = pt_train_tensor_at(of->online, PT_TRAIN_WEIGHT, at, &tensor);
    void* room = status == 0 ? malloc(tensor.bytes) : NULL;
    if (room == NULL) continue;
    status = pt_train_get(of->online, tensor.name, room, tensor.bytes);
    if (status == 0) status = pt_train_set(of->target, tensor.name, room, tensor.bytes);
    free(room);
  }
  return status;
}

/* ---- Episodes. */

/* Plays one, and trains in it: how long the pole stood. `chance` is how often a push is drawn. */
static int learn_episode(learner* of, double chance, int* length) {
  float at[STATE];
  int status = 0, ended = 0;
  begin_world(at, &of->state);
  for (*length = 0; *length < LONGEST && !ended && status == 0; ++*length) {
    moment* const now = &of->seen[of->count++ % SEEN];
    memcpy(now->before, at, sizeof at);
    now->push = draw(&of->state) < 0.5;
    if (draw(&of->state) >= chance) status = best_push(of->online, at, &now->push);
    ended = push_cart(at, now->push);
    memcpy(now->after, at, sizeof at);
    now->reward = 1;
    now->ended = ended;
    if (status == 0 && of->count > 500 && of->count % 2 == 0) status = train_once(of);
    if (status == 0 && of->count % COPY_EVERY == 0) status = copy_weights(of);
  }
  return status;
}

/* The mean length of so many episodes without chance, each from a beginning of its own. All go on at a time: one prediction for all. */
static int test(learner* of, int episodes, double* mean) {
  float at[TESTS][STATE], worths[TESTS][PUSHES];
  int fell[TESTS] = {0}, sum = 0, standing = episodes, status = 0;
  uint64_t state = 99;
  for (int episode = 0; episode < episodes; ++episode) begin_world(at[episode], &state);
  for (int length = 0; length < LONGEST && standing > 0 && status == 0; ++length) {
    status = worths_of(of->online, at, (size_t)episodes, worths);
    for (int episode = 0; episode < episodes; ++episode) {
      if (fell[episode]) continue;
      fell[episode] = push_cart(at[episode], worths[episode][1] > worths[episode][0]);
      standing -= fell[episode];
      sum += !fell[episode];
    }
  }
  *mean = (double)sum / episodes;
  return status;
}

/* Until the pole stands in five tests, or for so many episodes. */
static int learn(learner* of, int episodes) {
  int status = copy_weights(of);
  double stands = 0;
  for (int episode = 1; episode <= episodes && status == 0 && stands < 300; ++episode) {
    int length = 0;
    const double chance = episode < 60 ? 1.0 - episode / 62.0 : 0.03;
    status = learn_episode(of, chance, &length);
    if (status == 0 && episode % 10 == 0) {
      status = test(of, 5, &stands);
      printf("episode %d  it stood for %d moments; in tests for %.1f\n", episode, length, stands);
    }
  }
  return status;
}

static int open_trainers(const char* model, const char* ram, learner* of, pt_compiled* plan) {
  pt_compiler* compiler = NULL;
  int status = pt_compile_open(&compiler, model);
  if (status == 0) status = pt_compile_set(compiler, "ram", ram);
  if (status == 0) status = pt_compile_set(compiler, "no-paging", "on"); /* a file would take longer than the step */
  if (status == 0) status = pt_compile_set(compiler, "effort", "20");    /* a short search: the step is small */
  if (status == 0) status = pt_compile_set(compiler, "kernels", "portable");
  if (status == 0) status = pt_compile_set(compiler, "threads", "1");
  if (status == 0) status = pt_compile_plan(compiler, plan);
  const pt_train_options options = {.size = sizeof options, .threads = 1}; /* the network is too small to share */
  if (status == 0) status = pt_compile_train(compiler, &of->online, &options);
  if (status == 0) status = pt_compile_train(compiler, &of->target, &options);
  if (status != 0) fputs(pt_compile_last_error(compiler)->text, stderr);
  pt_compile_close(compiler);
  return status;
}

int main(int count, char** words) {
  if (count != 5) {
    fputs("usage: cart_pole MODEL RAM WEIGHTS EPISODES\n", stderr);
    return 2;
  }
  learner of = {.state = 1, .seen = calloc(SEEN, sizeof(moment))};
  pt_compiled plan = {.size = sizeof plan};
  double before = 0, after = 0;
  int status = of.seen == NULL ? 1 : open_trainers(words[1], words[2], &of, &plan);
  if (status == 0) {
    status = test(&of, TESTS, &before);
    if (status == 0) status = learn(&of, atoi(words[4]));
    if (status == 0) status = test(&of, TESTS, &after);
    if (status == 0) status = pt_train_save(of.online, words[3]);
    if (status != 0) fputs(pt_train_last_error(of.online)->text, stderr);
  }
  if (status == 0)
    printf(
        "the pole stands for %.1f of %d moments, before for %.1f; %zu steps\nRAM %.1f KiB, without a plan %.1f KiB\n",
        after, (int)LONGEST, before, of.trained, (double)plan.arena_bytes / 1024, (double)plan.unplanned_bytes / 1024);
  pt_train_close(of.online);
  pt_train_close(of.target);
  free(of.seen);
  return status == 0 ? 0 : 1;
}
