/* The part of Zephyr's kernel that a board of ours uses, for a program of this machine. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define K_FOREVER 0

static inline void k_sleep(int timeout) {
  (void)timeout;
}
static inline void* k_current_get(void) {
  return NULL;
}
static inline int k_thread_stack_space_get(void* thread, size_t* unused) {
  (void)thread;
  *unused = CONFIG_MAIN_STACK_SIZE / 2;
  return 0;
}
