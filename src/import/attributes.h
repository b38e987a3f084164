// Typed access to the attributes of a node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "import/onnx_proto.h"

namespace pantoum::import {

// An attribute of another type than asked for counts as absent, and is remembered in `problem`.
class Attributes {
 public:
  explicit Attributes(const onnx::NodeProto& node) : node_(&node) {}

  [[nodiscard]] bool has(const char* name) const { return find(name) != nullptr; }
  [[nodiscard]] int64_t integer(const char* name, int64_t otherwise);
  [[nodiscard]] double real(const char* name, double otherwise);
  [[nodiscard]] std::string text(const char* name, const char* otherwise);
  [[nodiscard]] std::optional<std::vector<int64_t>> integers(const char* name);
  [[nodiscard]] std::optional<std::vector<std::string>> texts(const char* name);
  [[nodiscard]] const onnx::TensorProto* tensor(const char* name);
  [[nodiscard]] const onnx::GraphProto* graph(const char* name);
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  [[nodiscard]] const onnx::AttributeProto* find(const char* name) const;
  [[nodiscard]] const onnx::AttributeProto* find(const char* name, int type);

  const onnx::NodeProto* node_;
  std::string problem_;
};

}  // namespace pantoum::import
