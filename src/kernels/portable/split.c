#include "kernels/portable/gemm.h"
#include "kernels/portable/parallel.h"

void PT_NAME(pt_split)(const pt_pool* pool, size_t count, void (*body)(void* arg, size_t begin, size_t end),
                       void* arg) {
  if (count == 0) return;
  if (pool == NULL || pool->threads <= 1 || pool->run == NULL || count == 1)
    body(arg, 0, count);
  else
    pool->run(pool->context, count, body, arg);
}

typedef struct shares {
  pt_share_body body;
  void* arg;
  size_t count, shares;
} shares;

static size_t share_begin(const shares* s, size_t share) {
  return s->count / s->shares * share + s->count % s->shares * share / s->shares; /* no overflow */
}

static void run_shares(void* arg, size_t begin, size_t end) {
  const shares* s = arg;
  for (size_t share = begin; share < end; ++share)
    s->body(s->arg, share, share_begin(s, share), share_begin(s, share + 1));
}

void PT_NAME(pt_split_shares)(const pt_pool* pool, size_t count, pt_share_body body, void* arg) {
  shares s = {body, arg, count, pt_shares(pool, count)};
  PT_NAME(pt_split)(pool, s.shares, run_shares, &s);
}

enum { kLeastWork = 1 << 14 }; /* below it waking threads costs more than it brings */

pt_status PT_NAME(pt_parallel)(const pt_call* call, size_t count, size_t work, pt_body body, void* arg) {
  PT_NAME(pt_split)(work < kLeastWork ? NULL : call->pool, count, body, arg);
  return PT_OK;
}
