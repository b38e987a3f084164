// The layers, one function each: what they make of a tensor at a site.
#pragma once

#include <string_view>

#include "layers/site.h"
#include "pantoum/layers.hpp"

namespace pantoum::layers {

Tensor apply(Site& site, const Linear& layer, const Tensor& x);
template <std::size_t dimensions>
Tensor apply(Site& site, const Conv<dimensions>& layer, const Tensor& x);
template <std::size_t dimensions>
Tensor apply(Site& site, const ConvTranspose<dimensions>& layer, const Tensor& x);
Tensor apply(Site& site, const BatchNorm& layer, const Tensor& x);
Tensor apply(Site& site, const LayerNorm& layer, const Tensor& x);
Tensor apply(Site& site, const GroupNorm& layer, const Tensor& x);
Tensor apply(Site& site, const InstanceNorm& layer, const Tensor& x);
Tensor apply(Site& site, const RmsNorm& layer, const Tensor& x);
Tensor apply(Site& site, const Embedding& layer, const Tensor& x);
Tensor apply(Site& site, const Lstm& layer, const Tensor& x);
Tensor apply(Site& site, const Gru& layer, const Tensor& x);
Tensor apply(Site& site, const Rnn& layer, const Tensor& x);
Tensor apply(Site& site, const MultiHeadAttention& layer, const Tensor& x);
Tensor apply(Site& site, const TransformerLayer& layer, const Tensor& x);
Tensor apply(Site& site, const Prelu& layer, const Tensor& x);
Tensor apply(Site& site, const Dropout& layer, const Tensor& x);
Tensor apply(Site& site, const Relu& layer, const Tensor& x);
Tensor apply(Site& site, const LeakyRelu& layer, const Tensor& x);
Tensor apply(Site& site, const Elu& layer, const Tensor& x);
Tensor apply(Site& site, const Selu& layer, const Tensor& x);
Tensor apply(Site& site, const Gelu& layer, const Tensor& x);
Tensor apply(Site& site, const Silu& layer, const Tensor& x);
Tensor apply(Site& site, const Sigmoid& layer, const Tensor& x);
Tensor apply(Site& site, const Tanh& layer, const Tensor& x);
Tensor apply(Site& site, const HardSigmoid& layer, const Tensor& x);
Tensor apply(Site& site, const HardSwish& layer, const Tensor& x);
Tensor apply(Site& site, const Softplus& layer, const Tensor& x);
Tensor apply(Site& site, const Mish& layer, const Tensor& x);
Tensor apply(Site& site, const Softmax& layer, const Tensor& x);
Tensor apply(Site& site, const LogSoftmax& layer, const Tensor& x);
template <std::size_t dimensions>
Tensor apply(Site& site, const MaxPool<dimensions>& layer, const Tensor& x);
template <std::size_t dimensions>
Tensor apply(Site& site, const AvgPool<dimensions>& layer, const Tensor& x);
template <std::size_t dimensions>
Tensor apply(Site& site, const AdaptiveAvgPool<dimensions>& layer, const Tensor& x);
template <std::size_t dimensions>
Tensor apply(Site& site, const AdaptiveMaxPool<dimensions>& layer, const Tensor& x);
Tensor apply(Site& site, const GlobalAvgPool& layer, const Tensor& x);
Tensor apply(Site& site, const GlobalMaxPool& layer, const Tensor& x);
Tensor apply(Site& site, const Flatten& layer, const Tensor& x);
Tensor apply(Site& site, const Reshape& layer, const Tensor& x);
Tensor apply(Site& site, const Permute& layer, const Tensor& x);
Tensor apply(Site& site, const Upsample& layer, const Tensor& x);
Tensor apply(Site& site, const Pad& layer, const Tensor& x);
Tensor apply(Site& site, const Sequential& layer, const Tensor& x);
Tensor apply(Site& site, const Residual& layer, const Tensor& x);
Tensor apply(Site& site, const Function& layer, const Tensor& x);

// What apply() of sequences and attention takes a part of.
Recurrent recur(Site& site, const Lstm& layer, const Tensor& x);
Recurrent recur(Site& site, const Gru& layer, const Tensor& x);
Recurrent recur(Site& site, const Rnn& layer, const Tensor& x);
Tensor attend(Site& site, const MultiHeadAttention& layer, const Tensor& query, const Tensor& key, const Tensor& value,
              const Tensor& mask);

// What a layer without a name is called, with a number behind it.
[[nodiscard]] std::string_view kind_of(const Layer& layer);
[[nodiscard]] const std::string& name_of(const Layer& layer);
// The layer at its site.
Tensor apply(Site& site, const Layer& layer, const Tensor& x);

// x times a weight of [features, in] plus a bias, as PyTorch's functional linear; either may be not valid after a problem. `bias`: Tensor{} is none.
Tensor affine(Site& site, const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace pantoum::layers
