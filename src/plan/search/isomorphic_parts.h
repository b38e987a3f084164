// Isomorphic parts of the step, as the layers of a deep net are: what is good for one is a good guess for another.
#pragma once

#include <vector>

#include "base/random.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan {

using base::Random;

class IsomorphicParts {
 public:
  explicit IsomorphicParts(const Model& model);
  // Are no two tensors alike?
  [[nodiscard]] bool empty() const { return starts_.empty(); }
  // A tensor and a like one, and around them, pair by pair, what is made of and from them alike: the policies of one
  // side's intervals for the other's, or both exchanged. May be empty.
  const std::vector<Simulator::Change>& draw(const Policy& policy, Random& random);

 private:
  using Group = Index<struct GroupTag>;
  struct Pair {
    TensorIndex here, there;
  };
  void pair_up(TensorIndex here, TensorIndex there);
  void pair_around(const Pair& pair);
  void group_kinds();
  void copy(const Policy& policy, TensorIndex from, TensorIndex to);

  const Model& model_;
  Indexed<TensorIndex, std::vector<OpIndex>> users_;  // ascending
  Indexed<TensorIndex, uint64_t> kind_;               // equal where the surroundings are alike
  Indexed<Group, std::vector<TensorIndex>> alike_;    // tensors of one kind, by stage
  Indexed<TensorIndex, Group> group_;                 // none: the only one of its kind
  std::vector<TensorIndex> starts_;                   // tensors that have a group
  std::vector<Pair> pairs_;
  Indexed<TensorIndex, uint64_t> stamp_;  // the last draw that paired it
  uint64_t draw_ = 0;
  std::vector<Simulator::Change> changes_;
};

}  // namespace pantoum::plan
