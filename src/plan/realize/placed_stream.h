// A stream with its offsets, and those of its neighbours: what two streams have in common stays where it is, as far as it
// can.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "plan/realize/allocations.h"
#include "plan/realize/realize.h"

namespace pantoum::plan {

class PlacedStream {
 public:
  // `plan`: of these instructions, within the budget of the options' question. Keeps `model` and `options` by reference. Not
  // for streams whose transfers run beside compute: when bytes are taken is not looked at.
  PlacedStream(const Model& model, const PlanOptions& options, const std::vector<Event>& events, const Plan& plan);

  // Looks for offsets of these instructions near the last ones, in so many nodes of guided local search. False: none were
  // found, and nothing is changed.
  bool take(const std::vector<Event>& events, int64_t nodes);

  // The plan of the instructions last taken, as realize() makes it.
  [[nodiscard]] Realized realized(const CostGraph& graph) const;

 private:
  // What is allocated: the op or tensor of an instruction, how many instructions of it came before, and which output.
  struct Name {
    int64_t owner = 0, nth = 0, output = 0;
    friend bool operator==(const Name&, const Name&) = default;
  };
  struct Hash {
    size_t operator()(const Name& name) const;
  };
  class Namer;
  using Offsets = std::unordered_map<Name, Bytes, Hash>;

  // Calls with the name and the position in `all` of each allocation of the stream.
  template <class Each>
  void name_all(const std::vector<Event>& events, const Allocations& allocations, const Each& each) const;

  const Model& model_;
  const PlanOptions& options_;
  Offsets offsets_;
  std::vector<std::optional<Bytes>> others_;  // offsets of other programs' allocations, as they were last found
  std::vector<Event> events_;                 // last taken
};

}  // namespace pantoum::plan
