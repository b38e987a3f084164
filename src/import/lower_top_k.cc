// TopK, which sorting is too.
#include <algorithm>
#include <array>
#include <numeric>

#include "import/integers.h"
#include "import/numbers.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

struct Wanted {
  int64_t axis = 0, most = 0;
  bool largest = true;
};

Result<Wanted> read_wanted(Node& node) {
  const Shape shape = node.shape(0);
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(node.attributes().integer("axis", -1), shape.size()));
  PANTOUM_ASSIGN(const std::vector<int64_t> told, node.integers(1, "K"));
  if (told.size() != 1) return fail("E0211", "its K is not one number");
  return Wanted{axis, told[0], node.attributes().integer("largest", 1) != 0};
}

// 1, 0 or -1 as the kernel has it: NaN is above all.
int order_of(const Numbers& x, size_t a, size_t b) {
  if (!x.is_real()) return (x.ints[a] > x.ints[b]) - (x.ints[a] < x.ints[b]);
  const double left = x.reals[a], right = x.reals[b];
  if (left != left || right != right) return int{left != left} - int{right != right};
  return int{left > right} - int{left < right};
}

// Positions in `x`, row-major in the shape of the result.
std::vector<size_t> ranked(const Numbers& x, const Wanted& wanted) {
  const auto axis = static_cast<size_t>(wanted.axis), most = static_cast<size_t>(wanted.most);
  const auto extent = static_cast<size_t>(x.shape[axis]);
  size_t inner = 1;
  for (size_t d = axis + 1; d < x.shape.size(); ++d) inner *= static_cast<size_t>(x.shape[d]);
  const size_t rows = x.size() / extent;
  std::vector<size_t> sources(rows * most);
  std::vector<size_t> order(extent);
  for (size_t row = 0; row < rows; ++row) {
    const size_t outer = row / inner, from = outer * extent * inner + row % inner;
    for (size_t at = 0; at < extent; ++at) order[at] = from + at * inner;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return wanted.largest ? order_of(x, a, b) > 0 : order_of(x, a, b) < 0;
    });
    for (size_t at = 0; at < most; ++at) sources[(outer * most + at) * inner + row % inner] = order[at];
  }
  return sources;
}

void set_ranked(Node& node, const Tensor& known, const Wanted& wanted) {
  const Numbers x = to_numbers(known);
  Shape shape = x.shape;
  shape[static_cast<size_t>(wanted.axis)] = wanted.most;
  const std::vector<size_t> sources = ranked(x, wanted);
  node.set_known(0, to_tensor(pick(x, shape, sources)));
  size_t inner = 1;
  for (size_t d = static_cast<size_t>(wanted.axis) + 1; d < shape.size(); ++d) inner *= static_cast<size_t>(shape[d]);
  std::vector<int64_t> positions;
  positions.reserve(sources.size());
  for (const size_t source : sources) {
    positions.push_back(static_cast<int64_t>(source / inner) % x.shape[static_cast<size_t>(wanted.axis)]);
  }
  node.set_known(1, make_tensor(ir::DType::kI64, shape, positions));
}

Result<void> lower_top_k(Node& node) {
  const bool whole = computes_integers(node);
  if (!node.has(0)) return fail("E0211", "its input 0 is missing");
  PANTOUM_ASSIGN(const Wanted wanted, read_wanted(node));
  if (wanted.most < 1 || wanted.most > node.shape(0)[static_cast<size_t>(wanted.axis)]) {
    return fail("E0211", "its K is not between 1 and the extent of its axis");
  }
  if (const Tensor* known = node.setting(0); known != nullptr && node.spend(known->type.elements())) {
    set_ranked(node, *known, wanted);
    return {};
  }
  PANTOUM_ASSIGN(const ValueId x, whole ? node.value(0) : node.real(0));
  PANTOUM_ASSIGN(const ValueId where,
                 node.op(Kind::k_top_k, {x}, {{wanted.axis, wanted.most, wanted.largest ? 1 : 0}, {}}));
  node.set(1, where);
  if (!node.wants(0)) return {};
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_gather_elements, {x, where}, {{wanted.axis}, {}}));
  node.set(0, y);
  return {};
}

constexpr std::array kTopKOperators = {
    OperatorEntry{"TopK", lower_top_k, "top_k gather_elements",
                  "float32, int64, int32, uint8; constant K; always sorted, of equal elements the first first, NaN as "
                  "the largest; no gradient passes through the indices; constants are folded"}};

}  // namespace

std::span<const OperatorEntry> top_k_operators() {
  return kTopKOperators;
}

}  // namespace pantoum::import
