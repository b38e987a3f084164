#include "import/declared_types.h"

#include <fmt/format.h>

#include <unordered_map>

#include "import/onnx_messages.h"
#include "import/tensor.h"

namespace pantoum::import {
namespace {

using Declared = std::unordered_map<std::string, const onnx::TypeProto_Tensor*>;

Declared declared_values(const onnx::GraphProto& graph) {
  Declared declared;
  for (const auto* values : {&graph.output(), &graph.value_info()})
    for (const auto& value : *values)
      if (value.type().has_tensor_type()) declared.try_emplace(value.name(), &value.type().tensor_type());
  return declared;
}

// Is the dimension what the file declares? `other` is its extent at another batch.
bool agrees(const onnx::TensorShapeProto_Dimension& declared, int64_t extent, int64_t other, const Batch& batch) {
  if (!declared.has_dim_value() || declared.dim_value() < 0 || declared.dim_value() == extent) return true;
  return batch.rebinds != 0 || extent != other;
}

bool agrees(const onnx::TensorShapeProto& declared, const ir::Shape& shape, const ir::Shape& other,
            const Batch& batch) {
  if (static_cast<size_t>(declared.dim_size()) != shape.size() || other.size() != shape.size()) return false;
  for (int d = 0; d < declared.dim_size(); ++d) {
    const auto at = static_cast<size_t>(d);
    if (!agrees(declared.dim(d), shape[at], other[at], batch)) return false;
  }
  return true;
}

std::string problem_of(const onnx::TypeProto_Tensor& declared, const ir::TensorType& type, const ir::Shape& other,
                       const Batch& batch) {
  const auto dtype = dtype_of(declared.elem_type());
  if (dtype && runtime_dtype(*dtype) != runtime_dtype(type.dtype))
    return fmt::format("{}, and the file declares {}", ir::name_of(type.dtype), onnx_type_name(declared.elem_type()));
  if (!declared.has_shape() || agrees(declared.shape(), type.shape, other, batch)) return {};
  return fmt::format("{}, and the file declares {}", ir::to_text(type.shape), show_dims(declared.shape()));
}

void refuse(NodeOutcome& outcome, size_t output, const std::string& problem) {
  outcome.code = "E0211";
  outcome.coverage.forward = outcome.coverage.gradient = false;
  outcome.coverage.problem =
      fmt::format("its output {} is {}; export the model again, or correct what the file declares", output, problem);
}

}  // namespace

std::string check_declared(const Model& model, const Batch& batch, LoweredModel& lowered, const LoweredModel* wider) {
  const Declared declared = declared_values(model.proto->graph());
  const bool warns = model.proto->producer_name() == "pytorch";
  std::vector<std::string> told;
  for (size_t node = 0; node < lowered.nodes.size(); ++node) {
    NodeOutcome& outcome = lowered.nodes[node];
    const auto& names = model.proto->graph().node(static_cast<int>(node)).output();
    for (size_t output = 0; output < outcome.types.size() && outcome.code.empty(); ++output) {
      const std::string& name = names[static_cast<int>(output)];
      const auto found = declared.find(name);
      const std::optional<ir::TensorType>& type = outcome.types[output];
      if (!type || found == declared.end()) continue;
      const auto* at_more = wider != nullptr ? &wider->nodes[node].types : nullptr;
      const bool both = at_more != nullptr && output < at_more->size() && (*at_more)[output];
      const std::string problem =
          problem_of(*found->second, *type, both ? (*at_more)[output]->shape : type->shape, batch);
      if (problem.empty()) continue;
      if (warns)
        told.push_back(fmt::format("'{}' is {}", name, problem));
      else
        refuse(outcome, output, problem);
    }
  }
  if (told.empty()) return {};
  return fmt::format("of {} value{} the file declares another type than its nodes compute, which holds: {}{}",
                     told.size(), told.size() == 1 ? "" : "s", told[0], told.size() == 1 ? "" : ", ...");
}

}  // namespace pantoum::import
