// What draws at random: RandomNormal, RandomUniform, their Like forms, Bernoulli, Multinomial.

#include "import/operators.h"

namespace pantoum::import {
namespace {

// The key of its random stream is the node's position in the file, as that of dropout.
Value draw(Node& node, int64_t distribution, double a, double b, Shape shape) {
  if (node.attributes().has("seed"))
    node.note("it is drawn with --seed, anew in every step; the model's own seed is not used");
  return drawn(node, node.position(), distribution, a, b, std::move(shape));
}

// The type that the `dtype` attribute names.
Result<DType> told_type(Node& node, DType otherwise) {
  const int64_t told = node.attributes().integer("dtype", 0);
  if (told == 0) return otherwise;
  const std::optional<DType> dtype = named_type(told);
  if (!dtype) return unsupported("its dtype is not supported", "draw float32");
  return runtime_dtype(*dtype);
}

template <int64_t kDistribution>
Result<void> draw_numbers(Node& node, Shape shape, DType otherwise) {
  PANTOUM_ASSIGN(const DType dtype, told_type(node, otherwise));
  if (dtype != DType::kF32) return unsupported("it draws integers", "draw float32 and cast it");
  constexpr bool kNormal = kDistribution == PT_RANDOM_NORMAL;
  const double a = node.attributes().real(kNormal ? "mean" : "low", 0);
  const double b = node.attributes().real(kNormal ? "scale" : "high", 1);
  return node.set(draw(node, kDistribution, a, b, std::move(shape)));
}

template <int64_t kDistribution>
Result<void> lower_random(Node& node) {
  return draw_numbers<kDistribution>(node, *node.attributes().integers("shape"), DType::kF32);
}

// The input is there for its shape and type alone.
template <int64_t kDistribution>
Result<void> lower_random_like(Node& node) {
  return draw_numbers<kDistribution>(node, node.shape(0), runtime_dtype(node.type(0).dtype));
}

// 1 where a number of [0, 1) is below the probability.
Result<void> lower_bernoulli(Node& node) {
  const Value probability = node.real(0);
  PANTOUM_ASSIGN(const DType dtype, told_type(node, DType::kF32));
  const Value u = draw(node, PT_RANDOM_UNIFORM, 0, 1, node.shape(0));
  return node.set(cast(compare(u, PT_COMPARE_LESS, probability), dtype));
}

// log p - log(-log u) is largest at a class with the probability p (Gumbel's trick).
Result<void> lower_multinomial(Node& node) {
  const Value scores = node.real(0);
  const Shape shape = node.shape(0);
  if (shape.size() != 2) return misfit("its input is no matrix of log-probabilities");
  const int64_t samples = node.attributes().integer("sample_size", 1);
  if (samples < 1 || samples > INT32_MAX) return misfit("its sample_size is {}", samples);
  PANTOUM_ASSIGN(const DType dtype, told_type(node, DType::kI32));
  if (dtype != DType::kI32 && dtype != DType::kI64) return misfit("its dtype is neither int32 nor int64");
  const Value noise = -log(-log(draw(node, PT_RANDOM_UNIFORM, 0, 1, {shape[0], samples, shape[1]})));
  return node.set(cast(apply(Kind::k_arg_max, noise + reshape(scores, {shape[0], 1, shape[1]}), {{2}, {}}), dtype));
}

constexpr const char* kDrawn = "drawn anew in every step, with --seed in place of the model's own; in evaluation too";
constexpr OperatorEntry kRandomOperators[] = {
    {"RandomNormal", lower_random<PT_RANDOM_NORMAL>, "random", kDrawn},
    {"RandomNormalLike", lower_random_like<PT_RANDOM_NORMAL>, "random", kDrawn},
    {"RandomUniform", lower_random<PT_RANDOM_UNIFORM>, "random", kDrawn},
    {"RandomUniformLike", lower_random_like<PT_RANDOM_UNIFORM>, "random", kDrawn},
    {"Bernoulli", lower_bernoulli, "random compare cast", kDrawn},
    {"Multinomial", lower_multinomial, "random log neg add arg_max cast", kDrawn}};

}  // namespace

constinit const Family random_operators = kRandomOperators;

}  // namespace pantoum::import
