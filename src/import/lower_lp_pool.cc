// LpPool and GlobalLpPool: the p-th root of the sum of the p-th powers, made of means and sums.
#include <array>
#include <cmath>

#include "import/operators.h"
#include "import/windows.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

// Y = x^exponent
Result<ValueId> raised(Node& node, ValueId x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 2) return node.op(Kind::k_mul, {x, x});
  if (exponent == 0.5) return node.op(Kind::k_sqrt, {x});
  const auto power = static_cast<float>(exponent);
  return node.op(Kind::k_pow, {x, node.builder().constant_f32(node.label() + ".exponent", {}, {power})});
}

Result<double> norm_of(Node& node) {
  const auto p = static_cast<double>(node.attributes().integer("p", 2));
  if (p < 1 || p > 1000) return fail("E0211", "its p is not in [1, 1000]");
  return p;
}

Result<ValueId> powers(Node& node, double p) {
  PANTOUM_ASSIGN(ValueId x, node.real(0));
  if (node.shape(0).size() < 3) return fail("E0211", "its input is not an image [N,C,..]");
  PANTOUM_ASSIGN(x, node.op(Kind::k_abs, {x}));
  return raised(node, x, p);
}

// The mean of a window, the padding counted, times its size.
Result<void> lower_lp_pool(Node& node) {
  PANTOUM_ASSIGN(const double p, norm_of(node));
  PANTOUM_ASSIGN(ValueId x, powers(node, p));
  const Shape image = node.shape(0);
  const auto kernel = node.attributes().integers("kernel_shape");
  if (!kernel) return fail("E0211", "it has no kernel_shape");
  const bool ceil = node.attributes().integer("ceil_mode", 0) != 0;
  PANTOUM_ASSIGN(const auto windows, read_windows(node, Shape(image.begin() + 2, image.end()), *kernel, ceil));
  if (windows.size() > 2) return unsupported("it works on more than two spatial dimensions");
  const Window h = windows.size() == 2 ? windows[0] : Window{}, v = windows.back();
  const ir::Attrs attrs{
      {h.kernel, v.kernel, h.stride, v.stride, h.before, v.before, h.after, v.after, h.dilation, v.dilation, 1}, {}};
  PANTOUM_ASSIGN(x, as_image(node, x));
  PANTOUM_ASSIGN(x, node.op(Kind::k_avg_pool, {x}, attrs));
  PANTOUM_ASSIGN(x, node.scale(x, static_cast<double>(h.kernel * v.kernel)));
  PANTOUM_ASSIGN(x, raised(node, x, 1 / p));
  PANTOUM_ASSIGN(x, from_image(node, x, image.size()));
  node.set(0, x);
  return {};
}

Result<void> lower_global_lp_pool(Node& node) {
  PANTOUM_ASSIGN(const double p, norm_of(node));
  PANTOUM_ASSIGN(ValueId x, powers(node, p));
  Shape pooled = node.shape(0);
  int64_t mask = 0;
  for (size_t d = 2; d < pooled.size(); ++d) {
    mask |= int64_t{1} << d;
    pooled[d] = 1;
  }
  PANTOUM_ASSIGN(x, node.op(Kind::k_reduce_sum, {x}, {{mask}, {}}));
  PANTOUM_ASSIGN(x, raised(node, x, 1 / p));
  PANTOUM_ASSIGN(x, node.reshape(x, pooled));
  node.set(0, x);
  return {};
}

constexpr std::array kLpPoolOperators = {
    OperatorEntry{"LpPool", lower_lp_pool, "abs mul pow avg_pool scale sqrt",
                  "one or two dimensions of space; a window of zeros has no gradient (NaN)"},
    OperatorEntry{"GlobalLpPool", lower_global_lp_pool, "abs mul pow reduce_sum sqrt",
                  "an image of zeros has no gradient (NaN)"}};

}  // namespace

std::span<const OperatorEntry> lp_pool_operators() {
  return kLpPoolOperators;
}

}  // namespace pantoum::import
