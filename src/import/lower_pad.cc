// Pad. Zeros are scattered around the input; the other modes read the input again, through constant indices.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "import/operators.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

struct Margins {
  std::vector<int64_t> before, after;  // of every dimension; negative: cut off
};

Result<Margins> read_margins(Node& node, size_t rank) {
  PANTOUM_ASSIGN(const std::vector<int64_t> pads, node.integers(1, "pads"));
  std::vector<int64_t> axes;
  for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  if (node.has(3)) {
    PANTOUM_ASSIGN(axes, node.integers(3, "axes"));
  }
  if (pads.size() != 2 * axes.size()) return fail("E0211", "its pads do not name both ends of every dimension");
  PANTOUM_TRY(normalize_axes(axes, rank));  // each once
  Margins margins{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  for (size_t entry = 0; entry < axes.size(); ++entry) {
    PANTOUM_ASSIGN(const int64_t axis, normalize_axis(axes[entry], rank));
    for (const int64_t pad : {pads[entry], pads[axes.size() + entry]}) {
      if (pad < -INT32_MAX || pad > INT32_MAX) return fail("E0211", fmt::format("a pad of {} is out of range", pad));
    }
    margins.before[static_cast<size_t>(axis)] = pads[entry];
    margins.after[static_cast<size_t>(axis)] = pads[axes.size() + entry];
  }
  return margins;
}

// Cuts off what negative pads name; they are 0 afterwards.
Result<ValueId> cut(Node& node, ValueId x, Margins& margins) {
  const ir::TensorType from = node.builder().type(x);
  Shape shape = from.shape;
  ir::Attrs attrs;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t first = std::max<int64_t>(-margins.before[d], 0), last = std::max<int64_t>(-margins.after[d], 0);
    attrs.ints.insert(attrs.ints.end(), {first, 1});
    shape[d] -= first + last;
    margins.before[d] = std::max<int64_t>(margins.before[d], 0);
    margins.after[d] = std::max<int64_t>(margins.after[d], 0);
  }
  if (shape == from.shape) return x;
  return node.op(Kind::k_slice, {x}, std::move(attrs), {{from.dtype, std::move(shape)}});
}

Result<ValueId> surround_with_zeros(Node& node, ValueId x, const Margins& margins) {
  ir::TensorType type = node.builder().type(x);
  ir::Attrs attrs;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    attrs.ints.insert(attrs.ints.end(), {margins.before[d], 1});
    type.shape[d] += margins.before[d] + margins.after[d];
  }
  return node.op(Kind::k_slice_grad, {x}, std::move(attrs), {std::move(type)});
}

// Blocks of the value before and behind, dimension by dimension.
Result<ValueId> surround_with(Node& node, ValueId x, const Margins& margins, double value) {
  for (size_t d = 0; d < margins.before.size(); ++d) {
    std::vector<ValueId> parts;
    for (const int64_t margin : {margins.before[d], int64_t{0}, margins.after[d]}) {
      ir::TensorType block = node.builder().type(x);
      if (parts.size() == (margins.before[d] != 0 ? 1U : 0U) && margin == 0) parts.push_back(x);
      if (margin == 0) continue;
      block.shape[d] = margin;
      PANTOUM_TRY(node.spend(block.elements()));
      const std::vector<float> values(static_cast<size_t>(block.elements()), static_cast<float>(value));
      parts.push_back(node.builder().constant_f32(node.label() + ".padding", block.shape, values));
    }
    if (parts.size() == 1) continue;
    PANTOUM_ASSIGN(x, node.op(Kind::k_concat, parts, {{static_cast<int64_t>(d)}, {}}));
  }
  return x;
}

// Where an element at `at`, which may lie outside [0, extent), is read from.
int64_t reflected(int64_t at, int64_t extent) {
  const int64_t period = std::max<int64_t>(2 * (extent - 1), 1), within = ((at % period) + period) % period;
  return std::min(within, period - within);
}
int64_t read_from(const std::string& mode, int64_t at, int64_t extent) {
  if (mode == "edge") return std::clamp<int64_t>(at, 0, extent - 1);
  if (mode == "wrap") return ((at % extent) + extent) % extent;
  return extent == 1 ? 0 : reflected(at, extent);
}

Result<ValueId> surround_by_reading(Node& node, ValueId x, const Margins& margins, const std::string& mode) {
  for (size_t d = 0; d < margins.before.size(); ++d) {
    if (margins.before[d] == 0 && margins.after[d] == 0) continue;
    const int64_t extent = node.builder().type(x).shape[d], count = margins.before[d] + extent + margins.after[d];
    PANTOUM_TRY(node.spend(count));
    std::vector<int64_t> sources;
    for (int64_t at = -margins.before[d]; at < extent + margins.after[d]; ++at) {
      sources.push_back(read_from(mode, at, extent));
    }
    const ValueId indices = node.builder().constant_i64(node.label() + ".indices", {count}, sources);
    PANTOUM_ASSIGN(x, node.op(Kind::k_gather, {x, indices}, {{static_cast<int64_t>(d)}, {}}));
  }
  return x;
}

Result<void> lower_pad(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.value(0));
  PANTOUM_ASSIGN(Margins margins, read_margins(node, node.shape(0).size()));
  PANTOUM_ASSIGN(x, cut(node, x, margins));
  const std::string mode = node.attributes().text("mode", "constant");
  const auto is_zero = [](int64_t pad) { return pad == 0; };
  const bool none = std::all_of(margins.before.begin(), margins.before.end(), is_zero) &&
                    std::all_of(margins.after.begin(), margins.after.end(), is_zero);
  const std::optional<double> value = node.has(2) ? node.scalar(2) : std::optional(0.0);
  if (none) {
    node.set(0, x);
    return {};
  }
  if (mode == "constant") {
    if (!value) return unsupported("its value is not constant", "pad with a fixed number");
    if (*value != 0) PANTOUM_TRY(node.real(0));
    PANTOUM_ASSIGN(x, *value == 0 ? surround_with_zeros(node, x, margins) : surround_with(node, x, margins, *value));
  } else if (mode == "reflect" || mode == "edge" || mode == "wrap") {
    PANTOUM_ASSIGN(x, surround_by_reading(node, x, margins, mode));
  } else {
    return fail("E0211", fmt::format("its mode is '{}'", mode));
  }
  node.set(0, x);
  return {};
}

constexpr std::array kPadOperators = {OperatorEntry{"Pad", lower_pad, "slice_grad slice concat gather",
                                                    "constant, reflect, edge, wrap; constant pads, negative ones too"}};

}  // namespace

std::span<const OperatorEntry> pad_operators() {
  return kPadOperators;
}

}  // namespace pantoum::import
