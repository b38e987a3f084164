#include <fmt/format.h>

#include <unordered_set>

#include "ir/graph.h"
#include "ir/op_registry.h"

namespace pantoum::ir {
namespace {

Failure broken(std::string what, std::string where) {
  return fail("E0299", std::move(what), std::move(where));
}

bool exists(const Graph& graph, ValueId id) {
  return id >= 0 && static_cast<size_t>(id) < graph.values.size();
}

Result<void> check_value(const Graph& graph, const Value& value) {
  if (value.next != kNone) {
    if (!exists(graph, value.next)) return broken("the successor of a value does not exist", value.name);
    if (graph.value(value.next).type != value.type) return broken("a successor has another type", value.name);
  }
  if (value.data && static_cast<Bytes>(value.data->size()) != value.type.bytes()) {
    return broken(fmt::format("{} bytes of data for {}", value.data->size(), to_text(value.type)), value.name);
  }
  if (value.role != Role::kActivation && value.producer != kNone) {
    return broken("an op writes a value that only a step's end may change", value.name);
  }
  return {};
}

Result<void> check_lists(const Graph& graph) {
  for (const auto* list : {&graph.inputs, &graph.labels, &graph.outputs, &graph.results}) {
    for (const ValueId id : *list) {
      if (!exists(graph, id)) return broken("the graph lists a value that does not exist", graph.name);
    }
  }
  std::unordered_set<std::string> names;
  for (const Value& value : graph.values) {
    if (value.role != Role::kActivation && !names.insert(value.name).second) {
      return broken("two values that outlive the step have one name", value.name);
    }
  }
  return {};
}

Result<void> check_inputs(const Graph& graph, const Op& op, const std::vector<ValueId>& inputs,
                          const std::vector<char>& written) {
  for (const ValueId input : inputs) {
    if (!exists(graph, input)) return broken("an op reads a value that does not exist", op.name);
    if (graph.value(input).role == Role::kActivation && !written[static_cast<size_t>(input)]) {
      return broken(fmt::format("an op reads '{}' before it is made", graph.value(input).name), op.name);
    }
  }
  return {};
}

Result<void> check_operands(const Graph& graph, OpId id, const std::vector<char>& written) {
  const Op& op = graph.op(id);
  PANTOUM_TRY(check_inputs(graph, op, op.inputs, written));
  for (const Alternative& other : op.alternatives) PANTOUM_TRY(check_inputs(graph, op, other.inputs, written));
  for (const ValueId output : op.outputs) {
    if (!exists(graph, output)) return broken("an op writes a value that does not exist", op.name);
    if (graph.value(output).producer != id || written[static_cast<size_t>(output)]) {
      return broken(fmt::format("'{}' does not name the op that writes it", graph.value(output).name), op.name);
    }
  }
  return {};
}

Result<void> check_rule(const Graph& graph, const Op& op, const Alternative& as) {
  const std::vector<TensorType> inputs = types_of(graph, as.inputs), outputs = types_of(graph, op.outputs);
  Result<std::vector<TensorType>> inferred = infer_types(as.kind, {inputs, outputs, as.attrs});
  if (!inferred) return broken(inferred.error().message, op.name);
  if (*inferred != outputs) return broken("the types of an op's outputs are not what its rule gives", op.name);
  return {};
}

Result<void> check_shapes(const Graph& graph, const Op& op) {
  PANTOUM_TRY(check_rule(graph, op, {op.kind, op.inputs, op.attrs}));
  for (const Alternative& other : op.alternatives) PANTOUM_TRY(check_rule(graph, op, other));
  return {};
}

}  // namespace

Result<void> validate(const Graph& graph) {
  PANTOUM_TRY(check_lists(graph));
  for (const Value& value : graph.values) PANTOUM_TRY(check_value(graph, value));
  std::vector<char> written(graph.values.size(), 0);
  for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
    PANTOUM_TRY(check_operands(graph, op, written));
    PANTOUM_TRY(check_shapes(graph, graph.op(op)));
    for (const ValueId output : graph.op(op).outputs) written[static_cast<size_t>(output)] = 1;
  }
  for (const auto* list : {&graph.outputs, &graph.results}) {
    for (const ValueId id : *list) {
      if (graph.value(id).role == Role::kActivation && !written[static_cast<size_t>(id)]) {
        return broken("an output that no op makes", graph.value(id).name);
      }
    }
  }
  return {};
}

}  // namespace pantoum::ir
