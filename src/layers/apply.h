// The layers, one function each: what they make of a tensor at a site. The lists of layer_types.hpp declare them.
#pragma once

#include <array>
#include <string_view>

#include "layers/site.h"
#include "pantoum/layers.hpp"

namespace pantoum::layers {

// What a layer is called in messages, and, with a number, where it has no name of its own.
template <class L>
inline constexpr std::string_view kKindOf;
template <class L>
constexpr std::string_view kind(const L&) {
  return kKindOf<L>;
}

#define PANTOUM_LAYER(Type, function, kind, ...)          \
  template <>                                             \
  inline constexpr std::string_view kKindOf<Type> = kind; \
  Tensor apply(Site& site, const Type& layer, const Tensor& x);
#define PANTOUM_ELEMENT(Type, function, op_type) PANTOUM_LAYER(Type, function, #function)
PANTOUM_ELEMENT_LAYERS(PANTOUM_ELEMENT)
PANTOUM_OPTION_LAYERS(PANTOUM_LAYER)
PANTOUM_PLAIN_LAYERS(PANTOUM_LAYER)
PANTOUM_SETTING_LAYERS(PANTOUM_LAYER)
PANTOUM_OTHER_LAYERS(PANTOUM_LAYER)
#undef PANTOUM_ELEMENT
#undef PANTOUM_LAYER

// What apply() of sequences and attention takes a part of.
Recurrent recur(Site& site, const Lstm& layer, const Tensor& x);
Recurrent recur(Site& site, const Gru& layer, const Tensor& x);
Recurrent recur(Site& site, const Rnn& layer, const Tensor& x);
Tensor attend(Site& site, const MultiHeadAttention& layer, const Tensor& query, const Tensor& key, const Tensor& value,
              const Tensor& mask);

[[nodiscard]] std::string_view kind_of(const Layer& layer);
[[nodiscard]] const std::string& name_of(const Layer& layer);
// The layer at its site.
Tensor apply(Site& site, const Layer& layer, const Tensor& x);

// A layer without a place in a row: named as it says, or by its kind.
template <class L>
Tensor call(State& state, const L& layer, const Tensor& x, const Place& place) {
  Site site(state, kind(layer), layer.name, place);
  return apply(site, layer, x);
}

// ---- What convolutions and pools share.

// Of inputs with 1, 2 and 3 dimensions of space.
inline constexpr std::array kForms = {"[N, C, L]", "[N, C, H, W]", "[N, C, D, H, W]"};

template <std::size_t dimensions>
std::vector<int64_t> list(const Extents<dimensions>& extents) {
  return {extents.values.begin(), extents.values.end()};
}

// The same before and behind.
template <std::size_t dimensions>
std::vector<int64_t> both_sides(const Extents<dimensions>& padding) {
  std::vector<int64_t> pads = list(padding);
  pads.insert(pads.end(), padding.values.begin(), padding.values.end());
  return pads;
}

// x times a weight of [features, in] plus a bias, as PyTorch's functional linear; either may be not valid after a problem. `bias`: Tensor{} is none.
Tensor affine(Site& site, const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace pantoum::layers
