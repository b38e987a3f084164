#include "import/windows.h"

#include <fmt/format.h>

#include <algorithm>

namespace pantoum::import {
namespace {

using ir::Shape;
using ir::ValueId;

constexpr int64_t kMost = INT32_MAX;

// SAME: as many positions as the image divided by the stride, rounded up.
void pad_same(Window& window, int64_t extent, bool lower) {
  const int64_t positions = (extent - 1) / window.stride + 1;
  const int64_t span = (window.kernel - 1) * window.dilation + 1;
  const int64_t total = std::max<int64_t>((positions - 1) * window.stride + span - extent, 0);
  window.before = lower ? total - total / 2 : total / 2;
  window.after = total - window.before;
}

void pad_ceil(Window& window, int64_t extent) {
  const int64_t span = (window.kernel - 1) * window.dilation + 1;
  const int64_t slack = extent + window.before + window.after - span;
  if (slack < 0) return;
  int64_t last = (slack + window.stride - 1) / window.stride;  // of the last window
  if (last * window.stride >= extent + window.before) --last;
  window.after = std::max(window.after, last * window.stride + span - extent - window.before);
}

}  // namespace

Result<std::vector<int64_t>> window_list(Node& node, const char* name, size_t count, int64_t otherwise, int64_t least) {
  std::vector<int64_t> values = node.attributes().integers(name).value_or(std::vector<int64_t>(count, otherwise));
  if (values.size() != count) return fail("E0211", fmt::format("its {} have {} entries", name, values.size()));
  for (const int64_t value : values) {
    if (value < least) return fail("E0211", fmt::format("its {} contain {}, less than {}", name, value, least));
    if (value > kMost) return unsupported(fmt::format("its {} contain {}", name, value));
  }
  return values;
}

Result<std::vector<Window>> read_windows(Node& node, const Shape& spatial, const std::vector<int64_t>& kernel,
                                         bool ceil) {
  const size_t rank = spatial.size();
  PANTOUM_TRY(want_space(rank));
  if (kernel.size() != rank) return fail("E0211", "its window has another number of dimensions than the image");
  PANTOUM_ASSIGN(const auto strides, window_list(node, "strides", rank, 1, 1));
  PANTOUM_ASSIGN(const auto dilations, window_list(node, "dilations", rank, 1, 1));
  PANTOUM_ASSIGN(const auto pads, window_list(node, "pads", 2 * rank, 0, 0));
  const std::string rule = node.attributes().text("auto_pad", "NOTSET");
  const bool same = rule == "SAME_UPPER" || rule == "SAME_LOWER";
  if (!same && rule != "NOTSET" && rule != "VALID") return fail("E0211", fmt::format("its auto_pad is '{}'", rule));
  std::vector<Window> windows;
  for (size_t d = 0; d < rank; ++d) {
    if (kernel[d] < 1 || kernel[d] > kMost) return fail("E0211", fmt::format("its window spans {}", kernel[d]));
    Window window{kernel[d], strides[d], 0, 0, dilations[d]};
    if (rule == "NOTSET") {
      window.before = pads[d];
      window.after = pads[rank + d];
    }
    if (same) pad_same(window, spatial[d], rule == "SAME_LOWER");
    if (ceil) pad_ceil(window, spatial[d]);
    windows.push_back(window);
  }
  return windows;
}

Result<void> want_space(size_t dimensions) {
  if (dimensions >= 1 && dimensions <= 3) return {};
  return unsupported(fmt::format("it works on {} spatial dimensions", dimensions), "one to three are supported");
}

ir::Attrs conv_attributes(std::vector<Window> windows, int64_t groups) {
  if (windows.size() == 1) windows.insert(windows.begin(), Window{});
  ir::Attrs attrs;
  for (const auto part : {&Window::stride, &Window::before, &Window::after, &Window::dilation}) {
    for (const Window& window : windows) attrs.ints.push_back(window.*part);
  }
  attrs.ints.push_back(groups);
  return attrs;
}

Result<ValueId> as_image(Node& node, ValueId x) {
  const Shape shape = node.builder().type(x).shape;
  return shape.size() == 3 ? node.reshape(x, {shape[0], shape[1], 1, shape[2]}) : Result<ValueId>(x);
}

Result<ValueId> from_image(Node& node, ValueId y, size_t rank) {
  const Shape shape = node.builder().type(y).shape;
  return rank == 3 ? node.reshape(y, {shape[0], shape[1], shape[3]}) : Result<ValueId>(y);
}

}  // namespace pantoum::import
