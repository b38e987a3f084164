#include "ir/graph.h"

#include <algorithm>

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
    live[op] = std::any_of(made_by.outputs.begin(), made_by.outputs.end(),
                           [&](ValueId output) { return needed[static_cast<size_t>(output)] != 0; });
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

}  // namespace pantoum::ir
