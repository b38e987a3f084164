// What draws at random: RandomNormal, RandomUniform, their Like forms, Bernoulli, Multinomial.
#include <fmt/format.h>

#include <array>

#include "import/operators.h"

namespace pantoum::import {
namespace {

using ir::DType;
using ir::Kind;
using ir::Shape;
using ir::ValueId;

constexpr const char* kOwnSeed = "it is drawn with --seed, anew in every step; the model's own seed is not used";

// The key of its random stream is the node's position in the file, as that of dropout.
Result<ValueId> drawn(Node& node, int64_t distribution, double a, double b, Shape shape) {
  if (node.attributes().has("seed")) node.note(kOwnSeed);
  return node.op(Kind::k_random, {}, {{node.position(), distribution}, {a, b}}, {{DType::kF32, std::move(shape)}});
}

// The type that the `dtype` attribute names.
Result<DType> told_type(Node& node, DType otherwise) {
  const int64_t told = node.attributes().integer("dtype", 0);
  if (told == 0) return otherwise;
  const std::optional<DType> dtype = told > 0 && told < 64 ? dtype_of(static_cast<int32_t>(told)) : std::nullopt;
  if (!dtype) return unsupported("its dtype is not supported", "draw float32");
  return runtime_dtype(*dtype);
}

template <int64_t kDistribution>
Result<void> draw(Node& node, Shape shape, DType otherwise) {
  PANTOUM_ASSIGN(const DType dtype, told_type(node, otherwise));
  if (dtype != DType::kF32) return unsupported("it draws integers", "draw float32 and cast it");
  constexpr bool kNormal = kDistribution == PT_RANDOM_NORMAL;
  const double a = node.attributes().real(kNormal ? "mean" : "low", 0);
  const double b = node.attributes().real(kNormal ? "scale" : "high", 1);
  PANTOUM_ASSIGN(const ValueId y, drawn(node, kDistribution, a, b, std::move(shape)));
  node.set(0, y);
  return {};
}

template <int64_t kDistribution>
Result<void> lower_random(Node& node) {
  const auto shape = node.attributes().integers("shape");
  if (!shape) return fail("E0211", "it has no shape");
  return draw<kDistribution>(node, *shape, DType::kF32);
}

// The input is there for its shape and type alone.
template <int64_t kDistribution>
Result<void> lower_random_like(Node& node) {
  if (!node.has(0)) return fail("E0211", "its input 0 is missing");
  return draw<kDistribution>(node, node.shape(0), runtime_dtype(node.type(0).dtype));
}

Result<ValueId> cast_to(Node& node, ValueId x, DType dtype) {
  const ir::TensorType from = node.builder().type(x);
  return from.dtype == dtype ? Result<ValueId>(x) : node.op(Kind::k_cast, {x}, {}, {{dtype, from.shape}});
}

// 1 where a number of [0, 1) is below the probability.
Result<void> lower_bernoulli(Node& node) {
  PANTOUM_ASSIGN(const ValueId p, node.real(0));
  PANTOUM_ASSIGN(const DType dtype, told_type(node, DType::kF32));
  PANTOUM_ASSIGN(const ValueId u, drawn(node, PT_RANDOM_UNIFORM, 0, 1, node.shape(0)));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_compare, {u, p}, {{PT_COMPARE_LESS}, {}}));
  PANTOUM_ASSIGN(y, cast_to(node, y, dtype));
  node.set(0, y);
  return {};
}

// log p - log(-log u) is largest at a class with the probability p (Gumbel's trick).
Result<void> lower_multinomial(Node& node) {
  PANTOUM_ASSIGN(ValueId scores, node.real(0));
  const Shape shape = node.shape(0);
  if (shape.size() != 2) return fail("E0211", "its input is no matrix of log-probabilities");
  const int64_t samples = node.attributes().integer("sample_size", 1);
  if (samples < 1 || samples > INT32_MAX) return fail("E0211", fmt::format("its sample_size is {}", samples));
  PANTOUM_ASSIGN(const DType dtype, told_type(node, DType::kI32));
  if (dtype != DType::kI32 && dtype != DType::kI64) return fail("E0211", "its dtype is neither int32 nor int64");
  PANTOUM_ASSIGN(ValueId noise, drawn(node, PT_RANDOM_UNIFORM, 0, 1, {shape[0], samples, shape[1]}));
  for (int twice = 0; twice < 2; ++twice) {
    PANTOUM_ASSIGN(noise, node.op(Kind::k_log, {noise}));
    PANTOUM_ASSIGN(noise, node.op(Kind::k_neg, {noise}));
  }
  PANTOUM_ASSIGN(scores, node.reshape(scores, {shape[0], 1, shape[1]}));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_add, {noise, scores}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_arg_max, {y}, {{2}, {}}));
  PANTOUM_ASSIGN(y, cast_to(node, y, dtype));
  node.set(0, y);
  return {};
}

constexpr const char* kDrawn = "drawn anew in every step, with --seed in place of the model's own; in evaluation too";
constexpr std::array kRandomOperators = {
    OperatorEntry{"RandomNormal", lower_random<PT_RANDOM_NORMAL>, "random", kDrawn},
    OperatorEntry{"RandomNormalLike", lower_random_like<PT_RANDOM_NORMAL>, "random", kDrawn},
    OperatorEntry{"RandomUniform", lower_random<PT_RANDOM_UNIFORM>, "random", kDrawn},
    OperatorEntry{"RandomUniformLike", lower_random_like<PT_RANDOM_UNIFORM>, "random", kDrawn},
    OperatorEntry{"Bernoulli", lower_bernoulli, "random compare cast", kDrawn},
    OperatorEntry{"Multinomial", lower_multinomial, "random log neg add arg_max cast", kDrawn}};

}  // namespace

std::span<const OperatorEntry> random_operators() {
  return kRandomOperators;
}

}  // namespace pantoum::import
