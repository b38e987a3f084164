// What draws at random: by the trainer's seed and the step, never by PyTorch's generator.
#include <array>

#include "aten/operators.h"

namespace pantoum::aten {
namespace {

using ir::DType;
using ir::Kind;
using ir::ValueId;

Result<ValueId> drawn(Node& node, int64_t distribution, double a, double b) {
  if (node.output().dtype != DType::kF32) return unsupported("it draws integers", "draw floating-point numbers");
  return node.op(Kind::k_random, {}, {{node.position(), distribution}, {a, b}}, {node.output()});
}

template <int64_t kDistribution>
Result<void> lower_drawn(Node& node) {
  return node.set(drawn(node, kDistribution, 0, 1));
}

// In [low, high), of the shape of x.
Result<void> lower_uniform(Node& node) {
  PANTOUM_ASSIGN(const double low, node.number({1, "from"}, 0));
  PANTOUM_ASSIGN(const double high, node.number({2, "to"}, 1));
  return node.set(drawn(node, PT_RANDOM_UNIFORM, low, high));
}

Result<void> lower_normal(Node& node) {
  PANTOUM_ASSIGN(const double mean, node.number({1, "mean"}, 0));
  PANTOUM_ASSIGN(const double deviation, node.number({2, "std"}, 1));
  return node.set(drawn(node, PT_RANDOM_NORMAL, mean, deviation));
}

// 1 where a number drawn from [0, 1) is below the probability.
Result<void> below_probability(Node& node, ValueId probability) {
  PANTOUM_ASSIGN(const ValueId u, node.op(Kind::k_random, {}, {{node.position(), PT_RANDOM_UNIFORM}, {0, 1}},
                                          {{DType::kF32, node.output().shape}}));
  PANTOUM_ASSIGN(const ValueId hit, node.op(Kind::k_compare, {u, probability}, {{PT_COMPARE_LESS}, {}}));
  return node.set(node.cast(hit, node.output().dtype));
}

Result<void> lower_bernoulli(Node& node) {
  PANTOUM_ASSIGN(const ValueId probability, node.as(kSelf, DType::kF32));
  return below_probability(node, probability);
}

Result<void> lower_bernoulli_p(Node& node) {
  PANTOUM_ASSIGN(const ValueId probability, node.as({1, "p"}, DType::kF32));
  return below_probability(node, probability);
}

Result<void> lower_dropout(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real({0, "input"}));
  PANTOUM_ASSIGN(const double p, node.number({1, "p"}, 0.5));
  PANTOUM_ASSIGN(const bool train, node.boolean({2, "train"}, true));
  if (node.wants(1)) return unsupported("its mask is read", "use torch.bernoulli");
  if (!train || p == 0) return node.set(0, x);
  if (p == 1) return node.set(node.scale(x, 0));
  return node.set(node.op(Kind::k_dropout, {x}, {{node.position()}, {p}}));
}

// Whole numbers from [low, high).
Result<void> lower_randint(Node& node) {
  PANTOUM_ASSIGN(const double low, node.number({0, "low"}, 0));
  PANTOUM_ASSIGN(const double high, node.number({1, "high"}, 1));
  if (!(high > low) || high - low > 16777216)
    return unsupported("it draws from more numbers than float32 tells apart", "draw from fewer");
  PANTOUM_ASSIGN(ValueId u, node.op(Kind::k_random, {}, {{node.position(), PT_RANDOM_UNIFORM}, {0, 1}},
                                    {{DType::kF32, node.output().shape}}));
  PANTOUM_ASSIGN(u, node.scale(u, high - low));
  PANTOUM_ASSIGN(u, node.op(Kind::k_round, {u}, {{0}, {}}));
  const ValueId last = node.constant(DType::kF32, {}, {high - low - 1});
  PANTOUM_ASSIGN(u, node.op(Kind::k_minimum, {u, last}));
  PANTOUM_ASSIGN(u, node.cast(u, DType::kI64));
  PANTOUM_ASSIGN(u, node.op(Kind::k_add, {u, node.whole_constant(DType::kI64, {}, {static_cast<int64_t>(low)})}));
  return node.set(node.cast(u, node.output().dtype));
}

constexpr std::array kRandom = {OperatorEntry{"randint.low", lower_randint, false},
                                OperatorEntry{"rand.default", lower_drawn<PT_RANDOM_UNIFORM>},
                                OperatorEntry{"rand_like.default", lower_drawn<PT_RANDOM_UNIFORM>},
                                OperatorEntry{"randn.default", lower_drawn<PT_RANDOM_NORMAL>},
                                OperatorEntry{"randn_like.default", lower_drawn<PT_RANDOM_NORMAL>},
                                OperatorEntry{"uniform.default", lower_uniform},
                                OperatorEntry{"normal_functional.default", lower_normal},
                                OperatorEntry{"bernoulli.default", lower_bernoulli, false},
                                OperatorEntry{"bernoulli.p", lower_bernoulli_p, false},
                                OperatorEntry{"native_dropout.default", lower_dropout},
                                OperatorEntry{"dropout.default", lower_dropout}};

}  // namespace

std::span<const OperatorEntry> random_operators() {
  return kRandom;
}

}  // namespace pantoum::aten
