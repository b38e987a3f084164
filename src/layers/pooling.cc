// Max and average pooling, and layers that change the spatial extents.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "layers/apply.h"

namespace pantoum::layers {
namespace {

// Like PyTorch it takes at most half a window of padding, so that every window holds an element.
template <class Layer>
bool has_sane_windows(Site& site, const Layer& layer) {
  if (!site.all_within("kernel", layer.kernel.values, 1) || !site.all_within("stride", layer.stride.values, 0) ||
      !site.all_within("padding", layer.padding.values, 0))
    return false;
  for (size_t d = 0; d < layer.kernel.values.size(); ++d)
    if (!site.within("padding", layer.padding.values[d], 0, layer.kernel.values[d] / 2)) return false;
  return true;
}

template <class Layer>
Attributes window_attributes(const Layer& layer) {
  std::vector<int64_t> strides = list(layer.stride);
  for (size_t d = 0; d < strides.size(); ++d)
    if (strides[d] == 0) strides[d] = layer.kernel.values[d];
  return {{"kernel_shape", list(layer.kernel)},
          {"strides", strides},
          {"pads", both_sides(layer.padding)},
          {"ceil_mode", layer.ceil ? 1 : 0}};
}

// Every spatial extent is a whole number of windows.
template <std::size_t dimensions>
Tensor adapt(Site& site, const Extents<dimensions>& size, const Tensor& x, const char* op_type, const char* of_all) {
  if (!site.takes(x, dimensions + 2, kForms[dimensions - 1]) || !site.all_within("size", size.values, 1))
    return site.none();
  const Shape shape = site.shape(x);
  std::vector<int64_t> window(dimensions);
  for (size_t d = 0; d < dimensions; ++d) {
    if (shape[d + 2] % size.values[d] != 0 || shape[d + 2] == kBatch)
      return site.fail(fmt::format("its input {} cannot be parted evenly into {}: the size must divide the extent",
                                   to_text(shape), size.values[d]));
    window[d] = shape[d + 2] / size.values[d];
  }
  if (std::ranges::all_of(size.values, [](int64_t each) { return each == 1; })) return site.node(of_all, {x});
  return site.node(op_type, {x}, {{"kernel_shape", window}, {"strides", window}});
}

// In the order of Upsample::Mode and of PadMode.
constexpr std::array kUpsampleModes = {"nearest", "linear", "cubic"};
constexpr std::array kPadModes = {"constant", "reflect", "edge", "wrap"};

}  // namespace

template <std::size_t dimensions>
static Tensor max_pool(Site& site, const MaxPool<dimensions>& layer, const Tensor& x) {
  if (!site.takes(x, dimensions + 2, kForms[dimensions - 1]) || !has_sane_windows(site, layer) ||
      !site.all_within("dilation", layer.dilation.values, 1))
    return site.none();
  Attributes attributes = window_attributes(layer);
  attributes["dilations"] = list(layer.dilation);
  return site.node("MaxPool", {x}, std::move(attributes));
}

template <std::size_t dimensions>
static Tensor avg_pool(Site& site, const AvgPool<dimensions>& layer, const Tensor& x) {
  if (!site.takes(x, dimensions + 2, kForms[dimensions - 1]) || !has_sane_windows(site, layer)) return site.none();
  Attributes attributes = window_attributes(layer);
  attributes["count_include_pad"] = layer.count_padding ? 1 : 0;
  return site.node("AveragePool", {x}, std::move(attributes));
}

Tensor apply(Site& site, const GlobalAvgPool&, const Tensor& x) {
  if (!site.takes(x, 3, "[N, C, ..]", true)) return site.none();
  return site.node("GlobalAveragePool", {x});
}

Tensor apply(Site& site, const GlobalMaxPool&, const Tensor& x) {
  if (!site.takes(x, 3, "[N, C, ..]", true)) return site.none();
  return site.node("GlobalMaxPool", {x});
}

Tensor apply(Site& site, const Upsample& layer, const Tensor& x) {
  if (!site.takes(x, 3, "[N, C, ..]", true) || !site.within("scale", layer.scale, 1e-3, 1e3)) return site.none();
  const bool nearest = layer.mode == Upsample::Mode::nearest;
  if (nearest && layer.align_corners) return site.fail("align_corners is of linear and cubic upsampling");
  std::vector<float> scales(site.shape(x).size(), static_cast<float>(layer.scale));
  scales[0] = scales[1] = 1;
  Attributes attributes{{"mode", kUpsampleModes.at(static_cast<size_t>(layer.mode))},
                        {"nearest_mode", "floor"},
                        {"cubic_coeff_a", -0.75}};
  attributes["coordinate_transformation_mode"] =
      nearest ? "asymmetric" : (layer.align_corners ? "align_corners" : "pytorch_half_pixel");
  const auto count = static_cast<int64_t>(scales.size());
  return site.node("Resize", {x, {}, site.reals({count}, scales)}, std::move(attributes));
}

Tensor apply(Site& site, const Pad& layer, const Tensor& x) {
  if (!site.takes(x)) return x;
  const size_t rank = site.shape(x).size(), count = layer.before.size();
  if (count != layer.after.size() || count == 0 || count >= rank)
    return site.fail(
        fmt::format("before has {} numbers and after {}; each has one for each of the last dimensions of {}, without "
                    "the batch",
                    count, layer.after.size(), site.type(x)));
  if (!site.all_within("before", layer.before, -kMostExtent) || !site.all_within("after", layer.after, -kMostExtent))
    return site.none();
  if (std::isnan(layer.value)) return site.fail("its value is NaN");
  std::vector<int64_t> pads(2 * rank);
  std::ranges::copy(layer.before, pads.begin() + static_cast<std::ptrdiff_t>(rank - count));
  std::ranges::copy(layer.after, pads.end() - static_cast<std::ptrdiff_t>(count));
  const bool fills = layer.mode == PadMode::constant && layer.value != 0;
  const Tensor value = fills ? site.number(static_cast<float>(layer.value)) : Tensor();
  return site.node("Pad", {x, site.integers(pads), value}, {{"mode", kPadModes.at(static_cast<size_t>(layer.mode))}});
}

#define PANTOUM_POOLS(dimensions)                                                       \
  Tensor apply(Site& site, const MaxPool<dimensions>& layer, const Tensor& x) {         \
    return max_pool(site, layer, x);                                                    \
  }                                                                                     \
  Tensor apply(Site& site, const AvgPool<dimensions>& layer, const Tensor& x) {         \
    return avg_pool(site, layer, x);                                                    \
  }                                                                                     \
  Tensor apply(Site& site, const AdaptiveAvgPool<dimensions>& layer, const Tensor& x) { \
    return adapt(site, layer.size, x, "AveragePool", "GlobalAveragePool");              \
  }                                                                                     \
  Tensor apply(Site& site, const AdaptiveMaxPool<dimensions>& layer, const Tensor& x) { \
    return adapt(site, layer.size, x, "MaxPool", "GlobalMaxPool");                      \
  }
PANTOUM_POOLS(1)
PANTOUM_POOLS(2)
PANTOUM_POOLS(3)
#undef PANTOUM_POOLS

}  // namespace pantoum::layers
