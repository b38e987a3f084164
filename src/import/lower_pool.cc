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

// Bytes are whole numbers that float32 holds: the greatest of them is the same.
bool pools_bytes(Node& node) {
  return node.op_type() == "MaxPool" && node.has(0) && node.type(0).dtype == ir::DType::kU8;
}

Result<ValueId> as_floats(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  return node.op(Kind::k_cast, {x}, {}, {{ir::DType::kF32, node.shape(0)}});
}

Result<void> pool(Node& node, Kind kind, const std::vector<Window>& windows, int64_t count_padding) {
  const Window h = height_of(windows), v = windows.back();
  const ir::Attrs attrs{{h.kernel, v.kernel, h.stride, v.stride, h.before, v.before, h.after, v.after, h.dilation,
                         v.dilation, count_padding},
                        {}};
  const size_t rank = node.shape(0).size();
  const bool bytes = pools_bytes(node);
  PANTOUM_ASSIGN(ValueId x, bytes ? as_floats(node) : node.real(0));
  PANTOUM_ASSIGN(x, as_image(node, x));
  PANTOUM_ASSIGN(ValueId y, node.op(kind, {x}, attrs));
  PANTOUM_ASSIGN(y, from_image(node, y, rank));
  if (bytes) {
    PANTOUM_ASSIGN(y, node.op(Kind::k_cast, {y}, {}, {{ir::DType::kU8, node.builder().type(y).shape}}));
  }
  node.set(0, y);
  return {};
}

Result<std::vector<Window>> pool_windows(Node& node, bool ceil) {
  if (!pools_bytes(node)) PANTOUM_TRY(node.real(0));
  PANTOUM_ASSIGN(const Shape spatial, spatial_extents(node));
  const auto kernel = node.attributes().integers("kernel_shape");
  if (!kernel) return fail("E0211", "it has no kernel_shape");
  return read_windows(node, spatial, *kernel, ceil);
}

Result<void> lower_max_pool(Node& node) {
  if (node.wants(1)) return unsupported("its indices are used", "use the pooled values alone");
  PANTOUM_ASSIGN(const auto windows, pool_windows(node, node.attributes().integer("ceil_mode", 0) != 0));
  return pool(node, Kind::k_max_pool, windows, 0);
}

// Padding that ceil_mode adds is never counted; what the model itself pads is, if count_include_pad is set.
Result<void> lower_average_pool(Node& node) {
  const bool ceil = node.attributes().integer("ceil_mode", 0) != 0;
  bool count_padding = node.attributes().integer("count_include_pad", 0) != 0;
  PANTOUM_ASSIGN(const auto windows, pool_windows(node, ceil));
  PANTOUM_ASSIGN(const auto plain, pool_windows(node, false));
  bool grown = false, padded = false;
  for (size_t d = 0; d < windows.size(); ++d) {
    grown = grown || windows[d].after != plain[d].after;
    padded = padded || plain[d].before != 0 || plain[d].after != 0;
  }
  if (!padded) count_padding = false;
  if (grown && count_padding) {
    return unsupported("its ceil_mode and count_include_pad do not go together", "set ceil_mode to False");
  }
  return pool(node, Kind::k_avg_pool, windows, count_padding ? 1 : 0);
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
  PANTOUM_TRY(node.real(0));
  PANTOUM_ASSIGN(const Shape spatial, spatial_extents(node));
  if (spatial.size() > 2) return unsupported("it works on more than two spatial dimensions");
  std::vector<Window> windows;
  for (const int64_t extent : spatial) windows.push_back({extent, 1, 0, 0, 1});
  return pool(node, Kind::k_max_pool, windows, 0);
}

constexpr std::array kPoolOperators = {
    OperatorEntry{"MaxPool", lower_max_pool, "cast max_pool",
                  "one or two dimensions of space; float32, uint8; no indices"},
    OperatorEntry{"AveragePool", lower_average_pool, "avg_pool", "one or two dimensions of space"},
    OperatorEntry{"GlobalAveragePool", lower_global_average, "reduce_mean"},
    OperatorEntry{"GlobalMaxPool", lower_global_max, "max_pool", "one or two dimensions of space"}};

}  // namespace

std::span<const OperatorEntry> pool_operators() {
  return kPoolOperators;
}

}  // namespace pantoum::import
