// MaxPool, AveragePool and their global forms.
#include <array>

#include "import/operators.h"
#include "import/windows.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

Result<Shape> spatial_extents(Node& node) {
  const Shape& image = node.shape(0);
  if (image.size() < 3) return fail("E0211", "its input is not an image [N,C,..]");
  return Shape(image.begin() + 2, image.end());
}

struct Pooling {
  Kind kind;
  int64_t count_padding;
};

// A window of two dimensions on a view [N,C,H,W]; none where it takes every element by itself.
Result<ValueId> pool_view(Node& node, ValueId x, const Pooling& how, Shape view, const Window& h, const Window& v) {
  const auto stays = [](const Window& w) { return w.kernel == 1 && w.stride == 1 && w.before == 0 && w.after == 0; };
  const ir::Attrs attrs{{h.kernel, v.kernel, h.stride, v.stride, h.before, v.before, h.after, v.after, h.dilation,
                         v.dilation, how.count_padding},
                        {}};
  PANTOUM_ASSIGN(const ValueId image, node.reshape(x, std::move(view)));
  return stays(h) && stays(v) ? Result<ValueId>(image) : node.op(how.kind, {image}, attrs);
}

// A window on a volume: on each plane, then along the depth. The largest element of all is the first largest of the
// planes' first; a mean of means counts as many elements in each, since what the window leaves out are whole planes,
// rows and columns.
Result<ValueId> pool_volume(Node& node, ValueId x, const Pooling& how, const std::vector<Window>& windows) {
  const Shape from = node.builder().type(x).shape;
  PANTOUM_ASSIGN(x, pool_view(node, x, how, {from[0], from[1] * from[2], from[3], from[4]}, windows[1], windows[2]));
  const Shape planes = node.builder().type(x).shape;
  PANTOUM_ASSIGN(x, pool_view(node, x, how, {from[0], from[1], from[2], planes[2] * planes[3]}, windows[0], Window{}));
  const int64_t depth = node.builder().type(x).shape[2];
  return node.reshape(x, {from[0], from[1], depth, planes[2], planes[3]});
}

Result<ValueId> pool_plane(Node& node, ValueId x, const Pooling& how, const std::vector<Window>& windows) {
  const size_t rank = node.builder().type(x).shape.size();
  PANTOUM_ASSIGN(x, as_image(node, x));
  const Shape view = node.builder().type(x).shape;
  PANTOUM_ASSIGN(const ValueId y, pool_view(node, x, how, view, rank == 4 ? windows[0] : Window{}, windows.back()));
  return from_image(node, y, rank);
}

Result<void> pool(Node& node, ValueId x, const Pooling& how, const std::vector<Window>& windows) {
  PANTOUM_ASSIGN(const ValueId y,
                 windows.size() == 3 ? pool_volume(node, x, how, windows) : pool_plane(node, x, how, windows));
  node.set(0, y);
  return {};
}

Result<std::vector<Window>> pool_windows(Node& node, bool ceil) {
  PANTOUM_TRY(node.real(0));
  PANTOUM_ASSIGN(const Shape spatial, spatial_extents(node));
  const auto kernel = node.attributes().integers("kernel_shape");
  if (!kernel) return fail("E0211", "it has no kernel_shape");
  return read_windows(node, spatial, *kernel, ceil);
}

Result<void> lower_max_pool(Node& node) {
  if (node.wants(1)) return unsupported("its indices are used", "use the pooled values alone");
  PANTOUM_ASSIGN(const auto windows, pool_windows(node, node.attributes().integer("ceil_mode", 0) != 0));
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  return pool(node, x, {Kind::k_max_pool, 0}, windows);
}

// The image with the zeros that the model pads, which are then its own.
Result<ValueId> with_padding(Node& node, ValueId x, const std::vector<Window>& windows) {
  ir::TensorType type = node.builder().type(x);
  ir::Attrs places{{0, 1, 0, 1}, {}};
  for (size_t d = 0; d < windows.size(); ++d) {
    places.ints.insert(places.ints.end(), {windows[d].before, 1});
    type.shape[2 + d] += windows[d].before + windows[d].after;
  }
  return node.op(Kind::k_slice_grad, {x}, std::move(places), {std::move(type)});
}

// Padding that ceil_mode adds is never counted; what the model itself pads is, if count_include_pad is set.
Result<void> lower_average_pool(Node& node) {
  const bool ceil = node.attributes().integer("ceil_mode", 0) != 0;
  bool count_padding = node.attributes().integer("count_include_pad", 0) != 0;
  PANTOUM_ASSIGN(auto windows, pool_windows(node, ceil));
  PANTOUM_ASSIGN(const auto plain, pool_windows(node, false));
  PANTOUM_ASSIGN(ValueId x, node.real(0));
  bool grown = false, padded = false;
  for (size_t d = 0; d < windows.size(); ++d) {
    grown = grown || windows[d].after != plain[d].after;
    padded = padded || plain[d].before != 0 || plain[d].after != 0;
  }
  if (!padded) count_padding = false;
  if (grown && count_padding) {
    PANTOUM_ASSIGN(x, with_padding(node, x, plain));
    count_padding = false;
    for (size_t d = 0; d < windows.size(); ++d) {
      windows[d].before = 0;
      windows[d].after -= plain[d].after;
    }
  }
  return pool(node, x, {Kind::k_avg_pool, count_padding ? 1 : 0}, windows);
}

Result<void> lower_global_average(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  const Shape image = node.shape(0);
  PANTOUM_TRY(spatial_extents(node));
  Shape pooled = image;
  int64_t mask = 0;
  for (size_t d = 2; d < image.size(); ++d) {
    mask |= int64_t{1} << d;
    pooled[d] = 1;
  }
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_reduce_mean, {x}, {{mask}, {}}));
  PANTOUM_ASSIGN(y, node.reshape(y, pooled));
  node.set(0, y);
  return {};
}

Result<void> lower_global_max(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(const Shape spatial, spatial_extents(node));
  PANTOUM_TRY(want_space(spatial.size()));
  std::vector<Window> windows;
  for (const int64_t extent : spatial) windows.push_back({extent, 1, 0, 0, 1});
  return pool(node, x, {Kind::k_max_pool, 0}, windows);
}

constexpr std::array kPoolOperators = {
    OperatorEntry{"MaxPool", lower_max_pool, "max_pool", "one to three dimensions of space; no indices"},
    OperatorEntry{"AveragePool", lower_average_pool, "avg_pool slice_grad", "one to three dimensions of space"},
    OperatorEntry{"GlobalAveragePool", lower_global_average, "reduce_mean"},
    OperatorEntry{"GlobalMaxPool", lower_global_max, "max_pool", "one to three dimensions of space"}};

}  // namespace

std::span<const OperatorEntry> pool_operators() {
  return kPoolOperators;
}

}  // namespace pantoum::import
