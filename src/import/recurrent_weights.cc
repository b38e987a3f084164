#include "import/recurrent_weights.h"

#include <numeric>

#include "import/gate_blocks.h"

namespace pantoum::import {
namespace {

using ir::kNone;
using ir::Shape;
using ir::ValueId;

enum Input : size_t { kW = 1, kR, kB };

// The operands as they are given, of all directions.
struct GivenWeights {
  ValueId w = kNone, r = kNone, b = kNone;
};

Result<GivenWeights> given_weights(Node& node) {
  GivenWeights operands;
  PANTOUM_ASSIGN(operands.w, node.real(kW));
  PANTOUM_ASSIGN(operands.r, node.real(kR));
  if (node.has(kB)) {
    PANTOUM_ASSIGN(operands.b, node.real(kB));
  }
  return operands;
}

class Sources {
 public:
  Sources(Node& node, const RecurrentSizes& sizes, const GivenWeights& given)
      : node_(node), sizes_(sizes), given_(given) {}

  // None unless all weights have their gates in one order.
  std::optional<RecurrentWeights> of(int64_t direction) {
    RecurrentWeights found;
    take(given_.w, direction, sizes_.inputs, found.w);
    take(given_.r, direction, sizes_.hidden, found.r);
    if (given_.b != kNone) {
      take(given_.b, 2 * direction, 1, found.x_bias);
      take(given_.b, 2 * direction + 1, 1, found.h_bias);
    }
    if (!alike_) return std::nullopt;
    found.blocks = blocks_;
    return found;
  }

 private:
  Node& node_;
  const RecurrentSizes& sizes_;
  const GivenWeights& given_;
  bool alike_ = true;
  std::vector<int64_t> blocks_;  // of what was taken so far

  // Rows of `columns` elements for each gate, the `at`-th such of the operand.
  void take(ValueId operand, int64_t at, int64_t columns, ValueId& into) {
    const int64_t block = sizes_.hidden * columns;
    const auto found = gate_blocks(node_.builder().graph(), operand, at * sizes_.gates * block, sizes_.gates, block);
    alike_ = alike_ && found && (blocks_.empty() || found->blocks == blocks_);
    if (!alike_) return;
    blocks_ = found->blocks;
    into = found->source;
  }
};

// What the values are as matrices and vectors.
void shape(Node& node, const RecurrentSizes& sizes, RecurrentWeights& weights) {
  ir::Builder& builder = node.builder();
  const int64_t rows = sizes.gates * sizes.hidden;
  weights.w = builder.reshape(weights.w, {rows, sizes.inputs});
  weights.r = builder.reshape(weights.r, {rows, sizes.hidden});
  for (ValueId* const bias : {&weights.x_bias, &weights.h_bias})
    if (*bias != kNone) *bias = builder.reshape(*bias, {rows});
}

std::optional<std::vector<RecurrentWeights>> from_sources(Node& node, const RecurrentSizes& sizes,
                                                          const GivenWeights& given) {
  Sources sources(node, sizes, given);
  std::vector<RecurrentWeights> made;
  for (int64_t direction = 0; direction < sizes.directions; ++direction) {
    std::optional<RecurrentWeights> weights = sources.of(direction);
    if (!weights) return std::nullopt;
    made.push_back(std::move(*weights));
  }
  for (RecurrentWeights& weights : made) shape(node, sizes, weights);
  return made;
}

std::vector<RecurrentWeights> as_given(Node& node, const RecurrentSizes& sizes, const GivenWeights& given) {
  std::vector<RecurrentWeights> made(static_cast<size_t>(sizes.directions));
  const std::vector<ValueId> ws = by_direction(node, given.w, sizes.directions);
  const std::vector<ValueId> rs = by_direction(node, given.r, sizes.directions);
  const std::vector<ValueId> bs =
      given.b == kNone ? std::vector<ValueId>() : by_direction(node, given.b, sizes.directions);
  const int64_t width = sizes.gates * sizes.hidden;
  for (size_t d = 0; d < made.size(); ++d) {
    made[d] = {ws[d], rs[d], kNone, kNone, std::vector<int64_t>(static_cast<size_t>(sizes.gates))};
    std::iota(made[d].blocks.begin(), made[d].blocks.end(), 0);
    if (bs.empty()) continue;
    const std::vector<ValueId> biases = node.builder().split(node.label() + ".b", bs[d], 0, {width, width});
    made[d].x_bias = biases[0];
    made[d].h_bias = biases[1];
  }
  return made;
}

}  // namespace

std::vector<ValueId> by_direction(Node& node, ValueId x, int64_t directions) {
  const Shape shape = node.builder().type(x).shape;
  const std::vector<int64_t> ones(static_cast<size_t>(directions), 1);
  std::vector<ValueId> parts = node.builder().split(node.label() + ".directions", x, 0, ones);
  for (ValueId& part : parts) part = node.builder().reshape(part, Shape(shape.begin() + 1, shape.end()));
  return parts;
}

Result<std::vector<RecurrentWeights>> recurrent_weights(Node& node, const RecurrentSizes& sizes, bool biases_apart) {
  PANTOUM_ASSIGN(const GivenWeights operands, given_weights(node));
  std::optional<std::vector<RecurrentWeights>> made = from_sources(node, sizes, operands);
  if (!made) made = as_given(node, sizes, operands);
  for (RecurrentWeights& weights : *made) {
    if (biases_apart || weights.x_bias == kNone) continue;
    const std::vector<ValueId> both = {weights.x_bias, weights.h_bias};
    weights.x_bias = node.builder().op(ir::Kind::k_add, node.label() + ".bias", both);
    weights.h_bias = kNone;
  }
  return *made;
}

}  // namespace pantoum::import
