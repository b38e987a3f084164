// The attributes that convolutions and poolings share: where a window stands on an image.
#pragma once

#include <vector>

#include "import/node.h"

namespace pantoum::import {

// One spatial dimension.
struct Window {
  int64_t kernel = 1, stride = 1, before = 0, after = 0, dilation = 1;
};

// Reads strides, pads, dilations, auto_pad and, where asked, ceil_mode; `spatial` are the image's spatial extents,
// `kernel` the window's. With ceil_mode, `after` grows so that the last window fits (it begins inside the image or the
// padding before it). One or two dimensions; the first of two is the height. E0211, E0401 (more dimensions, negative
// padding).
[[nodiscard]] Result<std::vector<Window>> read_windows(Node& node, const ir::Shape& spatial,
                                                       const std::vector<int64_t>& kernel, bool ceil);

// A list of `count` integers of the node, each `least` or more; `otherwise` everywhere when absent. E0211, E0401.
[[nodiscard]] Result<std::vector<int64_t>> window_list(Node& node, const char* name, size_t count, int64_t otherwise,
                                                       int64_t least);

// As height and width: a single dimension becomes the width.
[[nodiscard]] inline Window height_of(const std::vector<Window>& windows) {
  return windows.size() == 2 ? windows[0] : Window{};
}

// [N,C,L] as [N,C,1,L]; an image of two dimensions as it is.
[[nodiscard]] Result<ir::ValueId> as_image(Node& node, ir::ValueId x);
// The way back for a result.
[[nodiscard]] Result<ir::ValueId> from_image(Node& node, ir::ValueId y, size_t rank);

}  // namespace pantoum::import
