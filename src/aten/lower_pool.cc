// Poolings: windows as in ONNX; adaptive ones by windows where they are alike, else by weights.
#include <algorithm>
#include <array>

#include "aten/operators.h"
#include "aten/pieces.h"

namespace pantoum::aten {
namespace {

using ir::DType;
using ir::Kind;
using ir::Shape;
using ir::ValueId;

template <size_t kSpace>
Result<std::vector<int64_t>> each_of(Node& node, Slot slot, const std::vector<int64_t>& otherwise) {
  PANTOUM_ASSIGN(std::vector<int64_t> all, node.integers(slot));
  if (all.empty()) all = otherwise;
  if (all.size() == 1) all.resize(kSpace, all[0]);
  if (all.size() != kSpace) return fail("E0211", "its windows do not fit the dimensions of space");
  return all;
}

std::vector<int64_t> twice(const std::vector<int64_t>& each) {
  std::vector<int64_t> all = each;
  all.insert(all.end(), each.begin(), each.end());
  return all;
}

// [N, C, ..] of an input that may lack the batch.
template <size_t kSpace>
Result<ValueId> with_batch(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  Shape shape = node.shape_of(x);
  if (shape.size() == kSpace + 1) shape.insert(shape.begin(), 1);
  if (shape.size() != kSpace + 2) return fail("E0211", "its image has another rank");
  return node.reshape(x, shape);
}

Result<void> finish(Node& node, ValueId y) {
  return node.set(node.reshape(y, node.output().shape));
}

template <size_t kSpace>
Result<void> lower_max_pool(Node& node) {
  if (node.wants(1)) return unsupported("its indices are read", "use a pooling without return_indices");
  PANTOUM_ASSIGN(const ValueId x, with_batch<kSpace>(node));
  PANTOUM_ASSIGN(const std::vector<int64_t> kernel, each_of<kSpace>(node, {1, "kernel_size"}, {1}));
  PANTOUM_ASSIGN(const std::vector<int64_t> stride, each_of<kSpace>(node, {2, "stride"}, kernel));
  PANTOUM_ASSIGN(const std::vector<int64_t> padding, each_of<kSpace>(node, {3, "padding"}, {0}));
  PANTOUM_ASSIGN(const std::vector<int64_t> dilation, each_of<kSpace>(node, {4, "dilation"}, {1}));
  PANTOUM_ASSIGN(const bool ceil, node.boolean({5, "ceil_mode"}, false));
  PANTOUM_ASSIGN(const std::vector<ValueId> y, node.onnx("MaxPool", {x},
                                                         {{"kernel_shape", kernel},
                                                          {"strides", stride},
                                                          {"pads", twice(padding)},
                                                          {"dilations", dilation},
                                                          {"ceil_mode", int64_t{ceil}}}));
  return finish(node, y[0]);
}

template <size_t kSpace>
Result<void> lower_average_pool(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, with_batch<kSpace>(node));
  PANTOUM_ASSIGN(const std::vector<int64_t> kernel, each_of<kSpace>(node, {1, "kernel_size"}, {1}));
  PANTOUM_ASSIGN(const std::vector<int64_t> stride, each_of<kSpace>(node, {2, "stride"}, kernel));
  PANTOUM_ASSIGN(const std::vector<int64_t> padding, each_of<kSpace>(node, {3, "padding"}, {0}));
  PANTOUM_ASSIGN(const bool ceil, node.boolean({4, "ceil_mode"}, false));
  PANTOUM_ASSIGN(const bool with_padding, node.boolean({5, "count_include_pad"}, true));
  PANTOUM_ASSIGN(const double divisor, node.number({6, "divisor_override"}, 0));
  if (divisor != 0 && (ceil || (!with_padding && *std::max_element(padding.begin(), padding.end()) > 0)))
    return unsupported("a divisor of its own with windows that are not whole", "leave out divisor_override");
  PANTOUM_ASSIGN(const std::vector<ValueId> y, node.onnx("AveragePool", {x},
                                                         {{"kernel_shape", kernel},
                                                          {"strides", stride},
                                                          {"pads", twice(padding)},
                                                          {"ceil_mode", int64_t{ceil}},
                                                          {"count_include_pad", int64_t{with_padding}}}));
  if (divisor == 0) return finish(node, y[0]);
  double window = 1;
  for (const int64_t extent : kernel) window *= static_cast<double>(extent);
  PANTOUM_ASSIGN(const ValueId scaled, node.scale(y[0], window / divisor));
  return finish(node, scaled);
}

// The mean of [floor(i from / to), ceil((i + 1) from / to)) for every i, as a product with constant weights.
Result<ValueId> mean_along(Node& node, ValueId x, size_t axis, int64_t to) {
  Shape shape = node.shape_of(x);
  const int64_t from = shape[axis];
  if (from == to) return x;
  std::vector<double> weights(static_cast<size_t>(from * to), 0);
  for (int64_t row = 0; row < to; ++row) {
    const int64_t begin = row * from / to, end = ((row + 1) * from + to - 1) / to;
    for (int64_t each = begin; each < end; ++each)
      weights[static_cast<size_t>(row * from + each)] = 1 / static_cast<double>(end - begin);
  }
  const ValueId table = node.constant(DType::kF32, {to, from}, weights);
  int64_t before = 1, behind = 1;
  for (size_t d = 0; d < shape.size(); ++d) (d < axis ? before : behind) *= d == axis ? 1 : shape[d];
  PANTOUM_ASSIGN(x, node.reshape(x, {before, from, behind}));
  PANTOUM_ASSIGN(x, node.op(Kind::k_matmul, {table, x}, {{0, 0}, {}}));
  shape[axis] = to;
  return node.reshape(x, shape);
}

// The windows of an adaptive pooling where all are alike; empty where they are not.
std::vector<int64_t> even_windows(const Shape& shape, const std::vector<int64_t>& to) {
  std::vector<int64_t> kernel;
  for (size_t d = 0; d < to.size(); ++d) {
    const int64_t from = shape[2 + d];
    if (to[d] < 1 || from % to[d] != 0) return {};
    kernel.push_back(from / to[d]);
  }
  return kernel;
}

template <size_t kSpace>
Result<void> lower_adaptive_average(Node& node) {
  PANTOUM_ASSIGN(ValueId x, with_batch<kSpace>(node));
  const Shape shape = node.shape_of(x), whole = node.output().shape;
  if (whole.size() < kSpace) return fail("E0211", "its result has another rank");
  const std::vector<int64_t> to(whole.end() - kSpace, whole.end());
  if (std::all_of(to.begin(), to.end(), [](int64_t each) { return each == 1; })) {
    std::vector<int64_t> all;
    for (size_t d = 0; d < kSpace; ++d) all.push_back(static_cast<int64_t>(2 + d));
    PANTOUM_ASSIGN(x, node.reduce(Kind::k_reduce_mean, x, all, true));
    return finish(node, x);
  }
  const std::vector<int64_t> kernel = even_windows(shape, to);
  if (!kernel.empty()) {
    PANTOUM_ASSIGN(const std::vector<ValueId> y,
                   node.onnx("AveragePool", {x}, {{"kernel_shape", kernel}, {"strides", kernel}}));
    return finish(node, y[0]);
  }
  for (size_t d = 0; d < kSpace; ++d) {
    PANTOUM_ASSIGN(x, mean_along(node, x, 2 + d, to[d]));
  }
  return finish(node, x);
}

// Windows that differ: each is cut out, and its most taken.
Result<ValueId> most_along(Node& node, ValueId x, size_t axis, int64_t to) {
  const int64_t from = node.shape_of(x)[axis];
  if (from == to) return x;
  std::vector<ValueId> parts;
  for (int64_t row = 0; row < to; ++row) {
    const int64_t begin = row * from / to, end = ((row + 1) * from + to - 1) / to;
    PANTOUM_ASSIGN(const ValueId window, piece(node, x, axis, begin, end - begin));
    PANTOUM_ASSIGN(parts.emplace_back(), node.reduce(Kind::k_reduce_max, window, {static_cast<int64_t>(axis)}, true));
  }
  return joined(node, std::move(parts), static_cast<int64_t>(axis));
}

template <size_t kSpace>
Result<void> lower_adaptive_max(Node& node) {
  if (node.wants(1)) return unsupported("its indices are read", "use a pooling without return_indices");
  PANTOUM_ASSIGN(ValueId x, with_batch<kSpace>(node));
  const Shape shape = node.shape_of(x), whole = node.output().shape;
  if (whole.size() < kSpace) return fail("E0211", "its result has another rank");
  const std::vector<int64_t> to(whole.end() - kSpace, whole.end());
  const std::vector<int64_t> kernel = even_windows(shape, to);
  if (!kernel.empty()) {
    PANTOUM_ASSIGN(const std::vector<ValueId> y,
                   node.onnx("MaxPool", {x}, {{"kernel_shape", kernel}, {"strides", kernel}}));
    return finish(node, y[0]);
  }
  for (size_t d = 0; d < kSpace; ++d) {
    PANTOUM_ASSIGN(x, most_along(node, x, 2 + d, to[d]));
  }
  return finish(node, x);
}

constexpr std::array kPools = {OperatorEntry{"max_pool1d.default", lower_max_pool<1>},
                               OperatorEntry{"max_pool1d_with_indices.default", lower_max_pool<1>},
                               OperatorEntry{"max_pool2d.default", lower_max_pool<2>},
                               OperatorEntry{"max_pool2d_with_indices.default", lower_max_pool<2>},
                               OperatorEntry{"max_pool3d.default", lower_max_pool<3>},
                               OperatorEntry{"max_pool3d_with_indices.default", lower_max_pool<3>},
                               OperatorEntry{"avg_pool1d.default", lower_average_pool<1>},
                               OperatorEntry{"avg_pool2d.default", lower_average_pool<2>},
                               OperatorEntry{"avg_pool3d.default", lower_average_pool<3>},
                               OperatorEntry{"adaptive_avg_pool1d.default", lower_adaptive_average<1>},
                               OperatorEntry{"_adaptive_avg_pool2d.default", lower_adaptive_average<2>},
                               OperatorEntry{"adaptive_avg_pool2d.default", lower_adaptive_average<2>},
                               OperatorEntry{"_adaptive_avg_pool3d.default", lower_adaptive_average<3>},
                               OperatorEntry{"adaptive_avg_pool3d.default", lower_adaptive_average<3>},
                               OperatorEntry{"adaptive_max_pool1d.default", lower_adaptive_max<1>},
                               OperatorEntry{"adaptive_max_pool2d.default", lower_adaptive_max<2>},
                               OperatorEntry{"adaptive_max_pool3d.default", lower_adaptive_max<3>}};

}  // namespace

std::span<const OperatorEntry> pool_operators() {
  return kPools;
}

}  // namespace pantoum::aten
