// Functions of single elements, softmax, and what only moves elements.
#include <fmt/format.h>

#include <numeric>

#include "layers/apply.h"

namespace pantoum::layers {
namespace {

Tensor of_elements(Site& site, const char* op_type, const Tensor& x, Attributes attributes = {}) {
  return site.takes(x) ? site.node(op_type, {x}, std::move(attributes)) : site.none();
}

bool is_finite(Site& site, const char* what, double number) {
  return site.within(what, number, -3.4e38, 3.4e38);
}

}  // namespace

#define PANTOUM_LAYER(Type, function, op_type)             \
  Tensor apply(Site& site, const Type&, const Tensor& x) { \
    return of_elements(site, op_type, x);                  \
  }
PANTOUM_ELEMENT_LAYERS(PANTOUM_LAYER)
#undef PANTOUM_LAYER

Tensor apply(Site& site, const LeakyRelu& layer, const Tensor& x) {
  if (!is_finite(site, "slope", layer.slope)) return site.none();
  return of_elements(site, "LeakyRelu", x, {{"alpha", layer.slope}});
}
Tensor apply(Site& site, const Elu& layer, const Tensor& x) {
  if (!is_finite(site, "alpha", layer.alpha)) return site.none();
  return of_elements(site, "Elu", x, {{"alpha", layer.alpha}});
}
Tensor apply(Site& site, const Gelu& layer, const Tensor& x) {
  return of_elements(site, "Gelu", x, {{"approximate", layer.tanh ? "tanh" : "none"}});
}
Tensor apply(Site& site, const Silu&, const Tensor& x) {
  return site.takes(x) ? site.node("Mul", {x, site.node("Sigmoid", {x})}) : site.none();
}
Tensor apply(Site& site, const HardSigmoid&, const Tensor& x) {
  return of_elements(site, "HardSigmoid", x, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
}
Tensor apply(Site& site, const Softmax& layer, const Tensor& x) {
  return of_elements(site, "Softmax", x, {{"axis", layer.axis}});
}
Tensor apply(Site& site, const LogSoftmax& layer, const Tensor& x) {
  return of_elements(site, "LogSoftmax", x, {{"axis", layer.axis}});
}

Tensor apply(Site& site, const Prelu& layer, const Tensor& x) {
  if (!site.takes(x, 2, "[N, C, ..]", true) || !site.within("parameters", layer.parameters, 1)) return site.none();
  const Shape shape = site.shape(x);
  if (layer.parameters != 1 && layer.parameters != shape[1])
    return site.fail(fmt::format("it has {} parameters for the channels of {}", layer.parameters, site.type(x)));
  Tensor slope = site.parameter("weight", {layer.parameters}, Initial::constant(layer.initial));
  if (layer.parameters > 1 && shape.size() > 2) {
    std::vector<int64_t> axes(shape.size() - 2);
    std::iota(axes.begin(), axes.end(), int64_t{1});
    slope = site.node("Unsqueeze", {slope, site.integers(axes)});
  }
  return site.node("PRelu", {x, slope});
}

Tensor apply(Site& site, const Flatten& layer, const Tensor& x) {
  if (!site.takes(x)) return x;
  const auto rank = static_cast<int64_t>(site.shape(x).size());
  const int64_t first = layer.first < 0 ? layer.first + rank : layer.first;
  if (first < 0 || first >= rank)
    return site.fail(fmt::format("its input {} has no dimension {} to begin with", site.type(x), layer.first));
  if (first == 1) return site.node("Flatten", {x}, {{"axis", 1}});
  std::vector<int64_t> shape(static_cast<size_t>(first), 0);
  shape.push_back(-1);
  return site.node("Reshape", {x, site.integers(shape)});
}

Tensor apply(Site& site, const Reshape& layer, const Tensor& x) {
  if (!site.takes(x)) return x;
  if (layer.shape.empty()) return site.fail("its new shape has no dimensions");
  for (const int64_t extent : layer.shape)
    if (!site.within("an extent", extent, -1)) return site.none();
  return site.node("Reshape", {x, site.integers(layer.shape)});
}

Tensor apply(Site& site, const Permute& layer, const Tensor& x) {
  return of_elements(site, "Transpose", x, {{"perm", layer.dimensions}});
}

}  // namespace pantoum::layers
