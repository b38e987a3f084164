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
// padding before it). One to three dimensions, the width last. E0211, E0401 (more dimensions, negative padding).
[[nodiscard]] Result<std::vector<Window>> read_windows(Node& node, const ir::Shape& spatial,
                                                       const std::vector<int64_t>& kernel, bool ceil);

// A list of `count` integers of the node, each `least` or more; `otherwise` everywhere when absent. E0211, E0401.
[[nodiscard]] Result<std::vector<int64_t>> window_list(Node& node, const char* name, size_t count, int64_t otherwise,
                                                       int64_t least);

// E0401 unless there are one to three dimensions of space.
[[nodiscard]] Result<void> want_space(size_t dimensions);

// As the integers of conv2d, where a single dimension becomes the width, or of conv3d.
[[nodiscard]] ir::Attrs conv_attributes(std::vector<Window> windows, int64_t groups);

// [N,C,L] as [N,C,1,L]; images and volumes as they are.
[[nodiscard]] Result<ir::ValueId> as_image(Node& node, ir::ValueId x);
// The way back for a result.
[[nodiscard]] Result<ir::ValueId> from_image(Node& node, ir::ValueId y, size_t rank);

}  // namespace pantoum::import
