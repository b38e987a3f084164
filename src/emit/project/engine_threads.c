#define _POSIX_C_SOURCE 200809L

#include "engine_threads.h"

/* ---- teams ---- */

static void* work(void* arg) {
  pt_team* team = (pt_team*)arg;
  uint32_t seen = 0, part;
  pthread_mutex_lock(&team->lock);
  part = ++team->numbered; /* the caller is part 0 */
  for (;;) {
    while (team->round == seen) pthread_cond_wait(&team->begun, &team->lock);
    seen = team->round;
    pthread_mutex_unlock(&team->lock);
    team->body(team->arg, part); /* both stay until the last thread has ended */
    pthread_mutex_lock(&team->lock);
    if (--team->busy == 0) pthread_cond_signal(&team->ended);
  }
  return NULL;
}

pt_status pt_team_start(pt_team* team) {
  for (; team->started < team->threads; ++team->started) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, team) != 0) return PT_E_FULL;
    pthread_detach(thread);
  }
  return PT_OK;
}

/* Calls body(arg, part) for part 0 on the caller's thread, for parts 1 .. threads on the others, at the same time. */
static void run_team(pt_team* team, void (*body)(void* arg, uint32_t part), void* arg) {
  pthread_mutex_lock(&team->lock);
  team->body = body;
  team->arg = arg;
  team->busy = team->threads;
  ++team->round;
  pthread_cond_broadcast(&team->begun);
  pthread_mutex_unlock(&team->lock);
  body(arg, 0);
  pthread_mutex_lock(&team->lock);
  while (team->busy != 0) pthread_cond_wait(&team->ended, &team->lock);
  pthread_mutex_unlock(&team->lock);
}

typedef struct pieces {
  size_t count, parts;
  void (*body)(void* arg, size_t begin, size_t end);
  void* arg;
} pieces;

static void run_piece(void* arg, uint32_t part) {
  const pieces* of = (const pieces*)arg;
  const size_t whole = of->count / of->parts, rest = of->count % of->parts;
  const size_t begin = whole * part + (part < rest ? part : rest), end = begin + whole + (part < rest ? 1 : 0);
  if (begin < end) of->body(of->arg, begin, end);
}

void pt_team_pool(void* context, size_t count, void (*body)(void* arg, size_t begin, size_t end), void* arg) {
  pt_team* team = (pt_team*)context;
  pieces of;
  of.count = count;
  of.parts = (size_t)team->threads + 1;
  of.body = body;
  of.arg = arg;
  run_team(team, run_piece, &of);
}

/* ---- engines ---- */

typedef struct all_parts {
  uint32_t parts, threads;
  void (*body)(void* arg, uint32_t part);
  void* arg;
} all_parts;

static void run_part(void* arg, uint32_t part) {
  const all_parts* of = (const all_parts*)arg;
  of->body(of->arg, part);
  if (part != 0) return;
  for (part = of->threads + 1; part < of->parts; ++part) of->body(of->arg, part);
}

void pt_engine_threads_run(void* context, uint32_t parts, void (*body)(void* arg, uint32_t part), void* arg) {
  pt_engine_threads* self = (pt_engine_threads*)context;
  all_parts of;
  of.parts = parts;
  of.threads = self->team.threads;
  of.body = body;
  of.arg = arg;
  run_team(&self->team, run_part, &of);
}

void pt_engine_threads_set(void* context, unsigned counter, uint32_t value) {
  pt_engine_threads* self = (pt_engine_threads*)context;
  pthread_mutex_lock(&self->lock);
  self->counters[counter] = value;
  pthread_cond_broadcast(&self->changed);
  pthread_mutex_unlock(&self->lock);
}

uint32_t pt_engine_threads_get(void* context, unsigned counter) {
  pt_engine_threads* self = (pt_engine_threads*)context;
  uint32_t value;
  pthread_mutex_lock(&self->lock);
  value = self->counters[counter];
  pthread_mutex_unlock(&self->lock);
  return value;
}

static int is_over(const pt_engine_threads* self, const pt_wait* any, uint32_t count) {
  uint32_t at;
  for (at = 0; at < count; ++at)
    if (self->counters[any[at].counter] >= any[at].value) return 1;
  return self->counters[PT_STOP] != 0;
}

void pt_engine_threads_wait(void* context, uint32_t part, const pt_wait* any, uint32_t count) {
  pt_engine_threads* self = (pt_engine_threads*)context;
  (void)part;
  pthread_mutex_lock(&self->lock);
  while (!is_over(self, any, count)) pthread_cond_wait(&self->changed, &self->lock);
  pthread_mutex_unlock(&self->lock);
}
