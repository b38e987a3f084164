// Normalizations, and dropout.
#include <fmt/format.h>

#include "layers/apply.h"

namespace pantoum::layers {
namespace {

struct ScaleAndShift {
  Tensor scale, shift;
};

// The layer's parameters or, without them, constants that change nothing.
ScaleAndShift scale_and_shift(Site& site, const Shape& shape, bool trained, const Initial& scale = {},
                              const Initial& shift = {}) {
  if (trained)
    return {site.parameter("weight", shape, scale, Initial::ones()),
            site.parameter("bias", shape, shift, Initial::zeros())};
  return {site.filled(shape, 1.0F), site.filled(shape, 0.0F)};
}

bool has_sane_epsilon(Site& site, double epsilon) {
  return site.within("epsilon", epsilon, 0.0, 1.0);
}

}  // namespace

Tensor apply(Site& site, const BatchNorm& layer, const Tensor& x) {
  if (!site.takes(x, 2, "[N, C, ..]", true) || !has_sane_epsilon(site, layer.epsilon) ||
      !site.within("momentum", layer.momentum, 0.0, 1.0))
    return site.none();
  const auto channels = site.extent(x, 1);
  if (!channels) return site.none();
  const auto [scale, shift] =
      scale_and_shift(site, {*channels}, layer.affine, layer.initial_weight, layer.initial_bias);
  const Tensor mean = site.parameter("running_mean", {*channels}, {}, Initial::zeros(), Role::kStatistic);
  const Tensor variance = site.parameter("running_var", {*channels}, {}, Initial::ones(), Role::kStatistic);
  Attributes attributes{{"training_mode", 1}, {"epsilon", layer.epsilon}, {"momentum", 1 - layer.momentum}};
  if (layer.biased_statistics) attributes["pantoum_biased_statistics"] = 1;
  return site.nodes("BatchNormalization", {x, scale, shift, mean, variance},
                    {.attributes = std::move(attributes), .outputs = 3})[0];
}

Tensor apply(Site& site, const LayerNorm& layer, const Tensor& x) {
  if (!site.takes(x, 2, "[N, ..]", true) || !has_sane_epsilon(site, layer.epsilon)) return site.none();
  const size_t rank = site.shape(x).size();
  if (!site.within("dimensions", layer.dimensions, 1, static_cast<int64_t>(rank) - 1)) return site.none();
  const size_t first = rank - static_cast<size_t>(layer.dimensions);
  Shape shape;
  for (size_t d = first; d < rank; ++d) {
    const auto extent = site.extent(x, d);
    if (!extent) return site.none();
    shape.push_back(*extent);
  }
  const Attributes attributes{{"axis", -layer.dimensions}, {"epsilon", layer.epsilon}};
  if (!layer.affine || layer.bias) {
    const auto [scale, shift] = scale_and_shift(site, shape, layer.affine);
    return site.node("LayerNormalization", {x, scale, layer.affine ? shift : Tensor()}, attributes);
  }
  return site.node("LayerNormalization", {x, site.parameter("weight", shape, Initial::ones())}, attributes);
}

Tensor apply(Site& site, const GroupNorm& layer, const Tensor& x) {
  if (!site.takes(x, 3, "[N, C, ..]", true) || !has_sane_epsilon(site, layer.epsilon) ||
      !site.within("groups", layer.groups, 1))
    return site.none();
  const auto channels = site.extent(x, 1);
  if (!channels) return site.none();
  if (*channels % layer.groups != 0)
    return site.fail(fmt::format("its input's {} channels cannot be parted into {} groups", *channels, layer.groups));
  const auto [scale, shift] = scale_and_shift(site, {*channels}, layer.affine);
  return site.node("GroupNormalization", {x, scale, shift}, {{"num_groups", layer.groups}, {"epsilon", layer.epsilon}});
}

Tensor apply(Site& site, const InstanceNorm& layer, const Tensor& x) {
  if (!site.takes(x, 3, "[N, C, ..]", true) || !has_sane_epsilon(site, layer.epsilon)) return site.none();
  const auto channels = site.extent(x, 1);
  if (!channels) return site.none();
  const auto [scale, shift] = scale_and_shift(site, {*channels}, layer.affine);
  return site.node("InstanceNormalization", {x, scale, shift}, {{"epsilon", layer.epsilon}});
}

Tensor apply(Site& site, const RmsNorm& layer, const Tensor& x) {
  if (!site.takes(x, 2, "[N, .., features]", true) || !has_sane_epsilon(site, layer.epsilon)) return site.none();
  const auto extent = site.extent(x, site.shape(x).size() - 1);
  if (!extent) return site.none();
  const Tensor weight = site.parameter("weight", {*extent}, Initial::ones());
  const Tensor square = site.node("Mul", {x, x});
  const Tensor mean = site.node("ReduceMean", {square, site.integers({-1})}, {{"keepdims", 1}});
  const Tensor sum = site.node("Add", {mean, site.number(static_cast<float>(layer.epsilon))});
  return site.node("Mul", {site.node("Div", {x, site.node("Sqrt", {sum})}), weight});
}

Tensor apply(Site& site, const Dropout& layer, const Tensor& x) {
  if (!site.takes(x)) return x;
  if (!(layer.ratio >= 0 && layer.ratio < 1))
    return site.fail(fmt::format("its ratio is {}, and must be 0 or more, below 1", layer.ratio));
  if (layer.ratio == 0) return x;
  const Tensor training = site.constant(DType::boolean, {}, {std::byte{1}});
  return site.node("Dropout", {x, site.number(static_cast<float>(layer.ratio)), training});
}

}  // namespace pantoum::layers
