#include "rewrite/edit.h"

#include <algorithm>
#include <cstring>

namespace pantoum::rewrite {
namespace {

bool reads(const std::vector<ValueId>& inputs, ValueId value) {
  return std::ranges::find(inputs, value) != inputs.end();
}

bool reads(const Op& op, ValueId value) {
  return reads(op.inputs, value) ||
         std::ranges::any_of(op.alternatives, [value](const auto& other) { return reads(other.inputs, value); });
}

template <class T>
std::optional<double> uniform(const Value& value) {
  const auto count = static_cast<size_t>(value.type.elements());
  if (!value.data) return 0;
  if (count == 0 || value.data->size() != count * sizeof(T)) return std::nullopt;
  T first{};
  std::memcpy(&first, value.data->data(), sizeof(T));
  for (size_t at = 1; at < count; ++at)
    if (std::memcmp(value.data->data() + at * sizeof(T), &first, sizeof(T)) != 0) return std::nullopt;
  return static_cast<double>(first);
}

}  // namespace

const Op* maker_of(const Graph& graph, ValueId value) {
  const OpId producer = graph.value(value).producer;
  return producer == kNone ? nullptr : &graph.op(producer);
}

const Op* maker_of(const Graph& graph, ValueId value, Kind kind) {
  const Op* op = maker_of(graph, value);
  return op != nullptr && op->kind == kind && is_ordinary(*op) ? op : nullptr;
}

bool is_ordinary(const Op& op) {
  return op.recompute && !op.optional && op.alternatives.empty() && op.kind != Kind::k_dropout &&
         op.kind != Kind::k_random && !ir::is_custom(op.kind) && ir::may_run_again(op.kind, op.attrs);
}

std::vector<OpId> readers_of(const Graph& graph, ValueId value) {
  std::vector<OpId> readers;
  const OpId first = graph.value(value).producer;  // kNone: -1
  for (OpId op = first + 1; op < static_cast<OpId>(graph.ops.size()); ++op)
    if (reads(graph.op(op), value)) readers.push_back(op);
  return readers;
}

std::vector<char> kept_values(const Graph& graph) {
  std::vector<char> kept(graph.values.size(), 0);
  for (const auto* list : {&graph.outputs, &graph.results})
    for (const ValueId value : *list) kept[position_of(value)] = 1;
  for (const Value& value : graph.values)
    if (value.next != kNone) kept[position_of(value.next)] = 1;
  return kept;
}

bool is_kept(const Graph& graph, ValueId value) {
  return reads(graph.outputs, value) || reads(graph.results, value) ||
         std::ranges::any_of(graph.values, [value](const Value& other) { return other.next == value; });
}

bool is_read_by_one(const Graph& graph, ValueId value) {
  size_t positions = 0;
  const OpId first = graph.value(value).producer;
  for (size_t op = position_of(first) + 1; op < graph.ops.size() && positions < 2; ++op) {
    const Op& reader = graph.ops[op];
    positions += static_cast<size_t>(std::ranges::count(reader.inputs, value));
    if (!reader.alternatives.empty() && reads(reader, value)) return false;
  }
  return positions == 1 && !is_kept(graph, value);
}

bool is_pointwise(const Op& op) {
  if (op.outputs.size() != 1 || !is_ordinary(op)) return false;
  switch (op.kind) {
    case Kind::k_cast:
    case Kind::k_round:
    case Kind::k_compare:
    case Kind::k_where:
    case Kind::k_maximum:
    case Kind::k_minimum:
    case Kind::k_maximum_grad:
    case Kind::k_mod:
    case Kind::k_bitwise:
      return true;
    default:
      return ir::op_def(op.kind).traits.pointwise;
  }
}

std::optional<std::vector<size_t>> full_inputs(const Graph& graph, const Op& op) {
  const Shape& shape = graph.value(op.outputs[0]).type.shape;
  std::vector<size_t> full;
  for (size_t input = 0; input < op.inputs.size(); ++input) {
    const TensorType& type = graph.value(op.inputs[input]).type;
    if (type.shape == shape) {
      full.push_back(input);
    } else if (type.elements() != 1 || !type.shape.empty()) {
      return std::nullopt;
    }
  }
  if (full.empty()) return std::nullopt;
  return full;
}

std::optional<double> uniform_constant(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.role != ir::Role::kConstant || value.next != kNone) return std::nullopt;
  switch (value.type.dtype) {
    case DType::kF32:
      return uniform<float>(value);
    case DType::kF64:
      return uniform<double>(value);
    case DType::kI64:
      return uniform<int64_t>(value);
    case DType::kI32:
      return uniform<int32_t>(value);
    default:
      return std::nullopt;
  }
}

bool differ_along(const TensorType& a, const TensorType& b, size_t axis) {
  if (a.dtype != b.dtype || a.shape.size() != b.shape.size() || axis >= a.shape.size()) return false;
  for (size_t d = 0; d < a.shape.size(); ++d)
    if (d != axis && a.shape[d] != b.shape[d]) return false;
  return true;
}

Edit::Edit(const Graph& graph, OpId at)
    : graph_(graph),
      builder_(graph_),
      at_(at),
      old_ops_(graph.ops.size()),
      old_values_(graph.values.size()),
      kept_(kept_values(graph)) {}

std::vector<ValueId> Edit::add(Kind kind, const std::string& name, std::vector<ValueId> inputs, Attrs attrs,
                               std::vector<TensorType> given) {
  return builder_.add(kind, name, std::move(inputs), std::move(attrs), std::move(given));
}

ValueId Edit::op(Kind kind, const std::string& name, std::vector<ValueId> inputs, Attrs attrs,
                 std::vector<TensorType> given) {
  return add(kind, name, std::move(inputs), std::move(attrs), std::move(given))[0];
}

ValueId Edit::again(const Op& op, std::vector<ValueId> inputs, Shape shape) {
  const DType dtype = graph_.value(op.outputs[0]).type.dtype;
  return add(op.kind, op.name, std::move(inputs), op.attrs, {{dtype, std::move(shape)}})[0];
}

ValueId Edit::reshape(const std::string& name, ValueId value, Shape shape) {
  const TensorType from = type(value);
  if (from.shape == shape) return value;
  return op(Kind::k_alias, name, {value}, {}, {{from.dtype, std::move(shape)}});
}

ValueId Edit::scale(const std::string& name, ValueId value, double a, double b) {
  if (a == 1 && b == 0) return value;
  return op(Kind::k_scale, name, {value}, {{}, {a, b}});
}

ValueId Edit::constant(const std::string& name, const TensorType& type, double number) {
  const auto width = static_cast<size_t>(ir::size_of(type.dtype));
  auto data = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(type.bytes()));
  const auto narrow = static_cast<float>(number);
  for (size_t at = 0; at < data->size(); at += width)
    std::memcpy(data->data() + at, width == sizeof narrow ? static_cast<const void*>(&narrow) : &number, width);
  return builder_.constant(name, type, std::move(data));
}

ValueId Edit::concat(const std::string& name, std::vector<ValueId> parts, size_t axis) {
  return op(Kind::k_concat, name, std::move(parts), {{static_cast<int64_t>(axis)}, {}});
}

bool Edit::is_kept(ValueId value) const {
  return position_of(value) < old_values_ && kept_[position_of(value)] != 0;
}

void Edit::read_instead(ValueId old, ValueId instead) {
  for (Op& op : graph_.ops) {
    std::ranges::replace(op.inputs, old, instead);
    for (ir::Alternative& other : op.alternatives) std::ranges::replace(other.inputs, old, instead);
  }
}

// Where `old` must stay, or `instead` is new, the two change makers: the name stays, and the op that made it before
// writes what nobody reads.
void Edit::replace(ValueId old, ValueId instead) {
  if (old == instead) return;
  const OpId from = graph_.value(old).producer, to = graph_.value(instead).producer;
  const bool is_new = position_of(instead) >= old_values_;
  failed_ = failed_ || type(old) != type(instead) || from == kNone;
  if (failed_ || builder_.error()) return;
  if (to != kNone && !is_kept(instead) && (is_new || is_kept(old))) {
    std::vector<ValueId>&before = graph_.ops[position_of(from)].outputs, &after = graph_.ops[position_of(to)].outputs;
    const auto place = std::ranges::find(before, old);
    const auto other = std::ranges::find(after, instead);
    std::swap(*place, *other);
    std::swap(graph_.value(old).producer, graph_.value(instead).producer);
    read_instead(instead, old);
  } else if (!is_kept(old)) {
    read_instead(old, instead);
  } else {
    failed_ = true;
  }
}

// Depth first from the ops in the order in which they stand, new ones before the op at which the change is.
bool Edit::order() {
  const size_t count = graph_.ops.size();
  std::vector<OpId> wanted;
  for (size_t op = 0; op < count; ++op) {
    if (op == position_of(at_))
      for (size_t fresh = old_ops_; fresh < count; ++fresh) wanted.push_back(static_cast<OpId>(fresh));
    if (op < old_ops_) wanted.push_back(static_cast<OpId>(op));
  }
  enum class State : char { kUnseen, kOpen, kDone };
  std::vector<State> states(count, State::kUnseen);
  std::vector<std::vector<ValueId>> needs(count);
  for (size_t op = 0; op < count; ++op) {
    needs[op] = graph_.ops[op].inputs;
    for (const ir::Alternative& other : graph_.ops[op].alternatives)
      needs[op].insert(needs[op].end(), other.inputs.begin(), other.inputs.end());
  }
  std::vector<OpId> ordered;
  std::vector<std::pair<OpId, size_t>> stack;
  for (const OpId first : wanted) {
    if (states[position_of(first)] == State::kDone) continue;
    stack.emplace_back(first, 0);
    states[position_of(first)] = State::kOpen;
    while (!stack.empty()) {
      auto& [op, next] = stack.back();
      if (next == needs[position_of(op)].size()) {
        states[position_of(op)] = State::kDone;
        ordered.push_back(op);
        stack.pop_back();
        continue;
      }
      const OpId producer = graph_.value(needs[position_of(op)][next++]).producer;
      if (producer == kNone || states[position_of(producer)] == State::kDone) continue;
      if (states[position_of(producer)] == State::kOpen) return false;
      states[position_of(producer)] = State::kOpen;
      stack.emplace_back(producer, 0);
    }
  }
  std::vector<Op> ops;
  ops.reserve(count);
  for (const OpId op : ordered) ops.push_back(std::move(graph_.ops[position_of(op)]));
  graph_.ops = std::move(ops);
  for (size_t op = 0; op < count; ++op)
    for (const ValueId output : graph_.ops[op].outputs) graph_.value(output).producer = static_cast<OpId>(op);
  return true;
}

std::optional<Graph> Edit::done() {
  if (failed_ || builder_.error() || !order()) return std::nullopt;
  ir::drop_dead_ops(graph_);
  return std::move(graph_);
}

}  // namespace pantoum::rewrite
