// The cost graph as the search sees it: dense indices, only the choices that may be used, sizes rounded to the
// alignment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

using problem::CostGraph;
using problem::Objective;

// Stages: 0 is the start, stage s in 1..n first computes the op at position s - 1 of the order, n + 1 is the end.
struct ChoiceModel {
  int32_t number = 0;  // in the cost graph
  Seconds seconds = 0;
  Joules joules = 0;
  Bytes workspace = 0;  // rounded up to the alignment
  Bytes workspace_given = 0;
  std::vector<int32_t> reads;   // distinct tensors, those in rom left out
  std::vector<int32_t> writes;  // tensors, as `at` lists them
  std::vector<int32_t> over;    // by write: the tensor whose bytes it takes over where the search likes, or -1
  std::vector<int32_t> shares;  // by write: the tensor whose bytes any plan might let it take over, or -1; for bounds
};

struct OpModel {
  int64_t id = 0;
  int32_t stage = 0;
  bool again = true;  // may be computed more than once
  bool optional = false;
  std::vector<ChoiceModel> choices;  // of the permitted numerics
};

// The least over an op's choices.
template <class Price>
double cheapest(const OpModel& op, Price price) {
  double least = price(op.choices.front());
  for (const ChoiceModel& choice : op.choices) least = std::min(least, price(choice));
  return least;
}

struct TensorModel {
  int64_t id = 0;
  Bytes bytes = 0;  // as given
  Bytes size = 0;   // rounded up to the alignment
  Bytes slot = 0;   // bytes of storage, rounded up to what the storage wants
  int32_t producer = -1;
  problem::Home start = problem::Home::kNone;
  bool pinned = false;
  bool ends_in_ram = false, ends_in_aux = false;  // the successor's duties included
  int32_t home = -1;      // tensor at whose initial offset it must end (itself, or the one it succeeds); -1: none
  bool can_page = false;  // may be written to storage
  bool can_drop = false;  // freed and had again without being written: recomputed, or in storage from the start
  Seconds in_s = 0, out_s = 0;
  Joules in_j = 0, out_j = 0;
  int32_t first_gap = 0;  // its gaps are consecutive
  int32_t gap_count = 0;
};

// The time between two consecutive uses of a tensor by first computations (its start or making and its end included).
struct Gap {
  int32_t tensor = 0;
  int32_t from = 0;
  int32_t to = 0;     // stage of the next use; Model::never() after the last
  bool free = false;  // from there on every reader has a choice that does without the tensor
};

struct NextGap {  // at the end of a stage the tensor enters the gap
  int32_t tensor = 0, gap = 0;
};

struct Model {
  const CostGraph* graph = nullptr;
  std::vector<TensorModel> tensors;
  std::vector<OpModel> ops;  // by stage - 1
  std::vector<Gap> gaps;
  std::vector<std::vector<NextGap>> entered;  // by stage
  std::vector<std::pair<int32_t, int32_t>>
      duplicate_homes;  // (tensor, home) beyond the first: no plan can meet them all
  Bytes staging = 0;
  Bytes align = 1;
  Bytes capacity = -1;  // of the storage
  bool async = false, full_duplex = false, paging = false;
  problem::Watts idle_w = 0;
  Without without;

  [[nodiscard]] bool uses(Switch rule) const { return !without.has(rule); }
  [[nodiscard]] int32_t stages() const { return static_cast<int32_t>(ops.size()); }
  [[nodiscard]] int32_t end() const { return stages() + 1; }
  [[nodiscard]] int32_t never() const { return stages() + 2; }
};

// The graph has passed problem::validate. Cost: linear.
[[nodiscard]] Model make_model(const CostGraph& graph, const PlanOptions& options);

// By op: must it be computed when each op uses choices[op]? Optional ops only where a reader or the end needs them.
[[nodiscard]] std::vector<char> needed_ops(const Model& model, const std::vector<int32_t>& choices);

// By op: the choice to start from. The cheapest for the objective such that all that is read is written; where that
// cannot be had at one choice per op, what is missing is made by another choice on demand.
[[nodiscard]] std::vector<int32_t> first_choices(const Model& model, Objective objective);

// From these choices, for every op the one that reads the fewest bytes of those that write the same: signs in place of
// an activation, so that this can go.
[[nodiscard]] std::vector<int32_t> lean_reads(const Model& model, std::vector<int32_t> choices);

}  // namespace pantoum::plan
