// The cost graph as the search sees it: dense indices, only the choices that may be used, sizes rounded to the
// alignment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/simulate/indices.h"
#include "plan/simulate/switches.h"

namespace pantoum::plan {

struct PlanOptions;

struct ChoiceModel {
  int32_t number = 0;  // in the cost graph
  Seconds seconds = 0;
  Joules joules = 0;
  Bytes workspace = 0;  // rounded up to the alignment
  Bytes workspace_given = 0;
  std::vector<TensorIndex> reads;   // distinct tensors, those in rom left out
  std::vector<TensorIndex> writes;  // tensors, as `at` lists them
  std::vector<TensorIndex> over;    // by write: the tensor whose bytes it takes over where the search likes, or none
  std::vector<TensorIndex> shares;  // by write: the tensor whose bytes any plan might let it take over, or none; for
                                    // bounds
};

struct OpModel {
  int64_t id = 0;
  Stage stage = 0;
  bool recomputable = true;  // may be computed more than once
  bool optional = false;
  std::vector<ChoiceModel> choices;  // of the permitted numerics
};

// Returns the tensors that every choice of the op reads.
std::vector<TensorIndex> common_reads(const OpModel& op);

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
  OpIndex producer;
  Home start = Home::kNone;
  bool pinned = false;
  bool ends_in_ram = false, ends_in_aux = false;  // the successor's duties included
  TensorIndex home;       // tensor at whose initial offset it must end (itself, or the one it succeeds)
  bool can_page = false;  // may be written to storage
  bool can_drop = false;  // may be evicted without being written: it is recomputed, or in storage from the start
  Seconds in_s = 0, out_s = 0;
  Joules in_j = 0, out_j = 0;
  IndexRange<IntervalIndex> intervals;  // by stage
};

// The time between two consecutive uses of a tensor by first computations (its start or definition and its end
// included): a retention interval, where the tensor is retained in it.
struct Interval {
  TensorIndex tensor;
  Stage from = 0;
  Stage to = 0;       // of the next use; Model::never() after the last
  bool free = false;  // from there on every reader has a choice that does without the tensor
};

struct Model {
  const CostGraph* graph = nullptr;
  Indexed<TensorIndex, TensorModel> tensors;
  Indexed<OpIndex, OpModel> ops;  // by stage - 1
  Indexed<IntervalIndex, Interval> intervals;
  std::vector<std::pair<TensorIndex, TensorIndex>>
      duplicate_homes;  // (tensor, home) beyond the first: no plan can meet them all
  Bytes staging = 0;
  Bytes align = 1;
  Bytes capacity = -1;  // of the storage
  bool async = false, full_duplex = false, paging = false;
  Watts idle_w = 0;
  Without without;

  // Is the rule switched on?
  bool uses(Switch rule) const { return !without.has(rule); }
  // How the op is computed by a choice, or where each op uses its own of these choices.
  const ChoiceModel& chosen(OpIndex op, int32_t choice) const { return ops[op].choices[position_of(choice)]; }
  const ChoiceModel& chosen(OpIndex op, const Choices& choices) const { return chosen(op, choices[op]); }
  // The op that is first computed in the stage; 1 <= stage <= stages().
  // With those of idling over its seconds.
  Joules joules_of(const ChoiceModel& choice) const { return choice.joules + idle_w * choice.seconds; }
  static OpIndex op_of(Stage stage) { return OpIndex(stage - 1); }
  // n: as many as there are ops.
  Stage stages() const { return static_cast<Stage>(ops.size()); }
  // The last stage.
  Stage end() const { return stages() + 1; }
  // Later than every stage.
  Stage never() const { return stages() + 2; }
};

// The graph has passed problem::validate. Cost: linear.
Model make_model(const CostGraph& graph, const PlanOptions& options);

// Says for each op whether it must be computed when each op uses choices[op]. An optional op must be computed only if
// a reader or the end of the step needs it.
Indexed<OpIndex, char> needed_ops(const Model& model, const Choices& choices);

// Returns for each op the choice to start from: the cheapest for the objective such that all that is read is written.
// If one choice per op cannot write all of it, another choice makes what is missing on demand.
Choices first_choices(const Model& model, Objective objective);
// Returns choices that also keep a limit on the other figure if nothing has to move. All ops are chosen at the lowest
// price of a second (or joule) that keeps the limit; some ops then get a cheaper choice as far as the limit leaves
// room.
Choices first_choices(const Model& model, const Question& question);

// Returns the choices of least energy by what each op draws itself, whatever its seconds.
Choices least_joules(const Model& model);

// Replaces each op's choice by the one that reads the fewest bytes among those that write the same: signs in place of
// an activation, for example, so that the activation can be freed.
Choices lean_reads(const Model& model, Choices choices);

// An instruction of a plan before it has offsets.

struct Event {
  Do what = Do::kCompute;
  int32_t subject = 0;                  // op or tensor
  int32_t choice = 0;                   // into OpModel::choices
  std::vector<TensorIndex> taken_over;  // compute: by write, the tensor whose bytes it takes, or none
};

// The kernel that a compute runs.
inline const ChoiceModel& kernel_of(const Model& model, const Event& event) {
  return model.chosen(OpIndex(event.subject), event.choice);
}

}  // namespace pantoum::plan
