/* Training that survives a loss of power: two commit records, written in turns, the newest of which says what the last
 * complete step left where.
 *
 *   block 0, 1        the records
 *   blocks 2 ..       the plan's storage; a pair that lives there has two slots, whose roles a step exchanges
 *   then, twice       area for the state that lives in RAM: each record names the one that belongs to it
 *   then              features, where the model keeps some (feature_store.h)
 *
 * Where blocks are checked, the checksums of the plan's storage are state in RAM, too, and the record has that of the
 * area: a block is what the record's step left there, or it is found out when it is read.
 *
 * A step writes neither the slots nor the area that the newest record names, so that whatever moment power is lost at,
 * that record's step is whole. */
#pragma once

#include "blocks.h"
#include "pantoum/pantoum.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PT_RECORD_BLOCKS = 2 };

typedef struct pt_journal {
  pt_blocks* blocks;
  pt_session* session;
  const pt_plan* plan;
  uint32_t* sums;      /* the pager's; NULL: blocks are not checked */
  uint8_t* buffer;     /* one block, aligned to 4; the caller's, as the rest is */
  uint32_t state_at;   /* the first block of the areas for RAM's state */
  uint32_t state_size; /* blocks of one area */
  uint32_t sequence;   /* of the newest record; 0: none */
  uint8_t every_step;  /* pt_commits_every_step */
  uint64_t bytes_written;
} pt_journal;

/* Blocks of the plan's own storage, a checksum for each where they are checked. */
uint32_t pt_plan_blocks(const pt_plan* plan);
/* Blocks of storage that a plan needs in all. */
uint32_t pt_journal_blocks(const pt_plan* plan, int checked);
/* Bytes that a commit writes. */
uint64_t pt_commit_bytes(const pt_plan* plan, int checked);
/* Whether state lives in the plan's storage: a step without a commit would overwrite the last one's. */
int pt_commits_every_step(const pt_plan* plan);
/* PT_E_FULL: the storage has fewer blocks than that; PT_E_PLAN: more tensors than a record can tell of. */
pt_status pt_journal_open(pt_journal* journal, pt_blocks* blocks, pt_session* session, const pt_plan* plan,
                          uint32_t* sums, uint8_t* buffer);
/* Puts the session where the newest whole record left it. PT_E_STATE: no record (a fresh storage); PT_E_VERSION: the
 * storage holds another model's, or another plan's, or blocks that are checked otherwise; nothing is changed then.
 * PT_E_IO: the state is not what was written, where blocks are checked; or what the storage says. */
pt_status pt_journal_resume(pt_journal* journal, uint64_t* step);
/* What the session holds now becomes what a resume finds. Between runs; cost: the state in RAM and one block. */
pt_status pt_journal_commit(pt_journal* journal, uint64_t step);

#ifdef __cplusplus
}
#endif
