/* The threads of a plan of several engines, POSIX threads alone: what the runtime asks for as pt_engines and pt_pool. All of it is static: threads are
 * made once, and live as long as the program. */
#pragma once

#include <pthread.h>

#include "pantoum/pantoum.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A caller's thread and `threads` others, which do something together and sleep in between. */
typedef struct pt_team {
  uint32_t threads;
  pthread_mutex_t lock; /* of all below */
  pthread_cond_t begun, ended;
  uint32_t started, numbered; /* threads */
  uint32_t round, busy;       /* what they do now, by number; threads that still do it */
  void (*body)(void* arg, uint32_t part);
  void* arg;
} pt_team;
#define PT_TEAM(threads) \
  { threads, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, 0, NULL, NULL }

/* The threads that walk the program, the caller's among them, and the counters by which they wait for each other. */
typedef struct pt_engine_threads {
  pt_team team;
  pthread_mutex_t lock; /* of the counters */
  pthread_cond_t changed;
  uint32_t counters[PT_COUNTERS];
} pt_engine_threads;
#define PT_ENGINE_THREADS(threads)                                           \
  {                                                                          \
    PT_TEAM(threads), PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, { \
      0                                                                      \
    }                                                                        \
  }

/* Makes the threads that are not there yet. PT_E_FULL: the system gives no more. */
pt_status pt_team_start(pt_team* team);
/* pt_pool's `run`; `context`: a team of one thread fewer than the pool has. */
void pt_team_pool(void* context, size_t count, void (*body)(void* arg, size_t begin, size_t end), void* arg);

/* The functions of pt_engines; `context`: pt_engine_threads. Parts beyond its threads are run by the caller, when the first part has ended: that of
 * the pager, where a plan pages nothing. */
void pt_engine_threads_run(void* context, uint32_t parts, void (*body)(void* arg, uint32_t part), void* arg);
void pt_engine_threads_set(void* context, unsigned counter, uint32_t value);
uint32_t pt_engine_threads_get(void* context, unsigned counter);
void pt_engine_threads_wait(void* context, uint32_t part, const pt_wait* any, uint32_t count);

#ifdef __cplusplus
}
#endif
