#include "aten/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "import/tensor.h"

namespace pantoum::aten {

using ir::DType;
using ir::Kind;
using ir::kNone;
using ir::Shape;
using ir::TensorType;
using ir::ValueId;

Failure unsupported(std::string why, std::string help) {
  return fail("E0401", std::move(why), {}, std::move(help));
}

Failure Node::wrong(Slot slot, const char* wanted) const {
  return fail("E0211", fmt::format("its argument '{}' is not {}", slot.name, wanted));
}

const Arg* Node::arg(Slot slot) const {
  const Arg* found = slot.position < call_.args.size() ? &call_.args[slot.position] : nullptr;
  for (const auto& [name, value] : call_.kwargs)
    if (name == slot.name) found = &value;
  return found == nullptr || found->is_none() ? nullptr : found;
}

bool Node::is_tensor(Slot slot) const {
  const Arg* found = arg(slot);
  return found != nullptr && found->as<ValueName>() != nullptr;
}

Result<ValueId> Node::find(const std::string& name) const {
  const auto problem = build_.problems.find(name);
  if (problem != build_.problems.end()) return fail("E0212", problem->second);
  const auto found = build_.values.find(name);
  if (found == build_.values.end()) return fail("E0211", fmt::format("it reads '{}', which is not made", name));
  return found->second;
}

Result<ValueId> Node::tensor(Slot slot) const {
  if (!is_tensor(slot)) return wrong(slot, "a tensor");
  return find(arg(slot)->as<ValueName>()->name);
}

Result<ValueId> Node::real(Slot slot) const {
  PANTOUM_ASSIGN(const ValueId id, tensor(slot));
  const DType dtype = type_of(id).dtype;
  if (dtype == DType::kF32) return id;
  return unsupported(
      fmt::format("its argument '{}' is {}, and it computes on float32 alone", slot.name, ir::name_of(dtype)),
      "convert it by .float() before");
}

Result<TensorType> Node::type(Slot slot) const {
  PANTOUM_ASSIGN(const ValueId id, tensor(slot));
  return type_of(id);
}

Result<std::vector<ValueId>> Node::optional_tensors(Slot slot) const {
  const Arg* found = arg(slot);
  const Arg::List* items = found == nullptr ? nullptr : found->as<Arg::List>();
  if (items == nullptr) return wrong(slot, "a list of tensors");
  std::vector<ValueId> all;
  for (const Arg& item : *items) {
    const ValueName* value = item.as<ValueName>();
    if (value == nullptr && !item.is_none()) return wrong(slot, "a list of tensors");
    all.push_back(kNone);
    if (value == nullptr) continue;
    PANTOUM_ASSIGN(all.back(), find(value->name));
  }
  return all;
}

Result<std::vector<ValueId>> Node::tensors(Slot slot) const {
  PANTOUM_ASSIGN(std::vector<ValueId> all, optional_tensors(slot));
  if (all.empty() || std::find(all.begin(), all.end(), kNone) != all.end()) return wrong(slot, "a list of tensors");
  return all;
}

Result<ValueId> Node::as(Slot slot, DType dtype) {
  const Arg* found = arg(slot);
  if (found == nullptr) return wrong(slot, "a tensor or a number");
  if (found->as<ValueName>() != nullptr) {
    PANTOUM_ASSIGN(const ValueId id, tensor(slot));
    return cast(id, dtype);
  }
  if (const bool* truth = found->as<bool>()) return whole_constant(dtype, {}, {*truth ? 1 : 0});
  if (const int64_t* whole = found->as<int64_t>())
    return ir::is_float(dtype) ? constant(dtype, {}, {static_cast<double>(*whole)})
                               : whole_constant(dtype, {}, {*whole});
  if (const double* number = found->as<double>()) return constant(dtype, {}, {*number});
  return wrong(slot, "a tensor or a number");
}

Result<std::optional<double>> Node::number(Slot slot) const {
  const Arg* found = arg(slot);
  if (found == nullptr || found->as<ValueName>() != nullptr) return std::optional<double>();
  if (const bool* truth = found->as<bool>()) return std::optional(*truth ? 1.0 : 0.0);
  if (const int64_t* whole = found->as<int64_t>()) return std::optional(static_cast<double>(*whole));
  if (const double* number = found->as<double>()) return std::optional(*number);
  return wrong(slot, "a number");
}

Result<double> Node::number(Slot slot, double otherwise) const {
  if (is_tensor(slot)) return unsupported(fmt::format("its argument '{}' is a tensor", slot.name), "give it a number");
  PANTOUM_ASSIGN(const std::optional<double> told, number(slot));
  return told.value_or(otherwise);
}

// Integers are extents and places: beyond these, all are alike, and sums of a few do not overflow.
static int64_t bounded_integer(int64_t whole) {
  constexpr int64_t kMost = int64_t{1} << 58;
  return std::clamp(whole, -kMost, kMost);
}

Result<int64_t> Node::integer(Slot slot) const {
  const Arg* found = arg(slot);
  if (found != nullptr) {
    if (const int64_t* whole = found->as<int64_t>()) return bounded_integer(*whole);
    if (const bool* truth = found->as<bool>()) return *truth ? 1 : 0;
    if (found->as<ValueName>() != nullptr)
      return unsupported(fmt::format("its argument '{}' depends on the data", slot.name),
                         "use a number that the module knows");
  }
  return wrong(slot, "an integer");
}

Result<int64_t> Node::integer(Slot slot, int64_t otherwise) const {
  return has(slot) ? integer(slot) : Result<int64_t>(otherwise);
}

Result<bool> Node::boolean(Slot slot, bool otherwise) const {
  PANTOUM_ASSIGN(const int64_t told, integer(slot, otherwise ? 1 : 0));
  return told != 0;
}

Result<std::string> Node::text(Slot slot, const char* otherwise) const {
  if (!has(slot)) return std::string(otherwise);
  const std::string* told = arg(slot)->as<std::string>();
  if (told == nullptr) return wrong(slot, "a text");
  return *told;
}

Result<std::vector<int64_t>> Node::integers(Slot slot) const {
  std::vector<int64_t> all;
  const Arg* found = arg(slot);
  if (found == nullptr) return all;
  if (const int64_t* one = found->as<int64_t>()) return std::vector<int64_t>{bounded_integer(*one)};
  const Arg::List* items = found->as<Arg::List>();
  if (items == nullptr) return wrong(slot, "a list of integers");
  for (const Arg& item : *items) {
    if (item.as<ValueName>() != nullptr)
      return unsupported(fmt::format("its argument '{}' depends on the data", slot.name), "use fixed shapes");
    const int64_t* whole = item.as<int64_t>();
    if (whole == nullptr) return wrong(slot, "a list of integers");
    all.push_back(bounded_integer(*whole));
  }
  return all;
}

Result<int64_t> Node::dimension(Slot slot, size_t rank, int64_t otherwise) const {
  PANTOUM_ASSIGN(int64_t d, integer(slot, otherwise));
  const auto all = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (d < -all || d >= all) return wrong(slot, "a dimension that there is");
  return d < 0 ? d + all : d;
}

Result<size_t> Node::axis(Slot slot, ValueId x, int64_t otherwise) const {
  const size_t rank = shape_of(x).size();
  if (rank == 0) return fail("E0211", "its operand has no dimensions");
  PANTOUM_ASSIGN(const int64_t d, dimension(slot, rank, otherwise));
  return static_cast<size_t>(d);
}

Result<std::vector<int64_t>> Node::dimensions(Slot slot, size_t rank) const {
  PANTOUM_ASSIGN(std::vector<int64_t> all, integers(slot));
  const auto count = static_cast<int64_t>(std::max<size_t>(rank, 1));
  for (int64_t& d : all) {
    if (d < -count || d >= count) return wrong(slot, "a list of dimensions that there are");
    if (d < 0) d += count;
  }
  std::sort(all.begin(), all.end());
  if (std::adjacent_find(all.begin(), all.end()) != all.end()) return wrong(slot, "a list of different dimensions");
  return all;
}

const ir::Shape& Node::wanted_shape() const {
  size_t first = 0;
  while (first + 1 < output_count() && !wants(first)) ++first;
  return output(first).shape;
}

Result<void> Node::set(size_t output, ValueId id) {
  if (!wants(output)) return {};
  if (type_of(id) != call_.outputs[output].type)
    return fail("E0211", fmt::format("its result is {} here, and was captured as {}", ir::to_text(type_of(id)),
                                     ir::to_text(call_.outputs[output].type)));
  build_.values[call_.outputs[output].name] = id;
  return {};
}

Result<void> Node::set(Result<ValueId> id) {
  PANTOUM_ASSIGN(const ValueId made, std::move(id));
  return set(0, made);
}

Result<std::vector<ValueId>> Node::add(Kind kind, std::vector<ValueId> inputs, ir::Attrs attrs,
                                       std::vector<TensorType> given) {
  const std::vector<TensorType> types = ir::types_of(builder().graph(), inputs);
  PANTOUM_TRY(ir::infer_types(kind, {types, given, attrs}));
  return builder().add(kind, label(), std::move(inputs), std::move(attrs), std::move(given));
}

Result<ValueId> Node::op(Kind kind, std::vector<ValueId> inputs, ir::Attrs attrs, std::vector<TensorType> given) {
  PANTOUM_ASSIGN(const std::vector<ValueId> outputs, add(kind, std::move(inputs), std::move(attrs), std::move(given)));
  return outputs[0];
}

Result<ValueId> Node::reshape(ValueId x, Shape shape) {
  const TensorType from = type_of(x);
  if (from.shape == shape) return x;
  return op(Kind::k_alias, {x}, {}, {{from.dtype, std::move(shape)}});
}

Result<ValueId> Node::transpose(ValueId x, std::vector<int64_t> perm) {
  const std::vector<TensorType> types = {type_of(x)};
  const ir::Attrs attrs{perm, {}};
  PANTOUM_TRY(ir::infer_types(Kind::k_transpose, {types, {}, attrs}));
  return builder().transpose(label(), x, std::move(perm));
}

Result<ValueId> Node::expand(ValueId x, Shape shape) {
  const TensorType from = type_of(x);
  if (from.shape == shape) return x;
  return op(Kind::k_expand, {x}, {{}, {1.0}}, {{from.dtype, std::move(shape)}});
}

Result<ValueId> Node::scale(ValueId x, double a, double b) {
  if (a == 1 && b == 0) return x;
  return op(Kind::k_scale, {x}, {{}, {a, b}});
}

Result<ValueId> Node::cast(ValueId x, DType dtype) {
  const TensorType from = type_of(x);
  if (from.dtype == dtype) return x;
  return op(Kind::k_cast, {x}, {}, {{dtype, from.shape}});
}

Result<ValueId> Node::reduce(Kind kind, ValueId x, const std::vector<int64_t>& dimensions, bool keep) {
  Shape kept = shape_of(x);
  if (kept.empty()) return x;
  int64_t mask = 0;
  for (const int64_t d : dimensions) mask |= int64_t{1} << d;
  if (dimensions.empty()) mask = (int64_t{1} << kept.size()) - 1;
  for (size_t d = 0; d < kept.size(); ++d)
    if ((mask >> d & 1) != 0) kept[d] = 1;
  PANTOUM_ASSIGN(const ValueId y, op(kind, {x}, {{mask}, {}}));
  return keep ? reshape(y, kept) : Result<ValueId>(y);
}

ValueId Node::constant(DType dtype, Shape shape, const std::vector<double>& values) {
  const import::Tensor made = import::make_tensor(dtype, std::move(shape), values);
  return builder().constant(label() + ".constant", made.type, made.data);
}

ValueId Node::whole_constant(DType dtype, Shape shape, const std::vector<int64_t>& values) {
  const import::Tensor made = import::make_tensor(dtype, std::move(shape), values);
  return builder().constant(label() + ".constant", made.type, made.data);
}

}  // namespace pantoum::aten
