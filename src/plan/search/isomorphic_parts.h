// Parts of the step that are alike, as the layers of a deep net are: what is good for one is a good guess for another.
#pragma once

#include <vector>

#include "plan/search/random.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan {

class IsomorphicParts {
 public:
  explicit IsomorphicParts(const Model& model);
  [[nodiscard]] bool empty() const { return starts_.empty(); }
  // A tensor and a like one, and around them, pair by pair, what is made of and from them alike: the policies of one
  // side's intervals for the other's, or both exchanged. May be empty.
  const std::vector<Simulator::Change>& draw(const Policy& policy, Random& random);

 private:
  struct Pair {
    int32_t here = 0, there = 0;
  };
  void pair_up(int32_t here, int32_t there);
  void copy(const Policy& policy, int32_t from, int32_t to);

  const Model& model_;
  std::vector<std::vector<int32_t>> users_;  // by tensor: ops, ascending
  std::vector<uint64_t> kind_;               // by tensor: equal where the surroundings are alike
  std::vector<std::vector<int32_t>> alike_;  // tensors of one kind, by stage
  std::vector<int32_t> group_;               // by tensor: into alike_, or -1
  std::vector<int32_t> starts_;              // tensors that have a twin
  std::vector<Pair> pairs_;
  std::vector<uint64_t> stamp_;  // by tensor: paired in this draw
  uint64_t draw_ = 0;
  std::vector<Simulator::Change> changes_;
};

}  // namespace pantoum::plan
