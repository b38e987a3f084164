// Conv, in one to three spatial dimensions.
#include <array>

#include "import/operators.h"
#include "import/windows.h"

namespace pantoum::import {
namespace {

using ir::Shape;
using ir::ValueId;

Result<void> lower_conv(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(const ValueId w, node.real(1));
  const Shape image = node.shape(0), weight = node.shape(1);
  if (image.size() < 3 || weight.size() != image.size()) return fail("E0211", "its image and weight differ in rank");
  const std::vector<int64_t> kernel(weight.begin() + 2, weight.end());
  const auto told = node.attributes().integers("kernel_shape");
  if (told && *told != kernel) return fail("E0211", "its kernel_shape is not the weight's");
  PANTOUM_ASSIGN(const std::vector<Window> windows,
                 read_windows(node, Shape(image.begin() + 2, image.end()), kernel, false));
  std::vector<ValueId> inputs(2);
  PANTOUM_ASSIGN(inputs[0], as_image(node, x));
  PANTOUM_ASSIGN(inputs[1], as_image(node, w));
  const Tensor* constant = node.setting(2);  // exporters make up a bias of zeros
  if (node.has(2) && !(constant != nullptr && is_filled_with(*constant, 0))) {
    PANTOUM_ASSIGN(const ValueId bias, node.real(2));
    inputs.push_back(bias);
  }
  const int64_t groups = node.attributes().integer("group", 1);
  const ir::Kind kind = windows.size() == 3 ? ir::Kind::k_conv3d : ir::Kind::k_conv2d;
  PANTOUM_ASSIGN(ValueId y, node.op(kind, inputs, conv_attributes(windows, groups)));
  PANTOUM_ASSIGN(y, from_image(node, y, image.size()));
  node.set(0, y);
  return {};
}

constexpr std::array kConvOperators = {
    OperatorEntry{"Conv", lower_conv, "conv2d conv3d", "one to three dimensions of space"}};

}  // namespace

std::span<const OperatorEntry> conv_operators() {
  return kConvOperators;
}

}  // namespace pantoum::import
