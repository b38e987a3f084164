// Tensors that are made from numbers.
#include <array>
#include <cmath>

#include "aten/operators.h"
#include "aten/pieces.h"

namespace pantoum::aten {
namespace {

using ir::DType;
using ir::ValueId;

constexpr int64_t kMostElements = int64_t{1} << 22;

template <int64_t kValue>
Result<void> lower_filled(Node& node) {
  return node.set(filled(node, node.output(), kValue));
}

// (size, fill) or (self, fill): the captured shape.
Result<void> lower_full(Node& node) {
  PANTOUM_ASSIGN(const ValueId value, node.as(node.call().op.starts_with("aten.new_full") ? Slot{2, "fill_value"}
                                              : node.call().op.starts_with("aten.fill")   ? Slot{1, "value"}
                                                                                          : Slot{1, "fill_value"},
                                              node.output().dtype));
  return node.set(node.expand(value, node.output().shape));
}

Result<void> lower_scalar(Node& node) {
  return node.set(node.as({0, "s"}, node.output().dtype));
}

// Places of the schema: arange(end), arange(start, end), arange(start, end, step).
Result<void> lower_arange(Node& node) {
  const std::string& op = node.call().op;
  const bool whole_form = op == "aten.arange.start_step", begun = whole_form || op == "aten.arange.start";
  PANTOUM_ASSIGN(const double start, begun ? node.number({0, "start"}, 0) : Result<double>(0.0));
  PANTOUM_ASSIGN(const double step, whole_form ? node.number({2, "step"}, 1) : Result<double>(1.0));
  const int64_t count = node.output().elements();
  if (count > kMostElements || !(std::abs(start) < 1e15) || !(std::abs(step) < 1e12))
    return unsupported("it counts too far", "compute it in smaller parts");
  std::vector<double> values(static_cast<size_t>(count));
  std::vector<int64_t> whole(values.size());
  for (size_t each = 0; each < values.size(); ++each) {
    values[each] = start + step * static_cast<double>(each);
    whole[each] = static_cast<int64_t>(start) + static_cast<int64_t>(step) * static_cast<int64_t>(each);
  }
  const ir::TensorType& type = node.output();
  return node.set(0, ir::is_float(type.dtype) ? node.constant(type.dtype, type.shape, values)
                                              : node.whole_constant(type.dtype, type.shape, whole));
}

Result<void> lower_linspace(Node& node) {
  PANTOUM_ASSIGN(const double start, node.number({0, "start"}, 0));
  PANTOUM_ASSIGN(const double end, node.number({1, "end"}, 0));
  const int64_t count = node.output().elements();
  if (count > kMostElements) return unsupported("it counts too far", "compute it in smaller parts");
  std::vector<double> values(static_cast<size_t>(count), start);
  for (int64_t each = 1; each < count; ++each)
    values[static_cast<size_t>(each)] =
        start + (end - start) * static_cast<double>(each) / static_cast<double>(count - 1);
  return node.set(0, node.constant(node.output().dtype, node.output().shape, values));
}

// Ones on the diagonal: rows and columns compared.
Result<void> lower_eye(Node& node) {
  const ir::TensorType& type = node.output();
  const auto line = [&](int64_t count, ir::Shape shape) {
    std::vector<int64_t> all(static_cast<size_t>(count));
    for (size_t each = 0; each < all.size(); ++each) all[each] = static_cast<int64_t>(each);
    return node.whole_constant(DType::kI64, std::move(shape), all);
  };
  if (type.shape.size() != 2) return fail("E0211", "it has no rows and columns");
  const int64_t rows = type.shape[0], columns = type.shape[1];
  PANTOUM_ASSIGN(const ValueId same, node.op(ir::Kind::k_compare, {line(rows, {rows, 1}), line(columns, {1, columns})},
                                             {{PT_COMPARE_EQUAL}, {}}));
  return node.set(node.cast(same, type.dtype));
}

constexpr std::array kCreate = {OperatorEntry{"full.default", lower_full, false},
                                OperatorEntry{"full_like.default", lower_full, false},
                                OperatorEntry{"new_full.default", lower_full, false},
                                OperatorEntry{"fill.Scalar", lower_full},
                                OperatorEntry{"fill.Tensor", lower_full},
                                OperatorEntry{"zeros.default", lower_filled<0>, false},
                                OperatorEntry{"zeros_like.default", lower_filled<0>, false},
                                OperatorEntry{"new_zeros.default", lower_filled<0>, false},
                                OperatorEntry{"empty.memory_format", lower_filled<0>, false},
                                OperatorEntry{"empty_like.default", lower_filled<0>, false},
                                OperatorEntry{"new_empty.default", lower_filled<0>, false},
                                OperatorEntry{"empty_strided.default", lower_filled<0>, false},
                                OperatorEntry{"ones.default", lower_filled<1>, false},
                                OperatorEntry{"ones_like.default", lower_filled<1>, false},
                                OperatorEntry{"new_ones.default", lower_filled<1>, false},
                                OperatorEntry{"scalar_tensor.default", lower_scalar, false},
                                OperatorEntry{"arange.default", lower_arange, false},
                                OperatorEntry{"arange.start", lower_arange, false},
                                OperatorEntry{"arange.start_step", lower_arange, false},
                                OperatorEntry{"linspace.default", lower_linspace, false},
                                OperatorEntry{"eye.default", lower_eye, false},
                                OperatorEntry{"eye.m", lower_eye, false}};

}  // namespace

std::span<const OperatorEntry> create_operators() {
  return kCreate;
}

}  // namespace pantoum::aten
