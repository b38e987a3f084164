// Linear layers, embeddings and convolutions.
#include <fmt/format.h>

#include <cmath>

#include "layers/apply.h"
#include "layers/initial_values.h"

namespace pantoum::layers {
namespace {

// The padding that PyTorch calls "same": one more behind than before, where the number is odd.
template <std::size_t dimensions>
std::vector<int64_t> same_pads(const Conv<dimensions>& layer) {
  std::vector<int64_t> pads(2 * dimensions);
  for (size_t d = 0; d < dimensions; ++d) {
    const int64_t total = layer.dilation.values[d] * (layer.kernel.values[d] - 1);
    pads[d] = total / 2;
    pads[dimensions + d] = total - total / 2;
  }
  return pads;
}

Shape with_kernel(Shape shape, const std::vector<int64_t>& kernel) {
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  return shape;
}

// Channels, window and groups of a convolution of either kind.
template <class Layer>
bool has_sane_options(Site& site, const Layer& layer) {
  return site.within("channels", layer.channels, 1) && site.all_within("kernel", layer.kernel.values, 1) &&
         site.all_within("stride", layer.stride.values, 1) && site.all_within("padding", layer.padding.values, 0) &&
         site.all_within("dilation", layer.dilation.values, 1) && site.within("groups", layer.groups, 1);
}

bool divides(Site& site, int64_t groups, int64_t channels, const char* whose) {
  if (channels % groups == 0) return true;
  site.fail(fmt::format("its {} {} channels cannot be parted into {} groups", whose, channels, groups));
  return false;
}

// Uniform within 1 / sqrt(inputs of an output), for weight and bias alike.
struct Uniform {
  Initial initial;
  explicit Uniform(const Shape& weight) : initial(uniform_within(1 / std::sqrt(fans_of(weight).in))) {}
};

template <class Layer>
Tensor convolve(Site& site, const char* op_type, const Layer& layer, const Tensor& x, const Shape& shape,
                Attributes attributes) {
  const Initial usual = Uniform(shape).initial;
  const Tensor weight = site.parameter("weight", shape, layer.initial_weight, usual);
  if (!site.takes(weight)) return weight;
  const Tensor bias = layer.bias ? site.parameter("bias", {layer.channels}, layer.initial_bias, usual) : Tensor();
  attributes.insert({{"kernel_shape", list(layer.kernel)},
                     {"strides", list(layer.stride)},
                     {"dilations", list(layer.dilation)},
                     {"group", layer.groups}});
  return site.node(op_type, {x, weight, bias}, std::move(attributes));
}

}  // namespace

Tensor affine(Site& site, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (!site.takes(x)) return x;
  if (site.shape(x).size() == 2) return site.node("Gemm", {x, weight, bias}, {{"transB", 1}});
  const Tensor turned = site.node("Transpose", {weight}, {{"perm", std::vector<int64_t>{1, 0}}});
  const Tensor product = site.node("MatMul", {x, turned});
  return State::of(bias) == nullptr ? product : site.node("Add", {product, bias});
}

Tensor apply(Site& site, const Linear& layer, const Tensor& x) {
  if (!site.takes(x, 2, "[N, .., features]", true)) return site.none();
  const auto in = site.extent(x, site.shape(x).size() - 1);
  if (!in || !site.within("features", layer.features, 1)) return site.none();
  const Shape shape{layer.features, *in};
  const Initial usual = Uniform(shape).initial;
  const Tensor weight = site.parameter("weight", shape, layer.initial_weight, usual);
  if (!site.takes(weight)) return weight;
  return affine(site, x, weight,
                layer.bias ? site.parameter("bias", {layer.features}, layer.initial_bias, usual) : Tensor());
}

Tensor apply(Site& site, const Embedding& layer, const Tensor& x) {
  if (!site.takes(x)) return x;
  if (site.state().value(State::id_of(x)).type.dtype == DType::f32)
    return site.fail(
        fmt::format("its input is {}, and it takes integers: input(name, shape, DType::i64)", site.type(x)));
  if (!site.within("rows", layer.rows, 1) || !site.within("columns", layer.columns, 1)) return site.none();
  const Tensor table =
      site.parameter("weight", {layer.rows, layer.columns}, layer.initial_weight, Initial::normal(0, 1));
  return site.node("Gather", {table, x}, {{"axis", 0}});
}

template <std::size_t dimensions>
static Tensor convolution(Site& site, const Conv<dimensions>& layer, const Tensor& x) {
  if (!site.takes(x, dimensions + 2, kForms[dimensions - 1]) || !has_sane_options(site, layer)) return site.none();
  const auto in = site.extent(x, 1);
  if (!in || !divides(site, layer.groups, *in, "input's") || !divides(site, layer.groups, layer.channels, "output's"))
    return site.none();
  const bool steps = std::ranges::any_of(layer.stride.values, [](int64_t each) { return each != 1; });
  if (layer.same_padding && steps) return site.fail("same_padding needs a stride of 1");
  const Shape shape = with_kernel({layer.channels, *in / layer.groups}, list(layer.kernel));
  return convolve(site, "Conv", layer, x, shape,
                  {{"pads", layer.same_padding ? same_pads(layer) : both_sides(layer.padding)}});
}

template <std::size_t dimensions>
static Tensor transposed_convolution(Site& site, const ConvTranspose<dimensions>& layer, const Tensor& x) {
  if (!site.takes(x, dimensions + 2, kForms[dimensions - 1]) || !has_sane_options(site, layer)) return site.none();
  const auto in = site.extent(x, 1);
  if (!in || !divides(site, layer.groups, *in, "input's") || !divides(site, layer.groups, layer.channels, "output's") ||
      !site.all_within("output_padding", layer.output_padding.values, 0))
    return site.none();
  const Shape shape = with_kernel({*in, layer.channels / layer.groups}, list(layer.kernel));
  return convolve(site, "ConvTranspose", layer, x, shape,
                  {{"pads", both_sides(layer.padding)}, {"output_padding", list(layer.output_padding)}});
}

#define PANTOUM_CONVOLUTIONS(dimensions)                                              \
  Tensor apply(Site& site, const Conv<dimensions>& layer, const Tensor& x) {          \
    return convolution(site, layer, x);                                               \
  }                                                                                   \
  Tensor apply(Site& site, const ConvTranspose<dimensions>& layer, const Tensor& x) { \
    return transposed_convolution(site, layer, x);                                    \
  }
PANTOUM_CONVOLUTIONS(1)
PANTOUM_CONVOLUTIONS(2)
PANTOUM_CONVOLUTIONS(3)
#undef PANTOUM_CONVOLUTIONS

}  // namespace pantoum::layers
