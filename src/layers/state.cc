#include "layers/state.h"

#include <fmt/format.h>

#include "base/foreign_text.h"
#include "import/onnx_messages.h"

namespace pantoum::layers {

Shape shown(const KnownType& type) {
  Shape shape = type.shapes[0];
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != type.shapes[1][d]) shape[d] = kBatch;
  return shape;
}

std::string to_text(const Shape& shape) {
  std::string text;
  for (const int64_t extent : shape)
    text += (text.empty() ? "" : ",") + (extent == kBatch ? "N" : std::to_string(extent));
  return "[" + text + "]";
}

std::string to_text(const KnownType& type) {
  return std::string(name_of(type.dtype)) + to_text(shown(type));
}

std::optional<int64_t> count_of(const Shape& shape, int64_t most) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 1 || extent > most / count) return std::nullopt;
    count *= extent;
  }
  return count;
}

KnownType fixed_type(DType dtype, const Shape& shape) {
  return {dtype, {shape, shape}};
}

KnownType batch_type(DType dtype, const Shape& shape) {
  KnownType type = fixed_type(dtype, shape);
  for (size_t which = 0; which < kBatches.size(); ++which)
    for (int64_t& extent : type.shapes[which])
      if (extent == kBatch) extent = kBatches[which];
  return type;
}

int32_t onnx_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return onnx::TensorProto::FLOAT;
    case DType::i64:
      return onnx::TensorProto::INT64;
    case DType::i32:
      return onnx::TensorProto::INT32;
    case DType::u8:
      return onnx::TensorProto::UINT8;
    case DType::boolean:
      return onnx::TensorProto::BOOL;
  }
  return onnx::TensorProto::UNDEFINED;
}

namespace {

std::string file_of(const Place& place) {
  const std::string_view path = place.file;
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace

ValueId State::find_parameter(const std::string& name) const {
  const auto found = parameters_.find(name);
  return found == parameters_.end() ? kNoValue : found->second;
}

ValueId State::add_value(Value value) {
  const auto id = static_cast<ValueId>(values_.size());
  if (value.role == Role::kParameter || value.role == Role::kStatistic) parameters_.emplace(value.name, id);
  values_.push_back(std::move(value));
  return id;
}

ValueId State::add_constant(Value value) {
  const auto [known, is_new] =
      constants_.try_emplace({value.type.dtype, value.type.shapes[0], value.elements}, kNoValue);
  if (is_new) known->second = add_value(std::move(value));
  return known->second;
}

bool State::spend_bytes(int64_t bytes) {
  if (!has_bytes(bytes)) return false;
  bytes_ += bytes;
  return true;
}

void State::report(const std::string& what, const Place& place, const std::string& problem) {
  problems_.push_back(base::one_line(fmt::format("{}:{}: {}: {}", file_of(place), place.line, what, problem)));
}

std::string State::problem_of_name(const std::string& name) {
  if (name.empty()) return "its name is empty";
  if (name.find('\0') != std::string::npos) return "its name has a zero byte";
  return base::is_utf8(name) ? "" : "its name is no UTF-8";
}

std::string State::claim(std::string_view kind, const std::string& wanted, const Place& place) {
  if (wanted.empty()) {
    int& count = counts_[fmt::format("{}\n{}", prefix_, kind)];
    for (;;) {
      std::string name = fmt::format("{}{}{}", prefix_, kind, ++count);
      if (is_called_again()) return name;
      if (!names_.contains(name) && made_up_.insert(name).second) return name;
    }
  }
  std::string name = prefix_ + wanted;
  const std::string problem = problem_of_name(wanted);
  const std::string what = fmt::format("{} '{}'", kind, name);
  if (!problem.empty())
    report(what, place, problem);
  else if (!names_.insert(name).second && !is_called_again())
    report(what, place, "there is another of this name; make() gives a layer that may be called twice");
  return name;
}

void State::begin_again(const std::string& shared) {
  ++called_again_;
  const std::string below = shared + ".";
  for (auto& [key, count] : counts_)
    if (key.starts_with(below)) count = 0;
}

}  // namespace pantoum::layers
