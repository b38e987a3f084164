#include "import/model_names.h"

#include <fmt/format.h>

#include "base/foreign_text.h"
#include "import/onnx_messages.h"

namespace pantoum::import {
namespace {

Result<void> check(const std::string& name, const char* whose) {
  const bool is_whole = name.find('\0') == std::string::npos;
  if (is_whole && base::is_utf8(name)) return {};
  return fail("E0207", fmt::format("the name of a {} {}", whose, is_whole ? "is no UTF-8" : "has a zero byte"),
              fmt::format("'{}'", base::one_line(name)), "rename it in the model, and export it again");
}

Result<void> check_node(const onnx::NodeProto& node) {
  PANTOUM_TRY(check(node.name(), "node"));
  for (const std::string& input : node.input()) PANTOUM_TRY(check(input, "value"));
  for (const std::string& output : node.output()) PANTOUM_TRY(check(output, "value"));
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) PANTOUM_TRY(check_names(attribute.g()));
    for (const auto& graph : attribute.graphs()) PANTOUM_TRY(check_names(graph));
  }
  return {};
}

Result<void> check_value(const onnx::ValueInfoProto& value) {
  PANTOUM_TRY(check(value.name(), "value"));
  for (const auto& dim : value.type().tensor_type().shape().dim()) PANTOUM_TRY(check(dim.dim_param(), "dimension"));
  return {};
}

}  // namespace

Result<void> check_names(const onnx::GraphProto& graph) {
  PANTOUM_TRY(check(graph.name(), "graph"));
  for (const auto& tensor : graph.initializer()) PANTOUM_TRY(check(tensor.name(), "tensor"));
  for (const auto& input : graph.input()) PANTOUM_TRY(check_value(input));
  for (const auto& output : graph.output()) PANTOUM_TRY(check_value(output));
  for (const auto& node : graph.node()) PANTOUM_TRY(check_node(node));
  return {};
}

}  // namespace pantoum::import
