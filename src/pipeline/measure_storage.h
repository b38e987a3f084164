// Measures the speed of the storage that holds the page file. The profile store keeps the result for this machine.
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

// The storage to measure, and the conditions of a run.
struct StorageQuestion {
  std::string folder = {};        // "": the folder in which a run makes its page file
  bool encrypt = true;            // as in the run: encryption takes time in both directions
  const pt_pool* pool = nullptr;  // the threads of training, which compute meanwhile as in a run; null: this thread
  bool anew = false;              // measure although the store has a result
  problem::Seconds seconds =
      std::numeric_limits<problem::Seconds>::infinity();  // after this time, no more than the first sample is needed
};

// The speed of both directions, and the time that transfers take from the threads of training.
struct MeasuredStorage {
  cost::LinkSample in = {}, out = {};
  bool beside_every_core = false;  // the threads of training leave no core to the transfers

  // Puts into `pager` the latencies and rates of transfers that a step waits for. Adds to the watts of each direction the processor's share of
  // `active_w` during a transfer; plans of the least energy weigh it against recomputing.
  void put_into(problem::Pager& pager, problem::Watts active_w) const;
  // Returns a copy, with slower transfers if the threads of training occupy every core. The time of a plan does not include the time that its
  // transfers take from its ops; the slower transfers keep that time to a small share of a step.
  [[nodiscard]] MeasuredStorage held_back() const;
  // Returns the seconds that a transfer takes from the processor. They delay a step's ops, but a plan's time does not include them.
  [[nodiscard]] problem::Seconds taken(bool written, problem::Bytes bytes) const;
  // Slows `pager` if the threads of training occupy every core. There is then one thread more than cores, and each runs for cores / (cores + 1) of
  // the time, so a transfer's part on the processor takes longer.
  void delay(problem::Pager& pager) const;
};
// Measures both directions and puts the result into the store; if the store has a result and `anew` is false, returns that one. Writes and reads a
// page file of 8 MiB in `folder` with the pager of a run, several small and large transfers at a time. Fits latency and rate to the time of a transfer
// that a step waits for, and measures the time that the threads of training lose by a transfer that no step waits for. Takes about a third of a second.
// E0902, E0903: the folder cannot be used; E0905, E0908; E0275: the store fails.
[[nodiscard]] Result<MeasuredStorage> measure_storage(const StorageQuestion& question, cost::ProfileStore& store);

// Returns the store's result for the question; nullopt if it has none. E0275.
[[nodiscard]] Result<std::optional<MeasuredStorage>> known_storage(const StorageQuestion& question,
                                                                   cost::ProfileStore& store);

// The speed of transfers of `bytes` bytes each, with `depth` of them queued at a time.
struct StorageSpeed {
  problem::Bytes bytes = 0;
  int depth = 1;
  problem::Seconds in_s = 0, out_s = 0;  // of one transfer: the median time of a batch, divided by `depth`
};
// Measures the storage at several sizes and queue depths, with the pager of a run. The result is not stored: plans use the link that measure_storage
// fits. Errors: those of measure_storage.
[[nodiscard]] Result<std::vector<StorageSpeed>> storage_table(const StorageQuestion& question);

// Returns the link by which latency + bytes / rate is `small` seconds for a transfer of 4 KiB and `large` seconds for one of 1 MiB. Because noise may
// make the small transfer as slow as the large one, the rate is at most 16 times the rate of the large transfer, whose time includes the latency.
[[nodiscard]] problem::Link fit_link(problem::Seconds small, problem::Seconds large);

}  // namespace pantoum::pipeline
