// Convolutions, which are those of ONNX.
#include <array>

#include "aten/operators.h"

namespace pantoum::aten {
namespace {

using ir::Shape;
using ir::ValueId;

// One for each dimension of space, or one for all.
Result<std::vector<int64_t>> per_dimension(Node& node, Slot slot, size_t count, int64_t otherwise) {
  PANTOUM_ASSIGN(std::vector<int64_t> all, node.integers(slot));
  if (all.empty()) all = {otherwise};
  if (all.size() == 1) all.resize(count, all[0]);
  if (all.size() != count) return fail("E0211", "its settings do not fit the dimensions of space");
  return all;
}

std::vector<int64_t> both_sides(const std::vector<int64_t>& each) {
  std::vector<int64_t> all = each;
  all.insert(all.end(), each.begin(), each.end());
  return all;
}

Result<void> lower_convolution(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.real({0, "input"}));
  PANTOUM_ASSIGN(const ValueId weight, node.real({1, "weight"}));
  ValueId bias = ir::kNone;
  if (node.has({2, "bias"})) {
    PANTOUM_ASSIGN(bias, node.real({2, "bias"}));
  }
  const size_t space = node.shape_of(weight).size() - std::min<size_t>(2, node.shape_of(weight).size());
  Shape shape = node.shape_of(x);
  if (shape.size() == space + 1) {  // one sample without a batch
    shape.insert(shape.begin(), 1);
    PANTOUM_ASSIGN(x, node.reshape(x, shape));
  }
  PANTOUM_ASSIGN(const std::vector<int64_t> stride, per_dimension(node, {3, "stride"}, space, 1));
  PANTOUM_ASSIGN(const std::vector<int64_t> padding, per_dimension(node, {4, "padding"}, space, 0));
  PANTOUM_ASSIGN(const std::vector<int64_t> dilation, per_dimension(node, {5, "dilation"}, space, 1));
  PANTOUM_ASSIGN(const bool transposed, node.boolean({6, "transposed"}, false));
  PANTOUM_ASSIGN(const std::vector<int64_t> more, per_dimension(node, {7, "output_padding"}, space, 0));
  PANTOUM_ASSIGN(const int64_t groups, node.integer({8, "groups"}, 1));
  std::vector<OnnxAttribute> attributes = {
      {"strides", stride}, {"pads", both_sides(padding)}, {"dilations", dilation}, {"group", groups}};
  if (transposed) attributes.push_back({"output_padding", more});
  std::vector<ValueId> inputs = {x, weight};
  if (bias != ir::kNone) inputs.push_back(bias);
  PANTOUM_ASSIGN(const std::vector<ValueId> y, node.onnx(transposed ? "ConvTranspose" : "Conv", inputs, attributes));
  return node.set(node.reshape(y[0], node.output().shape));
}

constexpr std::array kConvolutions = {OperatorEntry{"convolution.default", lower_convolution}};

}  // namespace

std::span<const OperatorEntry> conv_operators() {
  return kConvolutions;
}

}  // namespace pantoum::aten
