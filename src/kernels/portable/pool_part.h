/* A part of a pool's threads, for an op whose plan gives it fewer than all. */
#pragma once

#include "pantoum/pantoum.h"

/* Made on the caller's stack; lives as long as the call that it is given to. */
typedef struct pt_pool_part {
  const pt_pool* all;
  pt_pool pool;
} pt_pool_part;

typedef struct pt_part_pieces {
  size_t count, pieces;
  void (*body)(void* arg, size_t begin, size_t end);
  void* arg;
} pt_part_pieces;

static inline void pt_run_part_pieces(void* arg, size_t first, size_t last) {
  const pt_part_pieces* of = (const pt_part_pieces*)arg;
  const size_t whole = of->count / of->pieces, rest = of->count % of->pieces;
  for (; first < last && first < of->pieces; ++first) {
    const size_t begin = whole * first + rest * first / of->pieces;
    const size_t end = whole * (first + 1) + rest * (first + 1) / of->pieces;
    if (begin < end) of->body(of->arg, begin, end);
  }
}

static inline void pt_run_pool_part(void* context, size_t count, void (*body)(void* arg, size_t begin, size_t end),
                                    void* arg) {
  const pt_pool_part* part = (const pt_pool_part*)context;
  pt_part_pieces pieces;
  pieces.count = count;
  pieces.pieces = part->pool.threads;
  pieces.body = body;
  pieces.arg = arg;
  part->all->run(part->all->context, part->all->threads, pt_run_part_pieces, &pieces);
}

/* All of `all` are woken, as a pool runs no fewer; those behind the first find no piece. The caller's piece is the first.
 *
 * A pool of at most `threads` threads of `all` (0: as many as it has): `all` itself, NULL for one, or `part`, which is
 * then made and refers to `all`. */
static inline const pt_pool* pt_take_pool(pt_pool_part* part, const pt_pool* all, uint32_t threads) {
  if (all == NULL || threads == 0 || threads >= all->threads) return all;
  if (threads == 1) return NULL;
  part->all = all;
  part->pool.context = part;
  part->pool.threads = threads;
  part->pool.run = pt_run_pool_part;
  return &part->pool;
}
