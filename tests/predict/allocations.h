/* Counts what malloc and its relatives are asked for while `counting` is set, by the functions that glibc keeps beneath them. */
#pragma once

#include <errno.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

static volatile int counting;
static size_t counted;

static void count_bytes(size_t bytes) {
  if (counting) __atomic_add_fetch(&counted, bytes, __ATOMIC_RELAXED);
}

void* malloc(size_t bytes) {
  count_bytes(bytes);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  count_bytes(count * bytes);
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  count_bytes(bytes);
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  count_bytes(bytes);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** made, size_t alignment, size_t bytes) {
  count_bytes(bytes);
  *made = __libc_memalign(alignment, bytes);
  return *made != NULL ? 0 : ENOMEM;
}

#ifdef __cplusplus
}
#endif
