/* Counts what malloc and its relatives have given out since `counting` was set, by the functions that glibc keeps beneath them: the most at a time. */
#pragma once

#include <errno.h>
#include <malloc.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* given);

static volatile int counting;
static long live, counted; /* bytes; counted: the most of `live` */

static void* count_given(void* given, int sign) {
  if (counting && given != NULL) {
    const long now = __atomic_add_fetch(&live, sign * (long)malloc_usable_size(given), __ATOMIC_SEQ_CST);
    long most = __atomic_load_n(&counted, __ATOMIC_SEQ_CST);
    while (now > most && !__atomic_compare_exchange_n(&counted, &most, now, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
  }
  return given;
}

void* malloc(size_t bytes) {
  return count_given(__libc_malloc(bytes), 1);
}
void* calloc(size_t count, size_t bytes) {
  return count_given(__libc_calloc(count, bytes), 1);
}
void* realloc(void* old, size_t bytes) {
  count_given(old, -1);
  return count_given(__libc_realloc(old, bytes), 1);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return count_given(__libc_memalign(alignment, bytes), 1);
}
int posix_memalign(void** made, size_t alignment, size_t bytes) {
  *made = count_given(__libc_memalign(alignment, bytes), 1);
  return *made != NULL ? 0 : ENOMEM;
}
void free(void* given) {
  __libc_free(count_given(given, -1));
}

#ifdef __cplusplus
}
#endif
