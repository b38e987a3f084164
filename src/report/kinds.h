// Classifies the tensors and ops of a step by purpose, from homes, successors and the names that training gives.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "problem/cost_graph.h"

namespace pantoum::report {

enum class TensorKind : uint8_t { kParameter, kOptimizerState, kInput, kActivation, kGradient };
enum class Phase : uint8_t { kForward, kBackward, kUpdate };

struct Kinds {
  std::unordered_map<int64_t, TensorKind> tensors;
  std::unordered_map<int64_t, Phase> ops;
};

// Backward begins with the first op, in the graph's order, that writes a tensor named grad.*; on a graph without one,
// behind the op whose end most tensors cross. An update writes a tensor's successor there.
[[nodiscard]] Kinds kinds_of(const problem::CostGraph& graph);

// "Conv.dw" of "/stage1/Conv_3.dw", "sgd" of "fc.weight.sgd": the last part of the name, without numbers; ops that are not forward ops keep their
// ending. Never empty.
[[nodiscard]] std::string kind_of_op(std::string_view name);

[[nodiscard]] const char* name_of(TensorKind kind);
[[nodiscard]] const char* name_of(Phase phase);

}  // namespace pantoum::report
