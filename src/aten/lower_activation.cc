// Activations, and what bounds values.
#include <array>
#include <limits>

#include "aten/arithmetic.h"
#include "aten/operators.h"

namespace pantoum::aten {
namespace {

using ir::DType;
using ir::Kind;
using ir::ValueId;

Result<void> lower_gelu(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(const std::string approximate, node.text({1, "approximate"}, "none"));
  return node.set(node.op(Kind::k_gelu, {x}, {{approximate == "tanh" ? 1 : 0}, {}}));
}

Result<void> lower_relu(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  const DType dtype = node.type_of(x).dtype;
  if (ir::is_float(dtype)) return node.set(node.op(Kind::k_relu, {x}));
  return node.set(node.op(Kind::k_maximum, {x, node.whole_constant(dtype, {}, {0})}));
}

Result<void> lower_leaky_relu(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(const double slope, node.number({1, "negative_slope"}, 0.01));
  return node.set(node.op(Kind::k_leaky_relu, {x}, {{}, {slope}}));
}

Result<void> lower_elu(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(const double alpha, node.number({1, "alpha"}, 1));
  PANTOUM_ASSIGN(const double scale, node.number({2, "scale"}, 1));
  PANTOUM_ASSIGN(const double input_scale, node.number({3, "input_scale"}, 1));
  return node.set(node.op(Kind::k_elu, {x}, {{}, {scale, alpha * scale, input_scale}}));
}

Result<void> lower_silu(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(const ValueId gate, node.op(Kind::k_sigmoid, {x}));
  return node.set(node.op(Kind::k_mul, {x, gate}));
}

Result<void> lower_mish(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(ValueId gate, node.op(Kind::k_softplus, {x}));
  PANTOUM_ASSIGN(gate, node.op(Kind::k_tanh, {gate}));
  return node.set(node.op(Kind::k_mul, {x, gate}));
}

// Beyond the threshold PyTorch's is x itself, which differs from it by less than float32 holds where the threshold is 20.
Result<void> lower_softplus(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(const double beta, node.number({1, "beta"}, 1));
  PANTOUM_ASSIGN(const double threshold, node.number({2, "threshold"}, 20));
  PANTOUM_ASSIGN(const ValueId scaled, node.scale(x, beta));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_softplus, {scaled}));
  PANTOUM_ASSIGN(y, node.scale(y, 1 / beta));
  if (threshold >= 20) return node.set(0, y);
  const ValueId limit = node.constant(DType::kF32, {}, {threshold});
  PANTOUM_ASSIGN(const ValueId beyond, node.op(Kind::k_compare, {scaled, limit}, {{PT_COMPARE_GREATER}, {}}));
  return node.set(chosen(node, beyond, x, y));
}

// -softplus(-x)
Result<void> lower_log_sigmoid(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(x, node.op(Kind::k_neg, {x}));
  PANTOUM_ASSIGN(x, node.op(Kind::k_softplus, {x}));
  return node.set(node.op(Kind::k_neg, {x}));
}

Result<void> lower_hard_sigmoid(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  return node.set(node.op(Kind::k_hard_sigmoid, {x}, {{}, {1.0 / 6, 0.5}}));
}

// x where it is above 0 (or the threshold), else `other`.
Result<void> choose_above(Node& node, ValueId x, double threshold, ValueId other) {
  const ValueId limit = node.constant(DType::kF32, {}, {threshold});
  PANTOUM_ASSIGN(const ValueId above, node.op(Kind::k_compare, {x, limit}, {{PT_COMPARE_GREATER}, {}}));
  return node.set(chosen(node, above, x, other));
}

Result<void> lower_prelu(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(ValueId weight, node.real({1, "weight"}));
  ir::Shape shape = node.shape_of(weight);
  if (shape.size() == 1 && node.shape_of(x).size() > 2) {  // one a channel
    shape.resize(node.shape_of(x).size() - 1, 1);
    PANTOUM_ASSIGN(weight, node.reshape(weight, shape));
  }
  PANTOUM_ASSIGN(const ValueId below, node.op(Kind::k_mul, {weight, x}));
  return choose_above(node, x, 0, below);
}

Result<void> lower_threshold(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(const double threshold, node.number({1, "threshold"}, 0));
  PANTOUM_ASSIGN(const double value, node.number({2, "value"}, 0));
  return choose_above(node, x, threshold, node.constant(DType::kF32, {}, {value}));
}

// The gradient is that of x strictly between the bounds.
Result<void> lower_hardtanh(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(const double least, node.number({1, "min_val"}, -1));
  PANTOUM_ASSIGN(const double most, node.number({2, "max_val"}, 1));
  return node.set(node.op(Kind::k_clip, {x}, {{}, {least, most}}));
}

// One bound of clamp: what is beyond it becomes the bound; gradients pass at the bound itself, to x.
Result<ValueId> bounded(Node& node, ValueId x, Slot slot, int64_t beyond) {
  if (!node.has(slot)) return x;
  PANTOUM_ASSIGN(const ValueId bound, node.as(slot, node.type_of(x).dtype));
  PANTOUM_ASSIGN(const ValueId outside, node.op(Kind::k_compare, {x, bound}, {{beyond}, {}}));
  return chosen(node, outside, bound, x);
}

Result<void> lower_clamp(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.as(kSelf, node.output().dtype));
  PANTOUM_ASSIGN(x, bounded(node, x, {1, "min"}, PT_COMPARE_LESS));
  PANTOUM_ASSIGN(x, bounded(node, x, {2, "max"}, PT_COMPARE_GREATER));
  return node.set(0, x);
}

Result<void> lower_clamp_max(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.as(kSelf, node.output().dtype));
  return node.set(bounded(node, x, {1, "max"}, PT_COMPARE_GREATER));
}

// NaN and infinities become numbers; gradients pass where it was one.
Result<void> lower_nan_to_num(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  constexpr double kMost = std::numeric_limits<float>::max();
  PANTOUM_ASSIGN(const double nan, node.number({1, "nan"}, 0));
  PANTOUM_ASSIGN(const double most, node.number({2, "posinf"}, kMost));
  PANTOUM_ASSIGN(const double least, node.number({3, "neginf"}, -kMost));
  const auto number = [&](double value) { return node.constant(DType::kF32, {}, {value}); };
  PANTOUM_ASSIGN(const ValueId is_number, node.op(Kind::k_compare, {x, x}, {{PT_COMPARE_EQUAL}, {}}));
  PANTOUM_ASSIGN(ValueId y, chosen(node, is_number, x, number(nan)));
  PANTOUM_ASSIGN(const ValueId above, node.op(Kind::k_compare, {y, number(kMost)}, {{PT_COMPARE_GREATER}, {}}));
  PANTOUM_ASSIGN(y, chosen(node, above, number(most), y));
  PANTOUM_ASSIGN(const ValueId below, node.op(Kind::k_compare, {y, number(-kMost)}, {{PT_COMPARE_LESS}, {}}));
  return node.set(chosen(node, below, number(least), y));
}

template <Kind kKind>
Result<void> lower_softmax(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, DType::kF32));
  const size_t rank = node.shape_of(x).size();
  PANTOUM_ASSIGN(const int64_t axis, node.dimension({1, "dim"}, rank, -1));
  if (rank != 0) return node.set(node.op(kKind, {x}, {{axis}, {}}));
  PANTOUM_ASSIGN(ValueId y, node.reshape(x, {1}));
  PANTOUM_ASSIGN(y, node.op(kKind, {y}, {{0}, {}}));
  return node.set(node.reshape(y, {}));
}

constexpr std::array kActivations = {OperatorEntry{"relu.default", lower_relu},
                                     OperatorEntry{"sigmoid.default", lower_unary<Kind::k_sigmoid>},
                                     OperatorEntry{"tanh.default", lower_unary<Kind::k_tanh>},
                                     OperatorEntry{"gelu.default", lower_gelu},
                                     OperatorEntry{"leaky_relu.default", lower_leaky_relu},
                                     OperatorEntry{"elu.default", lower_elu},
                                     OperatorEntry{"silu.default", lower_silu},
                                     OperatorEntry{"mish.default", lower_mish},
                                     OperatorEntry{"softplus.default", lower_softplus},
                                     OperatorEntry{"log_sigmoid_forward.default", lower_log_sigmoid},
                                     OperatorEntry{"log_sigmoid.default", lower_log_sigmoid},
                                     OperatorEntry{"hardsigmoid.default", lower_hard_sigmoid},
                                     OperatorEntry{"hardswish.default", lower_unary<Kind::k_hard_swish>},
                                     OperatorEntry{"hardtanh.default", lower_hardtanh},
                                     OperatorEntry{"_prelu_kernel.default", lower_prelu},
                                     OperatorEntry{"prelu.default", lower_prelu},
                                     OperatorEntry{"threshold.default", lower_threshold},
                                     OperatorEntry{"clamp.default", lower_clamp},
                                     OperatorEntry{"clamp.Tensor", lower_clamp},
                                     OperatorEntry{"clamp_min.default", lower_clamp},
                                     OperatorEntry{"clamp_min.Tensor", lower_clamp},
                                     OperatorEntry{"clamp_max.default", lower_clamp_max},
                                     OperatorEntry{"clamp_max.Tensor", lower_clamp_max},
                                     OperatorEntry{"nan_to_num.default", lower_nan_to_num},
                                     OperatorEntry{"_softmax.default", lower_softmax<Kind::k_softmax>},
                                     OperatorEntry{"softmax.int", lower_softmax<Kind::k_softmax>},
                                     OperatorEntry{"_log_softmax.default", lower_softmax<Kind::k_log_softmax>},
                                     OperatorEntry{"log_softmax.int", lower_softmax<Kind::k_log_softmax>}};

}  // namespace

std::span<const OperatorEntry> activation_operators() {
  return kActivations;
}

}  // namespace pantoum::aten
