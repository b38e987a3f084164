// ConvTranspose: the gradient of a convolution towards its image, as an op of the forward pass.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "import/operators.h"
#include "import/windows.h"

namespace pantoum::import {
namespace {

using ir::Shape;
using ir::ValueId;

// One spatial dimension: the window, how far the result reaches, and the zeros behind that no window reaches.
struct Upward {
  Window window;
  int64_t extent = 0, unreached = 0;
};

struct Lists {
  std::vector<int64_t> strides, dilations, pads, extra, extents;
  std::string rule;
};

Result<Lists> read_lists(Node& node, size_t rank) {
  Lists lists;
  PANTOUM_ASSIGN(lists.strides, window_list(node, "strides", rank, 1, 1));
  PANTOUM_ASSIGN(lists.dilations, window_list(node, "dilations", rank, 1, 1));
  PANTOUM_ASSIGN(lists.pads, window_list(node, "pads", 2 * rank, 0, 0));
  PANTOUM_ASSIGN(lists.extra, window_list(node, "output_padding", rank, 0, 0));
  PANTOUM_ASSIGN(lists.extents, window_list(node, "output_shape", rank, 0, 0));
  lists.rule = node.attributes().text("auto_pad", "NOTSET");
  const bool known =
      lists.rule == "NOTSET" || lists.rule == "VALID" || lists.rule == "SAME_UPPER" || lists.rule == "SAME_LOWER";
  if (!known) return fail("E0211", fmt::format("its auto_pad is '{}'", lists.rule));
  return lists;
}

// An output_padding of a stride or more would make the windows one more: it takes away from the padding behind, and what
// is left of it is zeros.
void leave_unreached(Upward& up, int64_t extra) {
  const int64_t reached = std::min(extra, up.window.after);
  up.window.after -= reached;
  up.unreached = extra - reached;
  up.extent -= up.unreached;
}

// A result of a given extent is padded by what the windows make too much.
Result<Upward> upward(const Lists& lists, size_t d, int64_t from, int64_t kernel) {
  const size_t rank = lists.strides.size();
  Upward up{{kernel, lists.strides[d], 0, 0, lists.dilations[d]}, lists.extents[d]};
  const int64_t whole = up.window.stride * (from - 1) + lists.extra[d] + (kernel - 1) * up.window.dilation + 1;
  const bool same = lists.rule == "SAME_UPPER" || lists.rule == "SAME_LOWER";
  if (up.extent == 0 && same) up.extent = from * up.window.stride;
  if (up.extent != 0) {
    const int64_t total = whole - up.extent;
    if (total < 0) return unsupported("its output_shape is larger than its windows reach", "use output_padding");
    up.window.before = lists.rule == "SAME_UPPER" ? total / 2 : total - total / 2;
    up.window.after = total - up.window.before;
  } else {
    if (lists.rule == "NOTSET")
      up.window = {kernel, up.window.stride, lists.pads[d], lists.pads[rank + d], up.window.dilation};
    up.extent = whole - up.window.before - up.window.after;
  }
  if (lists.extra[d] >= up.window.stride) leave_unreached(up, lists.extra[d]);
  return up;
}

Result<std::vector<Upward>> read_upward(Node& node, const Shape& image, const Shape& weight) {
  const size_t rank = image.size() - 2;
  PANTOUM_TRY(want_space(rank));
  PANTOUM_ASSIGN(const Lists lists, read_lists(node, rank));
  const auto told = node.attributes().integers("kernel_shape");
  if (told && *told != Shape(weight.begin() + 2, weight.end()))
    return fail("E0211", "its kernel_shape is not the weight's");
  std::vector<Upward> all;
  for (size_t d = 0; d < rank; ++d) {
    PANTOUM_ASSIGN(const Upward up, upward(lists, d, image[d + 2], weight[d + 2]));
    all.push_back(up);
  }
  return all;
}

Result<ValueId> with_bias(Node& node, ValueId y) {
  if (!node.has(2)) return y;
  PANTOUM_ASSIGN(ValueId bias, node.real(2));
  const Shape shape = node.builder().type(y).shape;
  Shape per_channel(shape.size() - 1, 1);
  per_channel[0] = shape[1];
  PANTOUM_ASSIGN(bias, node.reshape(bias, per_channel));
  return node.op(ir::Kind::k_add, {y, bias});
}

Result<ValueId> with_unreached(Node& node, ValueId y, const std::vector<Upward>& up) {
  ir::TensorType type = node.builder().type(y);
  ir::Attrs places;
  for (size_t d = 0; d < type.shape.size(); ++d) places.ints.insert(places.ints.end(), {0, 1});
  bool grows = false;
  for (size_t d = 0; d < up.size(); ++d) {
    type.shape[type.shape.size() - up.size() + d] += up[d].unreached;
    grows = grows || up[d].unreached > 0;
  }
  return grows ? node.op(ir::Kind::k_slice_grad, {y}, std::move(places), {std::move(type)}) : Result<ValueId>(y);
}

Result<void> lower_conv_transpose(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.real(0));
  PANTOUM_ASSIGN(ValueId w, node.real(1));
  const Shape image = node.shape(0), weight = node.shape(1);
  if (image.size() < 3 || weight.size() != image.size()) return fail("E0211", "its image and weight differ in rank");
  PANTOUM_ASSIGN(const std::vector<Upward> up, read_upward(node, image, weight));
  const int64_t groups = node.attributes().integer("group", 1);
  PANTOUM_ASSIGN(x, as_image(node, x));
  PANTOUM_ASSIGN(w, as_image(node, w));
  const int64_t channels = weight[1] > 0 && groups > 0 && groups < INT32_MAX ? weight[1] * groups : 0;
  ir::TensorType made{ir::DType::kF32, {image[0], channels}};
  std::vector<Window> windows;
  if (up.size() == 1) made.shape.push_back(1);
  for (const Upward& each : up) {
    windows.push_back(each.window);
    made.shape.push_back(each.extent);
  }
  const ir::Kind kind = up.size() == 3 ? ir::Kind::k_conv3d_dx : ir::Kind::k_conv2d_dx;
  PANTOUM_ASSIGN(ValueId y, node.op(kind, {x, w}, conv_attributes(windows, groups), {made}));
  PANTOUM_ASSIGN(y, with_unreached(node, y, up));
  PANTOUM_ASSIGN(y, with_bias(node, y));
  PANTOUM_ASSIGN(y, from_image(node, y, image.size()));
  node.set(0, y);
  return {};
}

constexpr std::array kConvTransposeOperators = {OperatorEntry{
    "ConvTranspose", lower_conv_transpose, "conv2d_dx conv3d_dx add slice_grad", "one to three dimensions of space"}};

}  // namespace

std::span<const OperatorEntry> conv_transpose_operators() {
  return kConvTransposeOperators;
}

}  // namespace pantoum::import
