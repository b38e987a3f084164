// What draws at random: by the trainer's seed and the step, never by PyTorch's generator.
#include "aten/operators.h"

namespace pantoum::aten {
namespace {

Value uniform(Node& node) {
  return drawn(node, node.position(), PT_RANDOM_UNIFORM, 0, 1, node.output().shape);
}

Result<void> draw(Node& node, int64_t distribution, double a, double b) {
  if (node.output().dtype != DType::kF32) return unsupported("it draws integers", "draw floating-point numbers");
  return node.set(drawn(node, node.position(), distribution, a, b, node.output().shape));
}

template <int64_t kDistribution>
Result<void> lower_drawn(Node& node) {
  return draw(node, kDistribution, 0, 1);
}

Result<void> lower_dropout(Node& node) {
  const Value x = node.real({0, "input"});
  const double p = node.number({1, "p"}, 0.5);
  const bool train = node.boolean({2, "train"}, true);
  if (node.wants(1)) return unsupported("its mask is read", "use torch.bernoulli");
  if (!train || p == 0) return node.set(x);
  return node.set(p == 1 ? x * 0.0 : apply(ir::Kind::k_dropout, x, {{node.position()}, {p}}));
}

// Whole numbers from [low, high).
Result<void> lower_randint(Node& node) {
  const double low = node.number({0, "low"}, 0), high = node.number({1, "high"}, 1);
  if (!(high > low) || high - low > 16777216)
    return unsupported("it draws from more numbers than float32 tells apart", "draw from fewer");
  const Value floor = rounded(uniform(node) * (high - low), import::kDown);
  const Value steps = cast(minimum(floor, node.number(DType::kF32, high - low - 1)), DType::kI64);
  return node.set(cast(steps + node.number(DType::kI64, low), node.output().dtype));
}

constexpr OperatorEntry kRandom[] = {{"randint.low", lower_randint, false},
                                     {"rand.default", lower_drawn<PT_RANDOM_UNIFORM>},
                                     {"randn.default", lower_drawn<PT_RANDOM_NORMAL>},
                                     {"native_dropout.default", lower_dropout}};

}  // namespace

constinit const Family random_operators = kRandom;

}  // namespace pantoum::aten
