// A small step and the question that is asked of it, in sets of bits: what exhaustive_plans.cc searches.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "problem/cost_graph.h"
#include "problem/question.h"

namespace pantoum::plan_test {

using problem::Bytes;
using problem::CostGraph;
using problem::Home;

using Set = uint32_t;  // of tensors or ops
inline constexpr size_t kMostHomes = 8;

struct StepChoice {  // a permitted choice
  int number = 0;
  double weight = 0, seconds = 0;
  Bytes workspace = 0;
  Set reads = 0, writes = 0;
  std::vector<std::pair<int, int>> over;  // (output, input whose bytes it may take)
};

struct StepOp {  // an op
  size_t position = 0;
  bool may_recompute = false, optional = false;
  std::vector<StepChoice> ways;
  double least_weight = 0, least_seconds = 0;
  Set reads = 0;  // of any way
};

struct StepTensor {  // a tensor
  Bytes bytes = 0, size = 0;
  bool pinned = false, ends_in_ram = false, ends_in_aux = false, may_page = false;
  int producer = -1;
  int home = -1;  // where it must end
  Set homes = 0;  // where it may want to stand: its home, or that of a tensor that may come to take its bytes over
  double in_weight = 0, out_weight = 0, in_seconds = 0, out_seconds = 0;
};

[[nodiscard]] constexpr Set bit(int index) {
  return Set{1} << index;
}
template <class Visit>
void each(Set set, Visit visit) {
  for (; set != 0; set &= set - 1) visit(std::countr_zero(set));
}

// The graph outlives it.
class SmallStep {
 public:
  // Tensors and ops fit a set.
  static bool is_small(const CostGraph& graph) { return graph.tensors.size() <= 32 && graph.ops.size() <= 32; }

  SmallStep(const CostGraph& graph, const problem::Question& question);

  [[nodiscard]] const CostGraph& graph() const { return graph_; }
  [[nodiscard]] const problem::Question& question() const { return question_; }
  [[nodiscard]] const std::vector<StepTensor>& tensors() const { return tensors_; }
  [[nodiscard]] const std::vector<StepOp>& ops() const { return ops_; }
  [[nodiscard]] const StepTensor& tensor_at(int tensor) const { return tensors_[static_cast<size_t>(tensor)]; }
  [[nodiscard]] int tensor_of(int64_t id) const { return tensor_of_.at(id); }
  // By home: 1 + the tensor that stands there at the start.
  [[nodiscard]] const std::array<int8_t, kMostHomes>& first_owners() const { return first_owners_; }
  // Freed early too, as it may matter where they stand.
  [[nodiscard]] Set movable() const { return movable_; }

  // Costs are energies, unless time alone matters.
  [[nodiscard]] bool by_energy() const;
  [[nodiscard]] bool by_both() const;
  [[nodiscard]] double value(double cost, double seconds) const;

  // Do the tensors of both sets fit beside a workspace?
  [[nodiscard]] bool fits(Set ram, Set fresh, Bytes workspace) const;
  // Calls visit(set) with every least set of tensors in `from` to give up so that the others fit.
  template <class Visit>
  void least_frees(Set ram, Set from, Set fresh, Bytes workspace, Set chosen, Visit visit) const {
    if (fits(ram & ~chosen, fresh, workspace)) {
      bool least = true;
      each(chosen, [&](int tensor) { least = least && !fits((ram & ~chosen) | bit(tensor), fresh, workspace); });
      if (least) visit(chosen);
      return;
    }
    while (from != 0) {
      const Set tensor = from & -from;
      from &= ~tensor;
      least_frees(ram, from, fresh, workspace, chosen | tensor, visit);
    }
  }

  // Once `computed` are: may the op have its first computation; can it never be computed any more?
  [[nodiscard]] bool may_begin(Set computed, int op) const;
  [[nodiscard]] bool over_and_done(Set computed, size_t op) const;
  // Tensors that anything may need then: duties, what the others read, what those are made of.
  Set wanted(Set computed);

 private:
  [[nodiscard]] Bytes rounded(Bytes bytes) const;
  [[nodiscard]] double weight(double joules, double seconds) const;
  void add_tensors();
  void add_ops();
  [[nodiscard]] StepChoice way(const problem::Op& op, int number) const;
  void add_homes();
  void spread_homes();

  const CostGraph& graph_;
  const problem::Question question_;
  std::map<int64_t, int> tensor_of_;
  std::vector<StepTensor> tensors_;
  std::vector<StepOp> ops_;
  Set rom_ = 0, movable_ = 0;
  size_t homes_ = 0;
  std::array<int8_t, kMostHomes> first_owners_{};
  std::unordered_map<Set, Set> wanted_;
};

}  // namespace pantoum::plan_test
