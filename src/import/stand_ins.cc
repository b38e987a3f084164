#include "import/stand_ins.h"

#include <algorithm>

#include "import/attributes.h"
#include "import/onnx_messages.h"
#include "pantoum/pantoum.h"

namespace pantoum::import {
namespace {

using ir::Shape;

bool is_usable(const Shape& shape) {
  return shape.size() <= PT_MAX_RANK && count_elements(shape).value_or(0) > 0;
}

std::vector<int64_t> list_of(Attributes& attributes, const char* name, size_t count, int64_t otherwise) {
  std::vector<int64_t> list = attributes.integers(name).value_or(std::vector<int64_t>());
  list.resize(count, otherwise);
  return list;
}

// A window that slides over any number of dimensions of space; none where it does not fit or pads by itself.
std::optional<Shape> slide(const onnx::NodeProto& node, const Shape& image, const Shape& window, int64_t channels) {
  Attributes attributes(node);
  const size_t space = window.size();
  if (image.size() != space + 2 || attributes.text("auto_pad", "NOTSET") != "NOTSET") return std::nullopt;
  const std::vector<int64_t> strides = list_of(attributes, "strides", space, 1);
  const std::vector<int64_t> dilations = list_of(attributes, "dilations", space, 1);
  const std::vector<int64_t> pads = list_of(attributes, "pads", 2 * space, 0);
  Shape result{image[0], channels};
  constexpr int64_t kMost = int64_t{1} << 31;
  const auto small = [](int64_t number) { return number >= 0 && number < kMost; };
  for (size_t d = 0; d < space; ++d) {
    const bool sane = small(pads[d]) && small(pads[d + space]) && small(dilations[d]) && small(window[d]) &&
                      small(image[d + 2]) && strides[d] > 0 && window[d] > 0;
    const int64_t room = sane ? image[d + 2] + pads[d] + pads[d + space] - dilations[d] * (window[d] - 1) - 1 : -1;
    if (room < 0) return std::nullopt;
    result.push_back(room / strides[d] + 1);
  }
  return result;
}

std::optional<Shape> windowed(const onnx::NodeProto& node, const Shape& image, const std::optional<Shape>& kernel) {
  const std::string& op_type = node.op_type();
  if (image.size() < 3) return std::nullopt;
  if (op_type == "Conv" && kernel && kernel->size() == image.size())
    return slide(node, image, Shape(kernel->begin() + 2, kernel->end()), (*kernel)[0]);
  if (op_type == "MaxPool" || op_type == "AveragePool") {
    const auto window = Attributes(node).integers("kernel_shape");
    return window ? slide(node, image, *window, image[1]) : std::nullopt;
  }
  if (op_type != "GlobalAveragePool" && op_type != "GlobalMaxPool") return std::nullopt;
  Shape one(image.size(), 1);
  one[0] = image[0];
  one[1] = image[1];
  return one;
}

}  // namespace

StandIns::StandIns(const Model& model, const Batch& batch) {
  const auto add = [&](const onnx::ValueInfoProto& value) {
    const std::optional<Shape> shape = bound_shape(value, batch);
    const auto dtype = dtype_of(value.type().tensor_type().elem_type());
    if (shape && is_usable(*shape) && dtype && *dtype != ir::DType::kF64)
      declared_.try_emplace(value.name(), ir::TensorType{*dtype, *shape});
  };
  for (const auto& value : model.proto->graph().value_info()) add(value);
}

std::optional<ir::TensorType> StandIns::type_of(const onnx::NodeProto& node, const std::string& output,
                                                const std::optional<Shape>& image,
                                                const std::optional<Shape>& kernel) const {
  if (const auto found = declared_.find(output); found != declared_.end()) return found->second;
  const std::optional<Shape> shape = image ? windowed(node, *image, kernel) : std::nullopt;
  if (!shape || !is_usable(*shape)) return std::nullopt;
  return ir::TensorType{ir::DType::kF32, *shape};
}

}  // namespace pantoum::import
