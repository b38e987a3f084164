// Windows on images: convolutions and poolings; adaptive poolings by windows where they are alike, else by weights or pieces.
#include <algorithm>

#include "aten/operators.h"
#include "import/compose.h"

namespace pantoum::aten {
namespace {

using import::Window;
using import::Windows;

// One for each dimension of space, or one for all; not given: `otherwise`.
Result<Integers> per_dimension(Node& node, Slot slot, size_t space, Integers otherwise) {
  Integers all = node.integers(slot);
  if (all.empty()) all = std::move(otherwise);
  if (all.size() == 1) all.resize(space, all[0]);
  if (all.size() != space) return misfit("its settings do not fit the dimensions of space");
  return all;
}

Result<Windows> read_windows(Node& node, const Integers& kernel, Slot stride, Slot padding, Slot dilation,
                             Integers stride_otherwise) {
  const size_t space = kernel.size();
  PANTOUM_TRY(import::want_space(space));
  PANTOUM_ASSIGN(const auto strides, per_dimension(node, stride, space, std::move(stride_otherwise)));
  PANTOUM_ASSIGN(const auto paddings, per_dimension(node, padding, space, {0}));
  PANTOUM_ASSIGN(const auto dilations, per_dimension(node, dilation, space, {1}));
  Windows windows;
  for (size_t d = 0; d < space; ++d) {
    const Window window{kernel[d], strides[d], paddings[d], paddings[d], dilations[d]};
    for (const int64_t setting : {window.kernel, window.stride, window.dilation, window.before + 1})
      if (setting < 1 || setting > INT32_MAX) return misfit("its windows are out of range");
    windows.push_back(window);
  }
  return windows;
}

// [N, C, ..] of an input that may lack the batch.
Value with_batch(const Value& x, size_t space) {
  Shape shape = x.shape();
  if (shape.size() == space + 1) shape.insert(shape.begin(), 1);
  if (shape.size() != space + 2) return x.in().refuse(misfit("its image has another rank"));
  return reshape(x, shape);
}

Result<void> lower_convolution(Node& node) {
  const Value weight = node.real({1, "weight"}), bias = node.optional({2, "bias"});
  const Shape shape = weight.shape();
  const size_t space = shape.size() - std::min<size_t>(2, shape.size());
  const Value x = with_batch(node.real({0, "input"}), space);
  PANTOUM_ASSIGN(const Windows windows,
                 read_windows(node, Shape(shape.end() - static_cast<std::ptrdiff_t>(space), shape.end()), {3, "stride"},
                              {4, "padding"}, {5, "dilation"}, {1}));
  const bool transposed = node.boolean({6, "transposed"}, false);
  PANTOUM_ASSIGN(const auto extra, per_dimension(node, {7, "output_padding"}, space, {0}));
  const int64_t groups = node.integer({8, "groups"}, 1);
  PANTOUM_TRY(node.refusal());
  if (!transposed) return node.set_reshaped(convolution(x, weight, bias, windows, groups));
  std::vector<import::Upward> up;
  for (size_t d = 0; d < space; ++d) up.push_back({windows[d], extra[d]});
  return node.set_reshaped(with_bias(transposed_convolution(x, weight, up, groups), bias));
}

// "aten.max_pool2d_with_indices.default"
size_t space_of(const Node& node) {
  return static_cast<size_t>(node.call().op[node.call().op.find('d', node.call().op.find("pool")) - 1] - '0');
}

struct Pooled {
  Value x;
  Windows windows;
  bool ceil;
};

// Kernel, stride and padding in their places of the schema, and the dilation before ceil_mode where there is one.
Result<Pooled> read_pooled(Node& node, bool dilates) {
  const size_t space = space_of(node);
  const Value x = with_batch(node.real(kSelf), space);
  PANTOUM_ASSIGN(const auto kernel, per_dimension(node, {1, "kernel_size"}, space, {1}));
  PANTOUM_ASSIGN(const Windows windows,
                 read_windows(node, kernel, {2, "stride"}, {3, "padding"}, {dilates ? 4u : 99u, "dilation"}, kernel));
  const bool ceil = node.boolean({dilates ? 5u : 4u, "ceil_mode"}, false);
  PANTOUM_TRY(node.refusal());
  return Pooled{x, windows, ceil};
}

Result<void> lower_max_pool(Node& node) {
  if (node.wants(1)) return unsupported("its indices are read", "use a pooling without return_indices");
  PANTOUM_ASSIGN(Pooled pooled, read_pooled(node, true));
  if (pooled.ceil)
    for (size_t d = 0; d < pooled.windows.size(); ++d) grow_to_ceil(pooled.windows[d], pooled.x.shape()[d + 2]);
  return node.set_reshaped(max_pool(pooled.x, pooled.windows));
}

Result<void> lower_average_pool(Node& node) {
  PANTOUM_ASSIGN(const Pooled pooled, read_pooled(node, false));
  const bool with_padding = node.boolean({5, "count_include_pad"}, true);
  const double divisor = node.number({6, "divisor_override"}, 0);
  double size = 1;
  bool pads = false;
  for (const Window& window : pooled.windows) {
    size *= static_cast<double>(window.kernel);
    pads = pads || window.before > 0;
  }
  if (divisor != 0 && (pooled.ceil || (!with_padding && pads)))
    return unsupported("a divisor of its own with windows that are not whole", "leave out divisor_override");
  const Value y = average_pool(pooled.x, pooled.windows, pooled.ceil, with_padding);
  return node.set_reshaped(divisor == 0 ? y : scale(y, size / divisor));
}

// The window [floor(i from / to), ceil((i + 1) from / to)) of an adaptive pooling.
struct Span {
  int64_t begin, end;
};
Span span_of(int64_t row, int64_t from, int64_t to) {
  return {row * from / to, ((row + 1) * from + to - 1) / to};
}

// The mean of every window along an axis, as a product with constant weights.
Value mean_along(const Value& x, size_t axis, int64_t to) {
  Shape shape = x.shape();
  const int64_t from = shape[axis];
  if (!x || from == to) return x;
  std::vector<double> weights(static_cast<size_t>(from * to), 0);
  for (int64_t row = 0; row < to; ++row) {
    const Span span = span_of(row, from, to);
    for (int64_t each = span.begin; each < span.end; ++each)
      weights[static_cast<size_t>(row * from + each)] = 1 / static_cast<double>(span.end - span.begin);
  }
  const Value table = x.in().constant(DType::kF32, {to, from}, weights);
  int64_t before = 1, behind = 1;
  for (size_t d = 0; d < shape.size(); ++d) (d < axis ? before : behind) *= d == axis ? 1 : shape[d];
  shape[axis] = to;
  const Value lines = reshape(x, {before, from, behind});
  return reshape(x.in().op(Kind::k_matmul, {table, lines}, {{0, 0}, {}}), shape);
}

// The most of every window, which is cut out.
Value most_along(const Value& x, size_t axis, int64_t to) {
  const int64_t from = x.shape()[axis];
  if (!x || from == to) return x;
  Values parts;
  for (int64_t row = 0; row < to; ++row) {
    const Span span = span_of(row, from, to);
    const Value window = piece(x, axis, span.begin, span.end - span.begin);
    parts.push_back(reduce(Kind::k_reduce_max, window, {static_cast<int64_t>(axis)}, true));
  }
  return concat(parts, axis);
}

template <bool kMean>
Result<void> lower_adaptive(Node& node) {
  if (node.wants(1)) return unsupported("its indices are read", "use a pooling without return_indices");
  const size_t space = space_of(node);
  Value x = with_batch(node.real(kSelf), space);
  const Shape shape = x.shape(), whole = node.output().shape;
  if (whole.size() < space) return misfit("its result has another rank");
  const Integers to(whole.end() - static_cast<std::ptrdiff_t>(space), whole.end());
  Integers dimensions;
  Windows even;  // where all windows of a dimension are alike
  bool one = kMean;
  for (size_t d = 0; d < space; ++d) {
    dimensions.push_back(static_cast<int64_t>(2 + d));
    one = one && to[d] == 1;
    if (to[d] < 1 || shape[2 + d] % to[d] != 0) continue;
    even.push_back({shape[2 + d] / to[d], shape[2 + d] / to[d]});
  }
  PANTOUM_TRY(node.refusal());
  if (one) return node.set_reshaped(reduce(Kind::k_reduce_mean, x, dimensions, true));
  if (even.size() == space) return node.set_reshaped(kMean ? average_pool(x, even, false, false) : max_pool(x, even));
  for (size_t d = 0; d < space; ++d) x = kMean ? mean_along(x, 2 + d, to[d]) : most_along(x, 2 + d, to[d]);
  return node.set_reshaped(x);
}

constexpr OperatorEntry kWindowOperators[] = {
    {"convolution.default", lower_convolution},
    {"max_pool2d_with_indices.default max_pool3d_with_indices.default", lower_max_pool},
    {"avg_pool2d.default avg_pool3d.default", lower_average_pool},
    {"adaptive_avg_pool1d.default _adaptive_avg_pool2d.default adaptive_avg_pool2d.default "
     "_adaptive_avg_pool3d.default adaptive_avg_pool3d.default",
     lower_adaptive<true>},
    {"adaptive_max_pool3d.default", lower_adaptive<false>}};

}  // namespace

constinit const Family window_operators = kWindowOperators;

}  // namespace pantoum::aten
