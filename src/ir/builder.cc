#include "ir/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "pantoum/pantoum.h"

namespace pantoum::ir {
namespace {

std::string unused(std::unordered_map<std::string, int>& taken, std::string name) {
  if (taken.try_emplace(name, 1).second) return name;
  while (true) {
    std::string next = fmt::format("{}#{}", name, ++taken[name]);
    if (taken.try_emplace(next, 1).second) return next;
  }
}

constexpr size_t kMostParts = PT_MAX_OPERANDS - 2;  // of one concat or split

template <class T>
Data bytes_of(const std::vector<T>& values) {
  auto data = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(data->data(), values.data(), data->size());
  return data;
}

// Does the permutation keep the order of the dimensions that are not 1?
bool keeps_order(const Shape& shape, const std::vector<int64_t>& perm) {
  int64_t last = -1;
  for (const int64_t from : perm) {
    if (shape[static_cast<size_t>(from)] == 1) continue;
    if (from < last) return false;
    last = from;
  }
  return true;
}

}  // namespace

Builder::Builder(Graph& graph) : graph_(graph) {
  for (const Value& value : graph.values) value_names_.try_emplace(value.name, 1);
  for (const Op& op : graph.ops) op_names_.try_emplace(op.name, 1);
}

ValueId Builder::value(std::string name, TensorType type, Role role, Data data) {
  Value made;
  made.name = unused(value_names_, std::move(name));
  made.type = std::move(type);
  made.role = role;
  made.data = std::move(data);
  graph_.values.push_back(std::move(made));
  return static_cast<ValueId>(graph_.values.size()) - 1;
}

ValueId Builder::input(std::string name, TensorType type, Role role) {
  const ValueId id = value(std::move(name), std::move(type), role, nullptr);
  (role == Role::kLabel ? graph_.labels : graph_.inputs).push_back(id);
  return id;
}

ValueId Builder::parameter(std::string name, TensorType type, Data data, bool trainable) {
  const ValueId id = value(std::move(name), std::move(type), Role::kParameter, std::move(data));
  graph_.value(id).trainable = trainable;
  return id;
}

ValueId Builder::state(std::string name, TensorType type) {
  return value(std::move(name), std::move(type), Role::kState, nullptr);
}

ValueId Builder::buffer(std::string name, TensorType type, Data data) {
  return value(std::move(name), std::move(type), Role::kBuffer, std::move(data));
}

ValueId Builder::constant(std::string name, TensorType type, Data data, bool of_model) {
  const ValueId id = value(std::move(name), std::move(type), Role::kConstant, std::move(data));
  graph_.value(id).of_model = of_model;
  return id;
}

ValueId Builder::constant_f32(std::string name, Shape shape, std::vector<float> values) {
  return constant(std::move(name), {DType::kF32, std::move(shape)}, bytes_of(values));
}

ValueId Builder::constant_i64(std::string name, Shape shape, std::vector<int64_t> values) {
  return constant(std::move(name), {DType::kI64, std::move(shape)}, bytes_of(values));
}

std::vector<ValueId> Builder::refused(Error error, const std::string& name, Kind kind, std::vector<TensorType> given) {
  if (!error_) {
    error.where = name;
    error_ = std::move(error);
  }
  given.resize(std::max(given.size(), static_cast<size_t>(std::max(op_def(kind).signature.min_outputs, 1))));
  std::vector<ValueId> outputs;
  outputs.reserve(given.size());
  for (TensorType& type : given) outputs.push_back(value(name, std::move(type), Role::kActivation, nullptr));
  return outputs;
}

std::vector<ValueId> Builder::add(Kind kind, std::string name, std::vector<ValueId> inputs, Attrs attrs,
                                  std::vector<TensorType> given) {
  name = prefix_ + name;
  if (error_) return refused(*error_, name, kind, std::move(given));
  for (const ValueId input : inputs) {
    if (input >= 0 && static_cast<size_t>(input) < graph_.values.size()) continue;
    Error missing{"E0211", fmt::format("{} reads a value that does not exist", name_of(kind)), "", {}, ""};
    return refused(std::move(missing), name, kind, std::move(given));
  }
  const std::vector<TensorType> types = types_of(graph_, inputs);
  Result<std::vector<TensorType>> inferred = infer_types(kind, {types, given, attrs});
  if (!inferred) return refused(std::move(inferred.error()), name, kind, std::move(given));
  Op op;
  op.kind = kind;
  op.name = unused(op_names_, name);
  op.inputs = std::move(inputs);
  op.attrs = std::move(attrs);
  op.recompute = may_run_again(kind, op.attrs);
  for (size_t output = 0; output < inferred->size(); ++output) {
    std::string called = inferred->size() == 1 ? op.name : fmt::format("{}:{}", op.name, output);
    const ValueId id = value(std::move(called), std::move((*inferred)[output]), Role::kActivation, nullptr);
    graph_.value(id).producer = static_cast<OpId>(graph_.ops.size());
    op.outputs.push_back(id);
  }
  graph_.ops.push_back(std::move(op));
  return graph_.ops.back().outputs;
}

ValueId Builder::op(Kind kind, std::string name, std::vector<ValueId> inputs, Attrs attrs,
                    std::vector<TensorType> given) {
  return add(kind, std::move(name), std::move(inputs), std::move(attrs), std::move(given))[0];
}

ValueId Builder::reshape(ValueId x, Shape shape) {
  const TensorType from = type(x);
  if (from.shape == shape) return x;
  return op(Kind::k_alias, graph_.value(x).name + ".reshape", {x}, {}, {{from.dtype, std::move(shape)}});
}

ValueId Builder::sum_to(ValueId x, Shape shape) {
  const Shape from = type(x).shape;
  if (from == shape || from.size() < shape.size()) return reshape(x, shape);
  const size_t pad = from.size() - shape.size();
  int64_t mask = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    const int64_t kept = d < pad ? 1 : shape[d - pad];
    if (kept == 1 && from[d] != 1) mask |= int64_t{1} << std::min<size_t>(d, 62);
  }
  if (mask == 0) return reshape(x, shape);
  const ValueId sum = op(Kind::k_reduce_sum, graph_.value(x).name + ".sum", {x}, {{mask}, {}});
  return reshape(sum, shape);
}

ValueId Builder::transpose(std::string name, ValueId x, std::vector<int64_t> perm) {
  const TensorType from = type(x);
  const Attrs attrs{std::move(perm), {}};
  const Result<std::vector<TensorType>> to = infer_types(Kind::k_transpose, {{&from, 1}, {}, attrs});
  if (!to || !keeps_order(from.shape, attrs.ints)) return op(Kind::k_transpose, std::move(name), {x}, attrs);
  if ((*to)[0] == from) return x;
  return op(Kind::k_alias, std::move(name), {x}, {}, *to);
}

ValueId Builder::scale(ValueId x, double a, double b) {
  if (a == 1 && b == 0) return x;
  return op(Kind::k_scale, graph_.value(x).name + ".scale", {x}, {{}, {a, b}});
}

ValueId Builder::concat(std::string name, std::vector<ValueId> parts, int64_t axis) {
  while (parts.size() > 1) {
    std::vector<ValueId> round;
    for (size_t first = 0; first < parts.size(); first += kMostParts) {
      const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kMostParts, parts.size() - first));
      if (end - begin == 1) {
        round.push_back(*begin);
        continue;
      }
      const std::vector<ValueId> these(begin, end);
      const auto [known, added] = joined_.try_emplace({axis, these}, kNone);
      if (added) known->second = op(Kind::k_concat, name, these, {{axis}, {}});
      round.push_back(known->second);
    }
    parts = std::move(round);
  }
  return parts[0];
}

std::vector<ValueId> Builder::split(std::string name, ValueId x, int64_t axis, const std::vector<int64_t>& extents) {
  if (extents.size() == 1) return {x};
  size_t each = 1;  // parts in one piece of this round
  while (each * kMostParts < extents.size()) each *= kMostParts;
  std::vector<TensorType> types;
  for (size_t first = 0; first < extents.size(); first += each) {
    types.push_back(type(x));
    int64_t& extent = types.back().shape[static_cast<size_t>(axis)];
    extent = 0;
    for (size_t part = first; part < std::min(first + each, extents.size()); ++part) extent += extents[part];
  }
  const std::vector<ValueId> pieces = add(Kind::k_split, name, {x}, {{axis}, {}}, types);
  if (each == 1) return pieces;
  std::vector<ValueId> parts;
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    const auto begin = extents.begin() + static_cast<std::ptrdiff_t>(piece * each);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(each, extents.size() - piece * each));
    for (const ValueId part : split(name, pieces[piece], axis, {begin, end})) parts.push_back(part);
  }
  return parts;
}

void Builder::rename(ValueId id, std::string name) {
  Value& named = graph_.value(id);
  if (named.name == name) return;
  value_names_.erase(named.name);
  named.name = unused(value_names_, std::move(name));
}

}  // namespace pantoum::ir
