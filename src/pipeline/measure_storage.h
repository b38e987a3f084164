// The speed of the storage that the page file would lie on, measured once on this machine.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cost/profile_store.h"
#include "pantoum/pantoum.h"
#include "problem/cost_graph.h"
#include "problem/plan.h"

namespace pantoum::pipeline {

// Writes and reads a page file of 8 MiB in `folder`, by the pager that a run would use, several small and large transfers
// at a time, and fits latency and rate to what they take when a step waits for them, and to what the threads of training
// lose when it does not; both directions; kept in the store.
// Takes about a third of a second. E0902, E0903 when the folder cannot be used; E0905, E0908; E0275 of the store.
struct StorageQuestion {
  std::string folder = {};        // "": where a run makes its page file
  bool encrypt = true;            // as the run does: its time is in both directions
  const pt_pool* pool = nullptr;  // that computes meanwhile, as in a run: the threads of training; null: this one
  bool anew = false;              // though the store knows
  problem::Seconds seconds = std::numeric_limits<problem::Seconds>::infinity();  // then, one sample of each is enough
};

// Both directions, and what they take from the threads of training beside them.
struct MeasuredStorage {
  cost::LinkSample in = {}, out = {};
  bool beside_every_core = false;  // the threads of training leave none to the transfers

  // Latencies and rates, as a step finds them that waits; and watts, beside those that are there, of the processor for
  // its part of a transfer: plans of the least energy weigh it against computing again.
  void put_into(problem::Pager& pager, problem::Watts active_w) const;
  // A plan's time does not tell what its transfers take from its ops. Where the threads have every core, transfers pass
  // here for so slow that what a step hides of them takes little of its time.
  [[nodiscard]] MeasuredStorage held_back() const;
  // The seconds that a transfer takes from the processor. They delay a step's ops, which a plan's own time does not count.
  [[nodiscard]] problem::Seconds taken(bool written, problem::Bytes bytes) const;
  // And the threads of training delay a transfer's part on the processor, where they have every core: one thread more than
  // cores, each runs for cores / (cores + 1) of the time.
  void delay(problem::Pager& pager) const;
};
[[nodiscard]] Result<MeasuredStorage> measure_storage(const StorageQuestion& question, cost::ProfileStore& store);

// What the store knows of it.
[[nodiscard]] Result<std::optional<MeasuredStorage>> known_storage(const StorageQuestion& question,
                                                                   cost::ProfileStore& store);

// Transfers of one size, so many queued at a time.
struct StorageSpeed {
  problem::Bytes bytes = 0;
  int depth = 1;
  problem::Seconds in_s = 0, out_s = 0;  // of one transfer: the median of batches, over their depth
};
// The storage at several sizes and queue depths, as a run's pager moves them; measured, and kept nowhere: plans go by the
// line that measure_storage fits. Errors as there.
[[nodiscard]] Result<std::vector<StorageSpeed>> storage_table(const StorageQuestion& question);

// latency + bytes / rate through the seconds of a transfer of 4 KiB and of one of 1 MiB. Noise may make the small one as
// slow as the large one: the rate is at most 16 times that of the large transfer with its latency.
[[nodiscard]] problem::Link fit_link(problem::Seconds small, problem::Seconds large);

}  // namespace pantoum::pipeline
