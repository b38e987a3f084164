// The second half of a training step whose gradients are states between the two halves.
#include <map>
#include <string>

#include "autodiff/autodiff.h"
#include "autodiff/gradient_chain.h"

namespace pantoum::autodiff {
namespace {

using ir::Graph;
using ir::Value;
using ir::ValueId;

constexpr const char* kSum = "accumulated.";

// Maps the value that a state has at the end of the step to the state.
std::map<ValueId, std::string> sums_of(const Graph& gradients) {
  std::map<ValueId, std::string> sums;
  for (const Value& value : gradients.values)
    if (value.role == ir::Role::kState && value.next != ir::kNone && value.name.starts_with(kSum))
      sums.emplace(value.next, value.name);
  return sums;
}

// A value as it is in `from`.
ValueId same_parameter(ir::Builder& builder, const Graph& from, const std::string& name) {
  for (const Value& value : from.values)
    if (value.role == ir::Role::kParameter && value.name == name)
      return builder.parameter(name, value.type, value.data, value.trainable);
  return ir::kNone;
}

}  // namespace

Result<Graph> make_update(const Graph& gradients, const TrainingOptions& options) {
  Graph graph;
  graph.name = gradients.name;
  ir::Builder builder(graph);
  GradientChain chain(builder, options);
  const std::map<ValueId, std::string> sums = sums_of(gradients);
  for (const ir::Op& op : gradients.ops) {  // in the order in which they are complete
    const auto sum = sums.find(op.outputs.front());
    if (sum == sums.end()) continue;
    const ValueId parameter = same_parameter(builder, gradients, sum->second.substr(std::string(kSum).size()));
    if (parameter == ir::kNone) return fail("E0001", "internal: a gradient of no parameter", sum->second);
    const ValueId gradient = accumulator_of(builder, parameter);
    chain.take(parameter, gradient);
    if (builder.error()) return Failure(*builder.error());
  }
  chain.finish();
  if (builder.error()) return Failure(*builder.error());
  return graph;
}

}  // namespace pantoum::autodiff
