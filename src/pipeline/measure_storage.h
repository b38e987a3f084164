// The speed of the storage that the page file would lie on, measured once on this machine.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "cost/profile_store.h"
#include "problem/cost_graph.h"

namespace pantoum::pipeline {

// Writes and reads a page file of 8 MiB in `folder`, by the pager that a run would use, in small and large transfers,
// and fits latency and rate to both directions; kept in the store. E0902, E0903 when the folder cannot be used; E0908;
// E0275 of the store.
struct StorageQuestion {
  std::string folder = {};  // "": where a run makes its page file
  bool encrypt = true;      // as the run does: its time is in both directions
  bool anew = false;        // though the store knows
  problem::Seconds seconds = std::numeric_limits<problem::Seconds>::infinity();  // then, one sample of each is enough
};
[[nodiscard]] Result<void> measure_storage(const StorageQuestion& question, cost::ProfileStore& store,
                                           problem::Pager& pager);

// What the store knows of it; false: nothing.
[[nodiscard]] Result<bool> known_storage(const StorageQuestion& question, cost::ProfileStore& store,
                                         problem::Pager& pager);

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
[[nodiscard]] problem::Link fit_link(problem::Seconds small, problem::Seconds large, problem::Watts w);

}  // namespace pantoum::pipeline
