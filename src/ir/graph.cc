#include "ir/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "ir/op_registry.h"

namespace pantoum::ir {

std::vector<std::vector<OpId>> users_of(const Graph& graph) {
  std::vector<std::vector<OpId>> users(graph.values.size());
  for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
    for (const ValueId input : graph.op(op).inputs) {
      std::vector<OpId>& readers = users[static_cast<size_t>(input)];
      if (readers.empty() || readers.back() != op) readers.push_back(op);
    }
  }
  return users;
}

ValueId root_of(const Graph& graph, ValueId value) {
  for (OpId producer = graph.value(value).producer; producer != kNone; producer = graph.value(value).producer) {
    const Op& op = graph.op(producer);
    if (op.kind != Kind::k_alias) break;
    value = op.inputs[0];
  }
  return value;
}

namespace {

std::vector<char> live_ops(const Graph& graph) {
  std::vector<char> needed(graph.values.size(), 0);
  for (const ValueId output : graph.outputs) needed[static_cast<size_t>(output)] = 1;
  for (const ValueId result : graph.results) needed[static_cast<size_t>(result)] = 1;
  for (const Value& value : graph.values) {
    if (value.next != kNone) needed[static_cast<size_t>(value.next)] = 1;
  }
  std::vector<char> live(graph.ops.size(), 0);
  for (size_t op = graph.ops.size(); op-- > 0;) {
    const Op& made_by = graph.ops[op];
    live[op] =
        std::ranges::any_of(made_by.outputs, [&](ValueId output) { return needed[static_cast<size_t>(output)] != 0; });
    if (!live[op]) continue;
    for (const ValueId input : made_by.inputs) needed[static_cast<size_t>(input)] = 1;
    for (const Alternative& other : made_by.alternatives)
      for (const ValueId input : other.inputs) needed[static_cast<size_t>(input)] = 1;
  }
  return live;
}

}  // namespace

void drop_dead_ops(Graph& graph) {
  const std::vector<char> live = live_ops(graph);
  std::vector<Op> kept;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const OpId producer = live[op] ? static_cast<OpId>(kept.size()) : kNone;
    for (const ValueId output : graph.ops[op].outputs) graph.value(output).producer = producer;
    if (live[op]) kept.push_back(std::move(graph.ops[op]));
  }
  graph.ops = std::move(kept);
}

namespace {

Data widened(const Data& data) {
  if (!data) return data;
  const size_t count = data->size() / sizeof(float);
  auto wide = std::make_shared<std::vector<std::byte>>(count * sizeof(double));
  for (size_t element = 0; element < count; ++element) {
    float narrow = 0;
    std::memcpy(&narrow, data->data() + element * sizeof narrow, sizeof narrow);
    const double value = static_cast<double>(narrow);
    std::memcpy(wide->data() + element * sizeof value, &value, sizeof value);
  }
  return wide;
}

}  // namespace

Graph to_double(const Graph& graph) {
  Graph wide = graph;
  for (Value& value : wide.values) {
    if (value.type.dtype != DType::kF32) continue;
    value.type.dtype = DType::kF64;
    value.data = widened(value.data);
  }
  return wide;
}

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
