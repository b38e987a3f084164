#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/graph.h"
#include "ir/op_registry.h"

namespace pantoum::ir {
namespace {

std::string line_of(const Graph& graph, const Op& op) {
  std::vector<std::string> outputs, inputs;
  for (const ValueId output : op.outputs) {
    outputs.push_back(graph.value(output).name + " " + to_text(graph.value(output).type));
  }
  for (const ValueId input : op.inputs) inputs.push_back(graph.value(input).name);
  std::string line =
      fmt::format("{}: {} = {}({})", op.name, fmt::join(outputs, ", "), name_of(op.kind), fmt::join(inputs, ", "));
  if (!op.attrs.ints.empty()) line += fmt::format(" [{}]", fmt::join(op.attrs.ints, ","));
  if (!op.attrs.reals.empty()) line += fmt::format(" {{{}}}", fmt::join(op.attrs.reals, ","));
  if (!op.recompute) line += " once";
  if (op.optional) line += " optional";
  for (const Alternative& other : op.alternatives) {
    std::vector<std::string> read;
    for (const ValueId input : other.inputs) read.push_back(graph.value(input).name);
    line += fmt::format(" or {}({})", name_of(other.kind), fmt::join(read, ", "));
  }
  return line + "\n";
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string text;
  for (const Op& op : graph.ops) text += line_of(graph, op);
  return text;
}

}  // namespace pantoum::ir
