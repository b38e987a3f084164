#include "aten/node.h"

#include <algorithm>

namespace pantoum::aten {

Value Node::wrong(Slot slot, const char* wanted) {
  return refuse(misfit("its argument '{}' is not {}", slot.name, wanted));
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

Value Node::find(const std::string& name) {
  const auto problem = build_.problems.find(name);
  if (problem != build_.problems.end()) return refuse(fail("E0212", problem->second));
  const auto found = build_.values.find(name);
  if (found == build_.values.end()) return refuse(misfit("it reads '{}', which is not made", name));
  return at(found->second);
}

Value Node::tensor(Slot slot) {
  return is_tensor(slot) ? find(arg(slot)->as<ValueName>()->name) : wrong(slot, "a tensor");
}

Value Node::real(Slot slot) {
  const Value x = tensor(slot);
  if (x.dtype() == DType::kF32) return x;
  return refuse(unsupported(
      fmt::format("its argument '{}' is {}, and it computes on float32 alone", slot.name, ir::name_of(x.dtype())),
      "convert it by .float() before"));
}

Value Node::optional(Slot slot) {
  return has(slot) ? real(slot) : Value();
}

Values Node::optional_tensors(Slot slot) {
  const Arg* found = arg(slot);
  const Arg::List* items = found == nullptr ? nullptr : found->as<Arg::List>();
  Values all;
  if (items == nullptr) wrong(slot, "a list of tensors");
  for (const Arg& item : items == nullptr ? Arg::List() : *items) {
    const ValueName* value = item.as<ValueName>();
    if (value == nullptr && !item.is_none()) wrong(slot, "a list of tensors");
    all.push_back(value == nullptr ? Value() : find(value->name));
  }
  return all;
}

Values Node::tensors(Slot slot) {
  Values all = optional_tensors(slot);
  if (all.empty() || std::ranges::any_of(all, [](const Value& each) { return !each; }))
    all = {wrong(slot, "a list of tensors")};
  return all;
}

Value Node::as(Slot slot, DType dtype) {
  const Arg* found = arg(slot);
  if (found != nullptr) {
    if (found->as<ValueName>() != nullptr) return cast(tensor(slot), dtype);
    if (const bool* truth = found->as<bool>()) return whole(dtype, {}, {*truth ? 1 : 0});
    if (const int64_t* integer = found->as<int64_t>())
      return ir::is_float(dtype) ? constant(dtype, {}, {static_cast<double>(*integer)}) : whole(dtype, {}, {*integer});
    if (const double* number = found->as<double>()) return constant(dtype, {}, {*number});
  }
  return wrong(slot, "a tensor or a number");
}

std::optional<double> Node::told_number(Slot slot) {
  const Arg* found = arg(slot);
  if (found == nullptr || found->as<ValueName>() != nullptr) return std::nullopt;
  if (const bool* truth = found->as<bool>()) return *truth ? 1.0 : 0.0;
  if (const int64_t* whole = found->as<int64_t>()) return static_cast<double>(*whole);
  if (const double* number = found->as<double>()) return *number;
  wrong(slot, "a number");
  return std::nullopt;
}

double Node::number(Slot slot, double otherwise) {
  if (is_tensor(slot)) refuse(unsupported(fmt::format("its argument '{}' is a tensor", slot.name), "give it a number"));
  return told_number(slot).value_or(otherwise);
}

// Integers are extents and places: beyond these, all are alike, and sums of a few do not overflow.
static int64_t bounded(int64_t whole) {
  constexpr int64_t kMost = int64_t{1} << 58;
  return std::clamp(whole, -kMost, kMost);
}

int64_t Node::integer(Slot slot) {
  const Arg* found = arg(slot);
  if (found != nullptr) {
    if (const int64_t* whole = found->as<int64_t>()) return bounded(*whole);
    if (const bool* truth = found->as<bool>()) return *truth ? 1 : 0;
    if (found->as<ValueName>() != nullptr)
      refuse(unsupported(fmt::format("its argument '{}' depends on the data", slot.name),
                         "use a number that the module knows"));
  }
  wrong(slot, "an integer");
  return 0;
}

int64_t Node::integer(Slot slot, int64_t otherwise) {
  return has(slot) ? integer(slot) : otherwise;
}

std::string Node::text(Slot slot, const char* otherwise) {
  if (!has(slot)) return otherwise;
  if (const std::string* told = arg(slot)->as<std::string>()) return *told;
  wrong(slot, "a text");
  return otherwise;
}

Integers Node::integers(Slot slot) {
  Integers all;
  const Arg* found = arg(slot);
  if (found == nullptr) return all;
  if (const int64_t* one = found->as<int64_t>()) return {bounded(*one)};
  const Arg::List* items = found->as<Arg::List>();
  if (items == nullptr) wrong(slot, "a list of integers");
  for (const Arg& item : items == nullptr ? Arg::List() : *items) {
    if (item.as<ValueName>() != nullptr)
      refuse(unsupported(fmt::format("its argument '{}' depends on the data", slot.name), "use fixed shapes"));
    const int64_t* whole = item.as<int64_t>();
    if (whole == nullptr) wrong(slot, "a list of integers");
    all.push_back(whole == nullptr ? 0 : bounded(*whole));
  }
  return all;
}

size_t Node::dimension(Slot slot, size_t rank, int64_t otherwise) {
  const int64_t told = integer(slot, otherwise), all = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (told >= -all && told < all) return static_cast<size_t>(told < 0 ? told + all : told);
  wrong(slot, "a dimension that there is");
  return 0;
}

Result<size_t> Node::axis(Slot slot, const Value& x, int64_t otherwise) {
  PANTOUM_TRY(refusal());
  if (x.rank() == 0) return misfit("its operand has no dimensions");
  return dimension(slot, x.rank(), otherwise);
}

Integers Node::dimensions(Slot slot, size_t rank) {
  Integers all = integers(slot);
  const auto count = static_cast<int64_t>(std::max<size_t>(rank, 1));
  for (int64_t& d : all) {
    if (d < -count || d >= count) wrong(slot, "a list of dimensions that there are");
    d = std::clamp<int64_t>(d < 0 ? d + count : d, 0, count - 1);
  }
  std::ranges::sort(all);
  if (std::ranges::adjacent_find(all) != all.end()) wrong(slot, "a list of different dimensions");
  return all;
}

const Shape& Node::wanted_shape() const {
  size_t first = 0;
  while (first + 1 < output_count() && !wants(first)) ++first;
  return output(first).shape;
}

Result<void> Node::set(size_t output, const Value& value) {
  PANTOUM_TRY(refusal());
  if (!wants(output)) return {};
  if (value.type() != call_.outputs[output].type)
    return misfit("its result is {} here, and was captured as {}", ir::to_text(value.type()),
                  ir::to_text(call_.outputs[output].type));
  build_.values[call_.outputs[output].name] = value;
  return {};
}

Result<void> Node::set_both(const Value& first, const Value& second) {
  PANTOUM_TRY(set(0, first));
  return set(1, second);
}

}  // namespace pantoum::aten
