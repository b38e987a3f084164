// A stream with its offsets, and those of its neighbours: what two streams have in common stays where it is, as far as it
// can.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "plan/realize/realize.h"

namespace pantoum::plan {

class PlacedStream {
 public:
  // `plan`: within the budget of the options' question. Keeps `model` and `options` by reference. Not for streams whose
  // transfers run beside compute: when bytes are taken is not looked at.
  PlacedStream(const Model& model, const PlanOptions& options, const Plan& plan);

  // Looks for offsets of these instructions near the last ones, in so many nodes of guided local search. False: none were
  // found, and nothing is changed.
  bool take(const std::vector<Event>& events, int64_t nodes);

  // The plan of the instructions last taken, as realize() makes it.
  [[nodiscard]] Realized realized(const CostGraph& graph) const;

 private:
  using Offsets = std::unordered_map<uint64_t, Bytes>;  // by what is allocated

  const Model& model_;
  const PlanOptions& options_;
  Offsets offsets_;
  std::vector<Event> events_;  // last taken
};

}  // namespace pantoum::plan
