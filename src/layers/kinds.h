// What layers are called in messages, and, with a number, where they have no name of their own.
#pragma once

#include <string_view>

#include "pantoum/layers.hpp"

namespace pantoum::layers {

constexpr std::string_view kind(const Linear&) {
  return "linear";
}
template <std::size_t dimensions>
constexpr std::string_view kind(const Conv<dimensions>&) {
  return "conv";
}
template <std::size_t dimensions>
constexpr std::string_view kind(const ConvTranspose<dimensions>&) {
  return "conv_transpose";
}
constexpr std::string_view kind(const BatchNorm&) {
  return "batch_norm";
}
constexpr std::string_view kind(const LayerNorm&) {
  return "layer_norm";
}
constexpr std::string_view kind(const GroupNorm&) {
  return "group_norm";
}
constexpr std::string_view kind(const InstanceNorm&) {
  return "instance_norm";
}
constexpr std::string_view kind(const RmsNorm&) {
  return "rms_norm";
}
constexpr std::string_view kind(const Embedding&) {
  return "embedding";
}
constexpr std::string_view kind(const Lstm&) {
  return "lstm";
}
constexpr std::string_view kind(const Gru&) {
  return "gru";
}
constexpr std::string_view kind(const Rnn&) {
  return "rnn";
}
constexpr std::string_view kind(const MultiHeadAttention&) {
  return "attention";
}
constexpr std::string_view kind(const TransformerLayer&) {
  return "transformer";
}
constexpr std::string_view kind(const Prelu&) {
  return "prelu";
}
constexpr std::string_view kind(const Dropout&) {
  return "dropout";
}
constexpr std::string_view kind(const Relu&) {
  return "relu";
}
constexpr std::string_view kind(const LeakyRelu&) {
  return "leaky_relu";
}
constexpr std::string_view kind(const Elu&) {
  return "elu";
}
constexpr std::string_view kind(const Selu&) {
  return "selu";
}
constexpr std::string_view kind(const Gelu&) {
  return "gelu";
}
constexpr std::string_view kind(const Silu&) {
  return "silu";
}
constexpr std::string_view kind(const Sigmoid&) {
  return "sigmoid";
}
constexpr std::string_view kind(const Tanh&) {
  return "tanh";
}
constexpr std::string_view kind(const HardSigmoid&) {
  return "hard_sigmoid";
}
constexpr std::string_view kind(const HardSwish&) {
  return "hard_swish";
}
constexpr std::string_view kind(const Softplus&) {
  return "softplus";
}
constexpr std::string_view kind(const Mish&) {
  return "mish";
}
constexpr std::string_view kind(const Softmax&) {
  return "softmax";
}
constexpr std::string_view kind(const LogSoftmax&) {
  return "log_softmax";
}
template <std::size_t dimensions>
constexpr std::string_view kind(const MaxPool<dimensions>&) {
  return "max_pool";
}
template <std::size_t dimensions>
constexpr std::string_view kind(const AvgPool<dimensions>&) {
  return "avg_pool";
}
template <std::size_t dimensions>
constexpr std::string_view kind(const AdaptiveAvgPool<dimensions>&) {
  return "adaptive_avg_pool";
}
template <std::size_t dimensions>
constexpr std::string_view kind(const AdaptiveMaxPool<dimensions>&) {
  return "adaptive_max_pool";
}
constexpr std::string_view kind(const GlobalAvgPool&) {
  return "global_avg_pool";
}
constexpr std::string_view kind(const GlobalMaxPool&) {
  return "global_max_pool";
}
constexpr std::string_view kind(const Flatten&) {
  return "flatten";
}
constexpr std::string_view kind(const Reshape&) {
  return "reshape";
}
constexpr std::string_view kind(const Permute&) {
  return "permute";
}
constexpr std::string_view kind(const Upsample&) {
  return "upsample";
}
constexpr std::string_view kind(const Pad&) {
  return "pad";
}
constexpr std::string_view kind(const Sequential&) {
  return "sequential";
}
constexpr std::string_view kind(const Residual&) {
  return "residual";
}
constexpr std::string_view kind(const Function&) {
  return "function";
}

}  // namespace pantoum::layers
