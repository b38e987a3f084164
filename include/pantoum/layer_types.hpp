// The layers of a model that is built in code. A layer is a struct whose fields are its options:
//
//   pantoum::Conv2d{.channels = 16, .kernel = 3, .padding = 1}      pantoum::Linear{.features = 10, .bias = false}
//
// Defaults, names of parameters ("conv1.weight"), their shapes and their first values are those of PyTorch's layers, so that weights
// trained there load here by name. Dimension 0 of every tensor is the batch. A layer without a name gets one: its kind and a number, or,
// in a Sequential, its position.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pantoum/export.h"

namespace pantoum {

// One number for each spatial dimension: 3 means 3 in every dimension; {3, 5} means 3 rows and 5 columns.
template <std::size_t dimensions>
struct Extents {
  std::array<int64_t, dimensions> values{};

  constexpr Extents(int64_t all) { values.fill(all); }
  constexpr Extents(int64_t rows, int64_t columns) requires(dimensions == 2) : values{rows, columns} {}
  constexpr Extents(int64_t depth, int64_t rows, int64_t columns) requires(dimensions == 3)
      : values{depth, rows, columns} {}
};

// The initial values of a parameter. Random values depend only on the model's seed and the parameter's name: they are the same on every machine, and
// other layers do not change them.
struct Initial {
  enum class Kind : uint8_t { of_layer, constant, uniform, normal, kaiming_uniform, xavier_uniform, values };
  Kind kind = Kind::of_layer;  // of_layer: as in PyTorch's layer
  double first = 0, second = 0;
  std::vector<float> elements = {};

  [[nodiscard]] static Initial constant(double value) { return {.kind = Kind::constant, .first = value}; }
  [[nodiscard]] static Initial zeros() { return constant(0); }
  [[nodiscard]] static Initial ones() { return constant(1); }
  [[nodiscard]] static Initial uniform(double least, double most) {
    return {.kind = Kind::uniform, .first = least, .second = most};
  }
  [[nodiscard]] static Initial normal(double mean, double deviation) {
    return {.kind = Kind::normal, .first = mean, .second = deviation};
  }
  // He et al. (2015), for a layer that a ReLU follows: uniform within sqrt(6 / inputs of one output).
  [[nodiscard]] static Initial kaiming_uniform() { return {.kind = Kind::kaiming_uniform}; }
  // Glorot and Bengio (2010): uniform within sqrt(6 / (inputs of one output + outputs of one input)).
  [[nodiscard]] static Initial xavier_uniform() { return {.kind = Kind::xavier_uniform}; }
  // Row-major values, one for each element.
  [[nodiscard]] static Initial values(std::vector<float> elements) {
    return {.kind = Kind::values, .elements = std::move(elements)};
  }
};

// ---- Layers with parameters.

// [N, .., in] -> [N, .., features]. Parameters: weight [features, in], bias [features].
struct Linear {
  int64_t features = 0;
  bool bias = true;
  Initial initial_weight = {}, initial_bias = {};
  std::string name = {};
};

// [N, C, ..] -> [N, channels, ..]. Parameters: weight [channels, C / groups, kernel..], bias [channels].
template <std::size_t dimensions>
struct Conv {
  int64_t channels = 0;
  Extents<dimensions> kernel = 0, stride = 1, padding = 0, dilation = 1;
  bool same_padding = false;  // use the padding that keeps the spatial extents, in place of `padding`; needs stride 1
  int64_t groups = 1;
  bool bias = true;
  Initial initial_weight = {}, initial_bias = {};
  std::string name = {};
};
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

// The transposed convolution. Parameters: weight [C, channels / groups, kernel..], bias [channels].
template <std::size_t dimensions>
struct ConvTranspose {
  int64_t channels = 0;
  Extents<dimensions> kernel = 0, stride = 1, padding = 0, output_padding = 0, dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  Initial initial_weight = {}, initial_bias = {};
  std::string name = {};
};
using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;

// Normalizes each channel (dimension 1) of [N, C] or [N, C, ..]: by the batch's statistics in training, by the running statistics in evaluation.
// Parameters: weight, bias [C]; running statistics: running_mean, running_var [C].
struct BatchNorm {
  double epsilon = 1e-5;
  double momentum = 0.1;  // weight of the batch in the running statistics, as in PyTorch
  bool affine = true;     // has weight and bias
  bool biased_statistics = false;  // running_var is the mean square deviation itself, not the estimate n / (n - 1) of it
  Initial initial_weight = {}, initial_bias = {};
  std::string name = {};
};

// Normalizes over the last `dimensions` dimensions. Parameters: weight and bias, whose shape is that of these dimensions.
struct LayerNorm {
  int64_t dimensions = 1;
  double epsilon = 1e-5;
  bool affine = true, bias = true;
  std::string name = {};
};

// Normalizes each group of channels of each sample of [N, C, ..]. Parameters: weight, bias [C].
struct GroupNorm {
  int64_t groups = 1;
  double epsilon = 1e-5;
  bool affine = true;
  std::string name = {};
};

// Normalizes each channel of each sample of [N, C, ..]. Parameters, if affine: weight, bias [C].
struct InstanceNorm {
  double epsilon = 1e-5;
  bool affine = false;
  std::string name = {};
};

// Divides the last dimension by its root mean square. Parameter: weight, with the extent of that dimension.
struct RmsNorm {
  double epsilon = 1e-6;
  std::string name = {};
};

// Replaces integers [N, ..] by rows of a table: [N, .., columns]. Parameter: weight [rows, columns], initially normal with deviation 1.
struct Embedding {
  int64_t rows = 0, columns = 0;
  Initial initial_weight = {};
  std::string name = {};
};

// Sequences [N, T, in] -> [N, T, hidden] ([N, T, 2 hidden] if bidirectional), one length for all. Parameters as PyTorch's:
// weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, then _l1 and so on; "_reverse" behind the names of the other direction.
struct Lstm {
  int64_t hidden = 0;
  int64_t layers = 1;
  bool bidirectional = false, bias = true;
  double dropout = 0;        // between layers
  bool final_state = false;  // the layer's result is the state after the last step, [N, hidden], in place of all steps
  std::string name = {};
};
struct Gru {
  int64_t hidden = 0;
  int64_t layers = 1;
  bool bidirectional = false, bias = true;
  double dropout = 0;
  bool final_state = false;
  std::string name = {};
};
struct Rnn {
  int64_t hidden = 0;
  int64_t layers = 1;
  bool relu = false;  // ReLU in place of tanh
  bool bidirectional = false, bias = true;
  double dropout = 0;
  bool final_state = false;
  std::string name = {};
};

// Self-attention of sequences [N, T, E]. ModelBuilder::multi_head_attention computes attention to other sequences. Parameters as PyTorch's:
// in_proj_weight, in_proj_bias, out_proj.weight, out_proj.bias.
struct MultiHeadAttention {
  int64_t heads = 1;
  bool causal = false;  // a position attends only to itself and to earlier positions
  bool bias = true;
  double dropout = 0;  // dropout on the attention weights
  std::string name = {};
};

// A block of a transformer: attention and two linear layers, each with normalization and a residual connection. Parameters as PyTorch's
// TransformerEncoderLayer: self_attn, linear1, linear2, norm1, norm2.
struct TransformerLayer {
  int64_t heads = 1, feedforward = 0;
  bool causal = false;
  bool norm_first = false;  // normalize before attention and linear layers, in place of after them
  bool gelu = false;        // in place of ReLU
  double dropout = 0.1;
  std::string name = {};
};

// Multiplies negative values by trained factors. Parameter: weight [parameters].
struct Prelu {
  int64_t parameters = 1;  // 1, or the number of channels
  double initial = 0.25;
  std::string name = {};
};

// ---- Layers without parameters.

// Elementwise functions without settings. Each is one operator of ONNX: LAYER(struct, function of ModelBuilder, operator).
#define PANTOUM_ELEMENT_LAYERS(LAYER)       \
  LAYER(Relu, relu, "Relu")                 \
  LAYER(Selu, selu, "Selu")                 \
  LAYER(Sigmoid, sigmoid, "Sigmoid")        \
  LAYER(Tanh, tanh, "Tanh")                 \
  LAYER(HardSwish, hard_swish, "HardSwish") \
  LAYER(Softplus, softplus, "Softplus")     \
  LAYER(Mish, mish, "Mish")
#define PANTOUM_LAYER(Type, function, op_type) \
  struct Type {                                \
    std::string name = {};                     \
  };
PANTOUM_ELEMENT_LAYERS(PANTOUM_LAYER)
#undef PANTOUM_LAYER

struct Dropout {
  double ratio = 0.5;
  std::string name = {};
};

struct LeakyRelu {
  double slope = 0.01;
  std::string name = {};
};
struct Elu {
  double alpha = 1;
  std::string name = {};
};
struct Gelu {
  bool tanh = false;  // the approximation by tanh
  std::string name = {};
};
struct Silu {
  std::string name = {};
};
struct HardSigmoid {
  std::string name = {};
};
// Along one axis; -1 is the last. Cross-entropy losses take what comes before a softmax.
struct Softmax {
  int64_t axis = -1;
  std::string name = {};
};
struct LogSoftmax {
  int64_t axis = -1;
  std::string name = {};
};

// Pools [N, C, ..]. stride 0: the stride is the kernel size.
template <std::size_t dimensions>
struct MaxPool {
  Extents<dimensions> kernel = 0, stride = 0, padding = 0, dilation = 1;
  bool ceil = false;  // also use windows that begin inside the input but end outside
  std::string name = {};
};
using MaxPool1d = MaxPool<1>;
using MaxPool2d = MaxPool<2>;
using MaxPool3d = MaxPool<3>;

template <std::size_t dimensions>
struct AvgPool {
  Extents<dimensions> kernel = 0, stride = 0, padding = 0;
  bool ceil = false;
  bool count_padding = true;  // count padded elements in the divisor of the mean
  std::string name = {};
};
using AvgPool1d = AvgPool<1>;
using AvgPool2d = AvgPool<2>;
using AvgPool3d = AvgPool<3>;

// Pools to a given size, which divides each extent.
template <std::size_t dimensions>
struct AdaptiveAvgPool {
  Extents<dimensions> size = 1;
  std::string name = {};
};
using AdaptiveAvgPool1d = AdaptiveAvgPool<1>;
using AdaptiveAvgPool2d = AdaptiveAvgPool<2>;
using AdaptiveAvgPool3d = AdaptiveAvgPool<3>;

template <std::size_t dimensions>
struct AdaptiveMaxPool {
  Extents<dimensions> size = 1;
  std::string name = {};
};
using AdaptiveMaxPool1d = AdaptiveMaxPool<1>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<2>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<3>;

// Pools over all spatial dimensions: [N, C, ..] -> [N, C, 1, ..].
struct GlobalAvgPool {
  std::string name = {};
};
struct GlobalMaxPool {
  std::string name = {};
};

// Merges the dimensions from `first` on into one.
struct Flatten {
  int64_t first = 1;
  std::string name = {};
};
// The new shape. 0 keeps the dimension at that position (for the batch: the first); at most one -1 stands for the remaining elements.
struct Reshape {
  std::vector<int64_t> shape = {};
  std::string name = {};
};
// Dimension d of the output is dimension dimensions[d] of the input.
struct Permute {
  std::vector<int64_t> dimensions = {};
  std::string name = {};
};

// Enlarges the dimensions after the channels by the factor `scale`.
struct Upsample {
  enum class Mode : uint8_t { nearest, linear, cubic };
  double scale = 2;
  Mode mode = Mode::nearest;
  bool align_corners = false;  // linear, cubic
  std::string name = {};
};

enum class PadMode : uint8_t { constant, reflect, edge, wrap };

// `before` and `after` have one number for each of the last dimensions; negative numbers crop.
struct Pad {
  std::vector<int64_t> before = {}, after = {};
  PadMode mode = PadMode::constant;
  double value = 0;
  std::string name = {};
};

// ---- All other layers: LAYER(struct, function of ModelBuilder, kind). The name of an unnamed layer is its kind and a number.

// The functions of these layers take the struct.
#define PANTOUM_OPTION_LAYERS(LAYER)                         \
  LAYER(Linear, linear, "linear")                            \
  LAYER(Conv1d, conv1d, "conv")                              \
  LAYER(Conv2d, conv2d, "conv")                              \
  LAYER(Conv3d, conv3d, "conv")                              \
  LAYER(ConvTranspose1d, conv_transpose1d, "conv_transpose") \
  LAYER(ConvTranspose2d, conv_transpose2d, "conv_transpose") \
  LAYER(ConvTranspose3d, conv_transpose3d, "conv_transpose") \
  LAYER(BatchNorm, batch_norm, "batch_norm")                 \
  LAYER(LayerNorm, layer_norm, "layer_norm")                 \
  LAYER(GroupNorm, group_norm, "group_norm")                 \
  LAYER(InstanceNorm, instance_norm, "instance_norm")        \
  LAYER(RmsNorm, rms_norm, "rms_norm")                       \
  LAYER(Embedding, embedding, "embedding")                   \
  LAYER(TransformerLayer, transformer_layer, "transformer")  \
  LAYER(Prelu, prelu, "prelu")                               \
  LAYER(MaxPool1d, max_pool1d, "max_pool")                   \
  LAYER(MaxPool2d, max_pool2d, "max_pool")                   \
  LAYER(MaxPool3d, max_pool3d, "max_pool")                   \
  LAYER(AvgPool1d, avg_pool1d, "avg_pool")                   \
  LAYER(AvgPool2d, avg_pool2d, "avg_pool")                   \
  LAYER(AvgPool3d, avg_pool3d, "avg_pool")                   \
  LAYER(Upsample, upsample, "upsample")                      \
  LAYER(Pad, pad, "pad")

// The functions of these layers take only the tensor.
#define PANTOUM_PLAIN_LAYERS(LAYER)                        \
  LAYER(Silu, silu, "silu")                                \
  LAYER(HardSigmoid, hard_sigmoid, "hard_sigmoid")         \
  LAYER(GlobalAvgPool, global_avg_pool, "global_avg_pool") \
  LAYER(GlobalMaxPool, global_max_pool, "global_max_pool")

// The functions of these layers take the only setting of the struct.
#define PANTOUM_SETTING_LAYERS(LAYER)                                               \
  LAYER(Dropout, dropout, "dropout", double, 0.5)                                   \
  LAYER(LeakyRelu, leaky_relu, "leaky_relu", double, 0.01)                          \
  LAYER(Elu, elu, "elu", double, 1)                                                 \
  LAYER(Gelu, gelu, "gelu", bool, false)                                            \
  LAYER(Softmax, softmax, "softmax", int64_t, -1)                                   \
  LAYER(LogSoftmax, log_softmax, "log_softmax", int64_t, -1)                        \
  LAYER(AdaptiveAvgPool1d, adaptive_avg_pool1d, "adaptive_avg_pool", Extents<1>, 1) \
  LAYER(AdaptiveAvgPool2d, adaptive_avg_pool2d, "adaptive_avg_pool", Extents<2>, 1) \
  LAYER(AdaptiveAvgPool3d, adaptive_avg_pool3d, "adaptive_avg_pool", Extents<3>, 1) \
  LAYER(AdaptiveMaxPool1d, adaptive_max_pool1d, "adaptive_max_pool", Extents<1>, 1) \
  LAYER(AdaptiveMaxPool2d, adaptive_max_pool2d, "adaptive_max_pool", Extents<2>, 1) \
  LAYER(AdaptiveMaxPool3d, adaptive_max_pool3d, "adaptive_max_pool", Extents<3>, 1) \
  LAYER(Flatten, flatten, "flatten", int64_t, 1)                                    \
  LAYER(Reshape, reshape, "reshape", std::vector<int64_t>, {})                      \
  LAYER(Permute, permute, "permute", std::vector<int64_t>, {})

// ModelBuilder declares the functions of these layers one by one; the last three layers are in layers.hpp.
#define PANTOUM_OTHER_LAYERS(LAYER)                            \
  LAYER(Lstm, lstm, "lstm")                                    \
  LAYER(Gru, gru, "gru")                                       \
  LAYER(Rnn, rnn, "rnn")                                       \
  LAYER(MultiHeadAttention, multi_head_attention, "attention") \
  LAYER(Sequential, apply, "sequential")                       \
  LAYER(Residual, apply, "residual")                           \
  LAYER(Function, apply, "function")

}  // namespace pantoum
