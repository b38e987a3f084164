#include "import/attributes.h"

#include <fmt/format.h>

#include "import/onnx_messages.h"

namespace pantoum::import {

using Message = onnx::AttributeProto;

const Message* Attributes::find(const char* name) const {
  for (const Message& attribute : node_->attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

const Message* Attributes::find(const char* name, int type) {
  const Message* attribute = find(name);
  if (attribute == nullptr || attribute->type() == type) return attribute;
  problem_ = fmt::format("its attribute '{}' has the wrong type", name);
  return nullptr;
}

int64_t Attributes::integer(const char* name, int64_t otherwise) {
  const Message* attribute = find(name, Message::INT);
  return attribute != nullptr ? attribute->i() : otherwise;
}

double Attributes::real(const char* name, double otherwise) {
  const Message* attribute = find(name, Message::FLOAT);
  return attribute != nullptr ? static_cast<double>(attribute->f()) : otherwise;
}

std::string Attributes::text(const char* name, const char* otherwise) {
  const Message* attribute = find(name, Message::STRING);
  return attribute != nullptr ? attribute->s() : otherwise;
}

std::optional<std::vector<int64_t>> Attributes::integers(const char* name) {
  const Message* attribute = find(name, Message::INTS);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::optional<std::vector<std::string>> Attributes::texts(const char* name) {
  const Message* attribute = find(name, Message::STRINGS);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

const onnx::TensorProto* Attributes::tensor(const char* name) {
  const Message* attribute = find(name, Message::TENSOR);
  return attribute != nullptr ? &attribute->t() : nullptr;
}

const onnx::GraphProto* Attributes::graph(const char* name) {
  const Message* attribute = find(name, Message::GRAPH);
  return attribute != nullptr ? &attribute->g() : nullptr;
}

}  // namespace pantoum::import
