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

Result<ValueId> pooled_input(Node& node) {
  if (!pools_bytes(node)) return node.real(0);
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  return node.op(Kind::k_cast, {x}, {}, {{ir::DType::kF32, node.shape(0)}});
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
  PANTOUM_ASSIGN(ValueId y,
                 windows.size() == 3 ? pool_volume(node, x, how, windows) : pool_plane(node, x, how, windows));
  if (pools_bytes(node)) {
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

// Where a maximum lies in the whole input: its plane, the window's first element, and the tap, which leads further.
struct Places {
  std::vector<int64_t> planes, firsts, taps;
};

Places places_of(const Shape& image, const Shape& pooled, const Window& h, const Window& w, bool columns_first) {
  const int64_t row = columns_first ? 1 : image[3], column = columns_first ? image[2] : 1;
  Places places;
  for (int64_t plane = 0; plane < image[0] * image[1]; ++plane) places.planes.push_back(plane * image[2] * image[3]);
  for (int64_t at = 0; at < pooled[2] * pooled[3]; ++at) {
    const int64_t top = at / pooled[3] * h.stride - h.before, left = at % pooled[3] * w.stride - w.before;
    places.firsts.push_back(top * row + left * column);
  }
  for (int64_t tap = 0; tap < h.kernel * w.kernel; ++tap) {
    places.taps.push_back(tap / w.kernel * h.dilation * row + tap % w.kernel * w.dilation * column);
  }
  return places;
}

// Windows of one tap, whose places are known: exporters read where planes begin from them.
void set_known_places(Node& node, const Places& places, Shape shape) {
  std::vector<int64_t> all;
  for (const int64_t plane : places.planes) {
    for (const int64_t first : places.firsts) all.push_back(plane + first);
  }
  node.set_known(1, make_tensor(ir::DType::kI64, std::move(shape), all));
}

Result<void> set_indices(Node& node, ValueId x, const std::vector<Window>& windows) {
  if (windows.size() > 2) return unsupported("its indices are used, and it pools three dimensions of space");
  const Window h = windows.size() == 2 ? windows[0] : Window{}, w = windows.back();
  if (h.kernel * w.kernel >= 256) return unsupported("its indices are used, and its window has 256 taps or more");
  const size_t rank = node.shape(0).size();
  PANTOUM_ASSIGN(x, as_image(node, x));
  const Shape image = node.builder().type(x).shape;
  const ir::Attrs attrs{
      {h.kernel, w.kernel, h.stride, w.stride, h.before, w.before, h.after, w.after, h.dilation, w.dilation, 0}, {}};
  PANTOUM_ASSIGN(ValueId taps, node.op(Kind::k_max_pool_taps, {x}, attrs));
  const Shape pooled = node.builder().type(taps).shape;
  const bool columns_first = node.attributes().integer("storage_order", 0) != 0;
  PANTOUM_TRY(node.spend(image[0] * image[1] + pooled[2] * pooled[3]));
  const Places places = places_of(image, pooled, h, w, columns_first);
  const int64_t count = node.builder().type(taps).elements();
  if (places.taps.size() == 1 && node.spend(count)) {
    Shape shape = pooled;
    if (rank == 3) shape.erase(shape.begin() + 2);
    set_known_places(node, places, shape);
    return {};
  }
  const auto constant = [&](const char* what, Shape shape, const std::vector<int64_t>& values) {
    return node.builder().constant_i64(node.label() + what, std::move(shape), values);
  };
  PANTOUM_ASSIGN(taps, node.op(Kind::k_cast, {taps}, {}, {{ir::DType::kI32, pooled}}));
  const ValueId table = constant(".taps", {static_cast<int64_t>(places.taps.size())}, places.taps);
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_gather, {table, taps}, {{0}, {}}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_add, {y, constant(".firsts", {pooled[2], pooled[3]}, places.firsts)}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_add, {y, constant(".planes", {image[0], image[1], 1, 1}, places.planes)}));
  PANTOUM_ASSIGN(y, from_image(node, y, rank));
  node.set(1, y);
  return {};
}

Result<void> lower_max_pool(Node& node) {
  PANTOUM_ASSIGN(const auto windows, pool_windows(node, node.attributes().integer("ceil_mode", 0) != 0));
  PANTOUM_ASSIGN(const ValueId x, pooled_input(node));
  if (node.wants(1)) PANTOUM_TRY(set_indices(node, x, windows));
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
    OperatorEntry{"MaxPool", lower_max_pool, "max_pool_taps cast gather add max_pool",
                  "float32, uint8; one to three dimensions of space; indices up to two, of windows of fewer than 256 taps"},
    OperatorEntry{"AveragePool", lower_average_pool, "avg_pool slice_grad", "one to three dimensions of space"},
    OperatorEntry{"GlobalAveragePool", lower_global_average, "reduce_mean"},
    OperatorEntry{"GlobalMaxPool", lower_global_max, "max_pool", "one to three dimensions of space"}};

}  // namespace

std::span<const OperatorEntry> pool_operators() {
  return kPoolOperators;
}

}  // namespace pantoum::import
