// Folding of what compares, chooses and computes on bits, element by element.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "import/fold_elements.h"
#include "kernels/portable/pt_integer.h"

namespace pantoum::import {
namespace {

using ir::DType;

Result<Numbers> fold_equal(const FoldCall& call) {
  return fold_comparison(call, [](auto a, auto b) { return a == b; });
}
Result<Numbers> fold_less(const FoldCall& call) {
  return fold_comparison(call, [](auto a, auto b) { return a < b; });
}
Result<Numbers> fold_greater(const FoldCall& call) {
  return fold_comparison(call, [](auto a, auto b) { return a > b; });
}
Result<Numbers> fold_less_equal(const FoldCall& call) {
  return fold_comparison(call, [](auto a, auto b) { return a <= b; });
}
Result<Numbers> fold_greater_equal(const FoldCall& call) {
  return fold_comparison(call, [](auto a, auto b) { return a >= b; });
}
Result<Numbers> fold_xor(const FoldCall& call) {
  return fold_comparison(call, [](auto a, auto b) { return (a != 0) != (b != 0); });
}
Result<Numbers> fold_and(const FoldCall& call) {
  return fold_comparison(call, [](auto a, auto b) { return a != 0 && b != 0; });
}
Result<Numbers> fold_or(const FoldCall& call) {
  return fold_comparison(call, [](auto a, auto b) { return a != 0 || b != 0; });
}

Result<Numbers> fold_not(const FoldCall& call) {
  return fold_each(
      call, [](int64_t value) { return static_cast<int64_t>(value == 0); }, [](double value) { return value; });
}

// Bits of the low end of an integer: narrowing to the type of the result leaves those that it has.
template <class Bits>
Result<Numbers> fold_bits(const FoldCall& call, Bits bits) {
  if (call.inputs[0]->is_real()) return fail("E0211", "floating-point constants have no bits here");
  return fold_pairs(call, bits, [](double a, double) { return a; });
}
Result<Numbers> fold_bitwise_and(const FoldCall& call) {
  return fold_bits(call, [](int64_t a, int64_t b) { return a & b; });
}
Result<Numbers> fold_bitwise_or(const FoldCall& call) {
  return fold_bits(call, [](int64_t a, int64_t b) { return a | b; });
}
Result<Numbers> fold_bitwise_xor(const FoldCall& call) {
  return fold_bits(call, [](int64_t a, int64_t b) { return a ^ b; });
}
Result<Numbers> fold_bitwise_not(const FoldCall& call) {
  if (call.inputs[0]->is_real()) return fail("E0211", "floating-point constants have no bits here");
  return fold_each(
      call, [](int64_t value) { return ~value; }, [](double value) { return value; });
}

Result<Numbers> fold_bit_shift(const FoldCall& call) {
  const std::string direction = Attributes(call.node).text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") return fail("E0211", "its direction is neither LEFT nor RIGHT");
  if (call.inputs[0]->dtype != DType::kU8) return fail("E0401", "only uint8 constants are shifted");
  const auto shift = direction == "LEFT" ? pt_whole_shift_left : pt_whole_shift_right;
  return fold_bits(call, [shift](int64_t a, int64_t b) { return shift(a, b, 8); });
}

// A NaN wins, as in the kernels.
template <class Number>
Number larger(Number a, Number b) {
  return a > b || a != a ? a : b;
}
template <class Number>
Number smaller(Number a, Number b) {
  return a < b || a != a ? a : b;
}

template <bool kMaximum>
Result<Numbers> fold_extreme(const FoldCall& call) {
  const auto better = [](auto a, auto b) { return kMaximum ? larger(a, b) : smaller(a, b); };
  Numbers best = *call.inputs[0];
  for (size_t input = 1; input < call.inputs.size(); ++input) {
    if (call.inputs[input] == nullptr) return fail("E0211", "an input is missing");
    const std::array<const Numbers*, 2> pair = {&best, call.inputs[input]};
    PANTOUM_ASSIGN(best, fold_pairs({call.node, call.opset, pair, call.most_elements}, better, better));
  }
  return best;
}

// min(max(x, low), high), where a bound may be absent.
Result<Numbers> fold_clip(const FoldCall& call) {
  Numbers clipped = *call.inputs[0];
  for (size_t bound = 1; bound < std::min<size_t>(call.inputs.size(), 3); ++bound) {
    if (call.inputs[bound] == nullptr) continue;
    if (call.inputs[bound]->size() != 1) return fail("E0211", "a bound is not one number");
    const std::array<const Numbers*, 2> pair = {&clipped, call.inputs[bound]};
    const FoldCall limited{call.node, call.opset, pair, call.most_elements};
    const auto least = [](auto a, auto b) { return larger(a, b); };
    const auto most = [](auto a, auto b) { return smaller(a, b); };
    PANTOUM_ASSIGN(clipped, bound == 1 ? fold_pairs(limited, least, least) : fold_pairs(limited, most, most));
  }
  clipped.shape = call.inputs[0]->shape;
  return clipped;
}

Result<Numbers> fold_is_nan(const FoldCall& call) {
  Numbers result{DType::kBool, call.inputs[0]->shape, std::vector<int64_t>(call.inputs[0]->size(), 0), {}};
  for (size_t element = 0; element < call.inputs[0]->reals.size(); ++element)
    result.ints[element] = std::isnan(call.inputs[0]->reals[element]);
  return result;
}

Result<Numbers> fold_where(const FoldCall& call) {
  const Numbers &condition = *call.inputs[0], &a = *call.inputs[1], &b = *call.inputs[2];
  if (a.dtype != b.dtype || condition.is_real()) return fail("E0211", "constants differ in type");
  std::optional<ir::Shape> shape = broadcast_shapes(a.shape, b.shape);
  if (shape) shape = broadcast_shapes(*shape, condition.shape);
  if (!shape) return fail("E0211", "constants do not broadcast to one shape");
  PANTOUM_TRY(check_folded_size(call, *shape));
  const std::vector<size_t> tests = broadcast_sources(condition.shape, *shape);
  const Numbers left = pick(a, *shape, broadcast_sources(a.shape, *shape));
  Numbers result = pick(b, *shape, broadcast_sources(b.shape, *shape));
  for (size_t element = 0; element < tests.size(); ++element) {
    if (condition.ints[tests[element]] == 0) continue;
    if (a.is_real()) {
      result.reals[element] = left.reals[element];
    } else {
      result.ints[element] = left.ints[element];
    }
  }
  return result;
}

// why: one row per operator, and nothing that two tables could share.
constexpr std::array kSelectFolders = {
    FolderEntry{"Equal", 2, fold_equal},
    FolderEntry{"Less", 2, fold_less},
    FolderEntry{"Greater", 2, fold_greater},
    FolderEntry{"LessOrEqual", 2, fold_less_equal},
    FolderEntry{"GreaterOrEqual", 2, fold_greater_equal},
    FolderEntry{"And", 2, fold_and},
    FolderEntry{"Or", 2, fold_or},
    FolderEntry{"Xor", 2, fold_xor},
    FolderEntry{"Not", 1, fold_not},
    FolderEntry{"BitwiseAnd", 2, fold_bitwise_and},
    FolderEntry{"BitwiseOr", 2, fold_bitwise_or},
    FolderEntry{"BitwiseXor", 2, fold_bitwise_xor},
    FolderEntry{"BitwiseNot", 1, fold_bitwise_not},
    FolderEntry{"BitShift", 2, fold_bit_shift},
    FolderEntry{"Max", 1, fold_extreme<true>},
    FolderEntry{"Min", 1, fold_extreme<false>},
    FolderEntry{"Clip", 1, fold_clip},
    FolderEntry{"IsNaN", 1, fold_is_nan},
    FolderEntry{"Where", 3, fold_where},
};

}  // namespace

std::span<const FolderEntry> select_folders() {
  return kSelectFolders;
}

}  // namespace pantoum::import
