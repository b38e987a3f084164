// The programs of a network: streams of one binary plan, which share an arena.
#pragma once

#include <string_view>
#include <vector>

#include "check/replay.h"
#include "cost/build_cost_graph.h"
#include "ir/graph.h"
#include "problem/plan.h"

namespace pantoum::pipeline {

struct ProgramKind {
  const char* name;   // in the binary plan
  const char* words;  // in messages
  bool backward;      // it has gradients: it is part of the training step, whose limits it keeps
  bool operator==(const ProgramKind& other) const { return std::string_view(name) == other.name; }
};

inline constexpr ProgramKind kTrain{"train", "training", true};
inline constexpr ProgramKind kEvaluate{"eval", "evaluation", false};          // of the whole model
inline constexpr ProgramKind kAccumulate{"accumulate", "micro-batch", true};  // all micro-batches but the last
// In place of training, where gradients and update are apart.
inline constexpr ProgramKind kGradients{"gradients", "gradients", true};
inline constexpr ProgramKind kUpdate{"update", "update", true};
inline constexpr ProgramKind kMakeFeatures{"features", "features", false};  // the frozen backbone

inline constexpr ProgramKind kInfer{"infer", "inference", false};  // alone, in place of training

struct Program {
  ProgramKind kind;
  ir::Graph graph;
  cost::BuiltCostGraph cost = {};
  problem::Plan plan = {};  // from here on: once it is planned
  check::Found found = {};  // the independent replay's figures
};

// In the order of the binary plan: training (or its gradients), evaluation, then what there is of the others.
using Programs = std::vector<Program>;

[[nodiscard]] const Program* find_program(const Programs& programs, const ProgramKind& kind);

}  // namespace pantoum::pipeline
