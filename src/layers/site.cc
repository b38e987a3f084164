#include "layers/apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "layers/initial_values.h"
#include "pantoum/pantoum.h"

namespace pantoum::layers {
namespace {

constexpr const char* kTooMuch = "the model's parameters and constants take more than 2 GiB, which no ONNX file holds";
constexpr const char* kTaken = "there is an input, an output or a parameter of this name already";
constexpr size_t kMostRank = PT_MAX_RANK, kMostOutputs = 4096;

template <class Element>
Bytes bytes_of(const std::vector<Element>& elements) {
  Bytes bytes(elements.size() * sizeof(Element));
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

bool left_out(const Tensor& tensor) {
  return State::of(tensor) == nullptr;
}

Result<std::vector<KnownType>> told_types(const NodeOptions& options, size_t outputs) {
  if (options.types.size() != outputs)
    return pantoum::fail("E0211", fmt::format("{} types are told for {} outputs", options.types.size(), outputs));
  std::vector<KnownType> types;
  for (const ValueType& type : options.types) {
    KnownType known = batch_type(type.dtype, type.shape);
    if (type.shape.size() > kMostRank || !count_of(known.shapes[1], kMostExtent))
      return pantoum::fail("E0211",
                           fmt::format("the shape {} is told for an output, and an extent is -1 (the batch) or 1 "
                                       "or more",
                                       to_text(type.shape)));
    types.push_back(std::move(known));
  }
  return types;
}

}  // namespace

Tensor Site::fail(const std::string& problem) {
  state_.report(fmt::format("{} '{}'", kind_, name_), place_, problem);
  return none();
}

bool Site::names_value() {
  const std::string problem = State::problem_of_name(name_);
  if (problem.empty() && state_.claim_value(name_)) return true;
  fail(problem.empty() ? kTaken : problem);
  return false;
}

bool Site::takes(const Tensor& x) {
  if (left_out(x)) {
    fail("an operand is a Tensor{} that nothing was assigned to");
    return false;
  }
  if (State::of(x).get() != &state_) {
    fail("an operand belongs to another ModelBuilder");
    return false;
  }
  return State::id_of(x) != kNoValue;
}

bool Site::takes(const std::vector<Tensor>& tensors) {
  return std::ranges::all_of(tensors, [&](const Tensor& each) { return takes(each); });
}

bool Site::takes(const Tensor& x, size_t rank, const char* form, bool or_more) {
  if (!takes(x)) return false;
  const size_t has = shape(x).size();
  if (has == rank || (or_more && has > rank)) return true;
  fail(fmt::format("its input is {}, and it takes {}", type(x), form));
  return false;
}

Shape Site::shape(const Tensor& x) const {
  return shown(state_.value(State::id_of(x)).type);
}

std::string Site::type(const Tensor& x) const {
  return to_text(state_.value(State::id_of(x)).type);
}

std::optional<int64_t> Site::extent(const Tensor& x, size_t dimension) {
  const int64_t extent = shape(x)[dimension];
  if (extent != kBatch) return extent;
  fail(fmt::format("dimension {} of its input {} depends on the batch, and its parameters cannot", dimension, type(x)));
  return std::nullopt;
}

bool Site::within(const char* what, int64_t number, int64_t least, int64_t most) {
  if (number >= least && number <= most) return true;
  fail(most == kMostExtent ? fmt::format("{} is {}, and must be {} or more, below 2^31", what, number, least)
                           : fmt::format("{} is {}, and must be from {} to {}", what, number, least, most));
  return false;
}

bool Site::within(const char* what, double number, double least, double most) {
  if (number >= least && number <= most) return true;
  fail(fmt::format("{} is {}, and must be from {} to {}", what, number, least, most));
  return false;
}

// The parameter of a shared layer that was called before; another of the name is a mistake.
Tensor Site::existing(const std::string& name, ValueId id, const Shape& shape) {
  const KnownType& type = state_.value(id).type;
  if (!state_.is_called_again()) return fail(fmt::format("'{}': {}", name, kTaken));
  if (type.shapes[0] != shape)
    return fail(fmt::format("its parameter '{}' is {} since its first call; this input needs {}", name, to_text(type),
                            to_text(shape)));
  return state_.handle(id);
}

Tensor Site::parameter(const char* local, const Shape& shape, const Initial& initial, const Initial& otherwise,
                       Role role) {
  const std::string name = *local == '\0' ? name_ : fmt::format("{}.{}", name_, local);
  if (const ValueId known = state_.find_parameter(name); known != kNoValue) return existing(name, known, shape);
  if (!state_.claim_value(name)) return fail(fmt::format("'{}': {}", name, kTaken));
  const auto count = count_of(shape, kMostParameterBytes / 4);
  if (!count && std::ranges::any_of(shape, [](int64_t extent) { return extent < 1; }))
    return fail(fmt::format("its shape {} has an extent below 1", to_text(shape)));
  if (shape.size() > kMostRank) return fail(fmt::format("it has {} dimensions, more than {}", shape.size(), kMostRank));
  if (!count || !state_.spend_bytes(*count * 4))
    return fail(fmt::format("'{}' {}: {}", name, to_text(shape), kTooMuch));
  const Initial& first = initial.kind == Initial::Kind::of_layer ? otherwise : initial;
  const std::string problem = problem_of(first, *count);
  if (!problem.empty()) return fail(fmt::format("'{}': {}", name, problem));
  Bytes elements(static_cast<size_t>(*count) * sizeof(float));
  write_first_values(first, shape, state_.seed(), name,
                     {reinterpret_cast<float*>(elements.data()), static_cast<size_t>(*count)});
  return state_.handle(state_.add_value({name, role, fixed_type(DType::f32, shape), std::move(elements)}));
}

std::string Site::problem_of_constant(DType dtype, const Shape& shape, size_t bytes) {
  const auto count = count_of(shape, kMostParameterBytes);
  if (!count) return fmt::format("the shape {} of a constant has an extent below 1, or is too large", to_text(shape));
  if (shape.size() > kMostRank)
    return fmt::format("a constant has {} dimensions, more than {}", shape.size(), kMostRank);
  const auto given = bytes / element_size(dtype);
  if (given != static_cast<size_t>(*count) || bytes % element_size(dtype) != 0)
    return fmt::format("a constant of the shape {} has {} elements, and {} are given", to_text(shape), *count, given);
  return state_.spend_bytes(static_cast<int64_t>(bytes)) ? "" : kTooMuch;
}

Tensor Site::table(DType dtype, const Shape& shape, Bytes elements) {
  const std::string problem = problem_of_constant(dtype, shape, elements.size());
  if (!problem.empty()) return fail(problem);
  const bool is_short = elements.size() <= kMostKnown * element_size(dtype);
  Value value{name_, Role::kConstant, fixed_type(dtype, shape), std::move(elements)};
  if (is_short) value.type.contents.fill(std::make_shared<const Bytes>(value.elements));
  return state_.handle(state_.add_value(std::move(value)));
}

Tensor Site::constant(DType dtype, const Shape& shape, Bytes elements) {
  if (elements.size() > kMostKnown * element_size(dtype)) return table(dtype, shape, std::move(elements));
  const std::string problem = problem_of_constant(dtype, shape, elements.size());
  if (!problem.empty()) return fail(problem);
  Value value{"constant", Role::kConstant, fixed_type(dtype, shape), std::move(elements)};
  value.type.contents.fill(std::make_shared<const Bytes>(value.elements));
  return state_.handle(state_.add_constant(std::move(value)));
}

Tensor Site::reals(const Shape& shape, const std::vector<float>& elements) {
  return constant(DType::f32, shape, bytes_of(elements));
}

Tensor Site::filled(const Shape& shape, float element) {
  const auto count = count_of(shape, kMostParameterBytes / 4);
  if (!count || !state_.has_bytes(*count * 4)) return fail(kTooMuch);
  return reals(shape, std::vector<float>(static_cast<size_t>(*count), element));
}

Tensor Site::integers(const std::vector<int64_t>& elements) {
  return constant(DType::i64, {static_cast<int64_t>(elements.size())}, bytes_of(elements));
}

Tensor Site::integer(int64_t element) {
  return constant(DType::i64, {}, bytes_of(std::vector{element}));
}

Tensor Site::node(const char* op_type, const std::vector<Tensor>& operands, Attributes attributes) {
  return nodes(op_type, operands, {.attributes = std::move(attributes)})[0];
}

std::vector<Tensor> Site::nodes(const std::string& op_type, const std::vector<Tensor>& operands,
                                const NodeOptions& options) {
  const auto count = static_cast<size_t>(std::clamp<int64_t>(options.outputs, 1, kMostOutputs));
  std::vector<Tensor> made(count, state_.handle(kNoValue));
  NodeRecord node{op_type, options.domain, name_, {}, {}, options.attributes};
  bool fine = true;
  for (const Tensor& operand : operands) {
    fine = (left_out(operand) || takes(operand)) && fine;
    node.inputs.push_back(State::id_of(operand));
  }
  if (!fine) return made;
  const Result<std::vector<KnownType>> types =
      options.types.empty() ? infer_node(state_, node, count) : told_types(options, count);
  if (!types) return fail(types.error().message), made;
  for (size_t output = 0; output < count; ++output) {
    node.outputs.push_back(state_.add_value({name_, Role::kComputed, (*types)[output]}));
    made[output] = state_.handle(node.outputs.back());
  }
  state_.add_node(std::move(node));
  return made;
}

}  // namespace pantoum::layers
