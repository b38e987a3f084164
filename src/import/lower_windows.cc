// Windows on images: Conv, ConvTranspose, MaxPool, AveragePool, LpPool, their global forms, and the way back (MaxUnpool, Col2Im).

#include "import/compose.h"
#include "import/operators.h"

namespace pantoum::import {
namespace {

constexpr int64_t kMostExtent = INT32_MAX;

// A list of `count` integers of the node, each `least` or more; `otherwise` everywhere when absent. E0211, E0401.
Result<Integers> window_list(Node& node, const char* name, size_t count, int64_t otherwise, int64_t least) {
  Integers values = node.attributes().integers(name).value_or(Integers(count, otherwise));
  if (values.size() != count) return misfit("its {} have {} entries", name, values.size());
  for (const int64_t value : values) {
    if (value < least) return misfit("its {} contain {}, less than {}", name, value, least);
    if (value > kMostExtent) return unsupported(fmt::format("its {} contain {}", name, value));
  }
  return values;
}

// Strides, dilations and pads of the node's windows, in the order of the dimensions.
struct Lists {
  Integers strides, dilations, pads;
};

Result<Lists> read_lists(Node& node, size_t rank) {
  Lists lists;
  PANTOUM_ASSIGN(lists.strides, window_list(node, "strides", rank, 1, 1));
  PANTOUM_ASSIGN(lists.dilations, window_list(node, "dilations", rank, 1, 1));
  PANTOUM_ASSIGN(lists.pads, window_list(node, "pads", 2 * rank, 0, 0));
  return lists;
}

enum class Padding { kTold, kValid, kSameUpper, kSameLower };

Result<Padding> read_padding(Node& node) {
  constexpr std::array kRules = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};  // in the order of Padding
  const std::string rule = node.attributes().text("auto_pad", kRules[0]);
  for (size_t at = 0; at < kRules.size(); ++at)
    if (rule == kRules[at]) return static_cast<Padding>(at);
  return misfit("its auto_pad is '{}'", rule);
}

// Pads the image so that the window has ceil(extent / stride) positions.
void pad_same(Window& window, int64_t extent, bool lower) {
  const int64_t positions = (extent - 1) / window.stride + 1;
  const int64_t span = (window.kernel - 1) * window.dilation + 1;
  const int64_t total = std::max<int64_t>((positions - 1) * window.stride + span - extent, 0);
  window.before = lower ? total - total / 2 : total / 2;
  window.after = total - window.before;
}

// Reads strides, pads, dilations and auto_pad for a window of `kernel` on `image` [N,C,..]. E0211, E0401.
Result<Windows> read_windows(Node& node, const Shape& image, const Integers& kernel) {
  const size_t rank = image.size() - 2;
  PANTOUM_TRY(want_space(rank));
  if (kernel.size() != rank) return misfit("its window has another number of dimensions than the image");
  PANTOUM_ASSIGN(const Lists lists, read_lists(node, rank));
  const auto& [strides, dilations, pads] = lists;
  PANTOUM_ASSIGN(const Padding padding, read_padding(node));
  Windows windows;
  for (size_t d = 0; d < rank; ++d) {
    if (kernel[d] < 1 || kernel[d] > kMostExtent) return misfit("its window spans {}", kernel[d]);
    Window window{kernel[d], strides[d], 0, 0, dilations[d]};
    if (padding == Padding::kTold) {
      window.before = pads[d];
      window.after = pads[rank + d];
    } else if (padding != Padding::kValid) {
      pad_same(window, image[d + 2], padding == Padding::kSameLower);
    }
    windows.push_back(window);
  }
  return windows;
}

// Image and weight, whose extents of space are the window's.
struct Filtered {
  Value x, weight;
  Shape image;
  Integers kernel;
};

Result<Filtered> read_filtered(Node& node) {
  Filtered filtered{node.real(0), node.real(1), {}, {}};
  PANTOUM_TRY(node.refusal());
  filtered.image = filtered.x.shape();
  const Shape weight = filtered.weight.shape();
  if (filtered.image.size() < 3 || weight.size() != filtered.image.size())
    return misfit("its image and weight differ in rank");
  filtered.kernel.assign(weight.begin() + 2, weight.end());
  return filtered;
}

Result<void> check_kernel_shape(Node& node, const Integers& kernel) {
  const auto told = node.attributes().integers("kernel_shape");
  if (told && *told != kernel) return misfit("its kernel_shape is not the weight's");
  return {};
}

Result<void> lower_conv(Node& node) {
  PANTOUM_ASSIGN(const Filtered given, read_filtered(node));
  PANTOUM_TRY(check_kernel_shape(node, given.kernel));
  PANTOUM_ASSIGN(const Windows windows, read_windows(node, given.image, given.kernel));
  const Tensor* constant = node.setting(2);  // exporters make up a bias of zeros
  const Value bias = constant != nullptr && is_filled_with(*constant, 0) ? Value() : node.optional(2);
  return node.set(convolution(given.x, given.weight, bias, windows, node.attributes().integer("group", 1)));
}

// A result of a given extent is padded by what the windows make too much.
Result<std::vector<Upward>> read_upward(Node& node, const Filtered& given) {
  const size_t rank = given.kernel.size();
  PANTOUM_TRY(want_space(rank));
  PANTOUM_ASSIGN(const Lists lists, read_lists(node, rank));
  const auto& [strides, dilations, pads] = lists;
  PANTOUM_ASSIGN(const auto extra, window_list(node, "output_padding", rank, 0, 0));
  PANTOUM_ASSIGN(const auto extents, window_list(node, "output_shape", rank, 0, 0));
  PANTOUM_ASSIGN(const Padding padding, read_padding(node));
  PANTOUM_TRY(check_kernel_shape(node, given.kernel));
  std::vector<Upward> all;
  for (size_t d = 0; d < rank; ++d) {
    Upward up{{given.kernel[d], strides[d], 0, 0, dilations[d]}, extra[d], extents[d]};
    const bool same = padding == Padding::kSameUpper || padding == Padding::kSameLower;
    if (up.extent == 0 && same) up.extent = given.image[d + 2] * strides[d];
    if (up.extent != 0) {
      const int64_t whole = strides[d] * (given.image[d + 2] - 1) + extra[d] + (given.kernel[d] - 1) * dilations[d] + 1;
      const int64_t total = whole - up.extent;
      if (total < 0) return unsupported("its output_shape is larger than its windows reach", "use output_padding");
      up.window.before = padding == Padding::kSameUpper ? total / 2 : total - total / 2;
      up.window.after = total - up.window.before;
    } else if (padding == Padding::kTold) {
      up.window.before = pads[d];
      up.window.after = pads[rank + d];
    }
    all.push_back(up);
  }
  return all;
}

Result<void> lower_conv_transpose(Node& node) {
  PANTOUM_ASSIGN(const Filtered given, read_filtered(node));
  PANTOUM_ASSIGN(const std::vector<Upward> up, read_upward(node, given));
  const int64_t groups = node.attributes().integer("group", 1);
  // The bias becomes a value after the convolution: the order of values decides between plans of equal cost.
  const Value y = transposed_convolution(given.x, given.weight, up, groups);
  return node.set(with_bias(y, node.optional(2)));
}

Result<Shape> image_of(Node& node) {
  const Shape image = node.shape(0);
  if (image.size() < 3) return misfit("its input is not an image [N,C,..]");
  return image;
}

bool is_ceil(Node& node) {
  return node.attributes().integer("ceil_mode", 0) != 0;
}

Result<Windows> pool_windows(Node& node) {
  PANTOUM_ASSIGN(const Shape image, image_of(node));
  return read_windows(node, image, *node.attributes().integers("kernel_shape"));
}

void grow(Windows& windows, const Shape& image) {
  for (size_t d = 0; d < windows.size(); ++d) grow_to_ceil(windows[d], image[d + 2]);
}

// Indices count through the whole input: its planes, the first element of each window, and what its tap leads further.
Result<void> set_indices(Node& node, const Value& x, const Windows& windows) {
  if (windows.size() > 2) return unsupported("its indices are used, and it pools three dimensions of space");
  const Window h = windows.size() == 2 ? windows[0] : Window{}, w = windows.back();
  if (h.kernel * w.kernel >= 256) return unsupported("its indices are used, and its window has 256 taps or more");
  const size_t rank = x.rank();
  Shape image = x.shape();
  if (rank == 3) image.insert(image.begin() + 2, 1);
  const Value which = apply(
      Kind::k_max_pool_taps, reshape(x, image),
      {{h.kernel, w.kernel, h.stride, w.stride, h.before, w.before, h.after, w.after, h.dilation, w.dilation, 0}, {}});
  const Shape pooled = which.shape();
  const bool columns_first = node.attributes().integer("storage_order", 0) != 0;
  const int64_t row = columns_first ? 1 : image[3], column = columns_first ? image[2] : 1;
  const int64_t plane_count = image[0] * image[1], window_count = pooled[2] * pooled[3];
  if (!node.spend(plane_count + window_count)) return node.refusal();
  Integers planes, firsts, taps;
  for (int64_t plane = 0; plane < plane_count; ++plane) planes.push_back(plane * image[2] * image[3]);
  for (int64_t at = 0; at < window_count; ++at)
    firsts.push_back((at / pooled[3] * h.stride - h.before) * row + (at % pooled[3] * w.stride - w.before) * column);
  for (int64_t tap = 0; tap < h.kernel * w.kernel; ++tap)
    taps.push_back(tap / w.kernel * h.dilation * row + tap % w.kernel * w.dilation * column);
  Shape shape = pooled;
  if (rank == 3) shape.erase(shape.begin() + 2);
  // Windows of one tap, whose places are known: exporters read where planes begin from them.
  if (taps.size() == 1 && node.try_spend(which.elements())) {
    Integers all;
    for (const int64_t plane : planes)
      for (const int64_t first : firsts) all.push_back(plane + first);
    return node.set_known(1, make_tensor(DType::kI64, std::move(shape), all));
  }
  const Value read = cast(which, DType::kI32);
  const Value table = node.whole(DType::kI64, {static_cast<int64_t>(taps.size())}, taps);
  const Value in_plane = gather(table, read, 0) + node.whole(DType::kI64, {pooled[2], pooled[3]}, firsts);
  return node.set(1, reshape(in_plane + node.whole(DType::kI64, {image[0], image[1], 1, 1}, planes), shape));
}

// Bytes are whole numbers that float32 holds: the greatest of them is the same.
Result<void> lower_max_pool(Node& node) {
  const bool bytes = node.type(0).dtype == DType::kU8;
  const Value x = bytes ? cast(node.value(0), DType::kF32) : node.real(0);
  PANTOUM_TRY(node.refusal());
  PANTOUM_ASSIGN(Windows windows, pool_windows(node));
  if (is_ceil(node)) grow(windows, node.shape(0));
  if (node.wants(1)) PANTOUM_TRY(set_indices(node, x, windows));
  const Value y = max_pool(x, windows);
  return node.set(bytes ? cast(y, DType::kU8) : y);
}

Result<void> lower_average_pool(Node& node) {
  const Value x = node.real(0);
  PANTOUM_TRY(node.refusal());
  PANTOUM_ASSIGN(const Windows windows, pool_windows(node));
  return node.set(average_pool(x, windows, is_ceil(node), node.attributes().integer("count_include_pad", 0) != 0));
}

Integers dimensions_of_space(const Shape& image) {
  Integers dimensions;
  for (size_t d = 2; d < image.size(); ++d) dimensions.push_back(static_cast<int64_t>(d));
  return dimensions;
}

Result<void> lower_global_average(Node& node) {
  const Value x = node.real(0);
  PANTOUM_ASSIGN(const Shape image, image_of(node));
  return node.set(reduce(Kind::k_reduce_mean, x, dimensions_of_space(image), true));
}

Result<void> lower_global_max(Node& node) {
  const Value x = node.real(0);
  PANTOUM_ASSIGN(const Shape image, image_of(node));
  PANTOUM_TRY(want_space(image.size() - 2));
  Windows windows;
  for (size_t d = 2; d < image.size(); ++d) windows.push_back({image[d]});
  return node.set(max_pool(x, windows));
}

Value raised(const Value& x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 2) return x * x;
  return exponent == 0.5 ? sqrt(x) : pow(x, x.in().number(DType::kF32, exponent));
}

Result<double> norm_of(Node& node) {
  const auto p = static_cast<double>(node.attributes().integer("p", 2));
  if (p < 1 || p > 1000) return misfit("its p is not in [1, 1000]");
  return p;
}

// The p-th root of the sum of the p-th powers: the mean of a window, the padding counted, times its size.
Result<void> lower_lp_pool(Node& node) {
  PANTOUM_ASSIGN(const double p, norm_of(node));
  const Value x = node.real(0);
  PANTOUM_TRY(node.refusal());
  PANTOUM_ASSIGN(Windows windows, pool_windows(node));
  if (is_ceil(node)) grow(windows, node.shape(0));
  if (windows.size() > 2) return unsupported("it works on more than two spatial dimensions");
  int64_t size = 1;
  for (const Window& window : windows) size *= window.kernel;
  const Value means = average_pool(raised(abs(x), p), windows, false, true);
  return node.set(raised(means * static_cast<double>(size), 1 / p));
}

Result<void> lower_global_lp_pool(Node& node) {
  PANTOUM_ASSIGN(const double p, norm_of(node));
  const Value x = node.real(0);
  PANTOUM_ASSIGN(Shape pooled, image_of(node));
  const Value sum = reduce(Kind::k_reduce_sum, raised(abs(x), p), dimensions_of_space(pooled), false);
  std::fill(pooled.begin() + 2, pooled.end(), 1);
  return node.set(reshape(raised(sum, 1 / p), pooled));
}

// The extents that a MaxPool with the node's windows was given.
Result<Shape> unpooled_shape(Node& node) {
  Shape shape = node.shape(0);
  const size_t space = shape.size() - 2;
  const auto kernel = *node.attributes().integers("kernel_shape");
  if (kernel.size() != space) return misfit("its kernel_shape does not fit its input");
  PANTOUM_ASSIGN(const auto strides, window_list(node, "strides", space, 1, 1));
  PANTOUM_ASSIGN(const auto pads, window_list(node, "pads", 2 * space, 0, 0));
  for (size_t d = 0; d < space; ++d) {
    const int64_t span = kernel[d];
    if (span < 1 || span > kMostExtent) return misfit("its window spans {}", span);
    shape[d + 2] = (shape[d + 2] - 1) * strides[d] + span - pads[d] - pads[space + d];
  }
  for (const int64_t extent : shape)
    if (extent < 1 || extent > kMostExtent) return misfit("it unpools to {}", ir::to_text(shape));
  return shape;
}

// Values go where their indices say, in zeros; the indices count through all of them. The zeros behind, up to the shape that the node
// tells, are not counted.
Result<void> lower_max_unpool(Node& node) {
  const Value x = node.real(0), indices = node.value(1);
  if (x.rank() < 3 || x.shape() != indices.shape())
    return misfit("its input is not an image [N,C,..] with an index for every element");
  PANTOUM_ASSIGN(const Shape shape, unpooled_shape(node));
  int64_t elements = 1;
  for (const int64_t extent : shape) elements *= extent;
  const Value values = flattened(x), places = flattened(indices);
  const Value zero = node.filled(1, 0);
  const Value empty = node.op(Kind::k_expand, {zero}, {{}, {1}}, {{DType::kF32, {elements}}});
  const Value y = reshape(scatter(empty, places, values, 0, PT_SCATTER_LAST), shape);
  if (!node.has(2)) return node.set(y);
  Shape told = node.integers(2, "output_shape");
  bool fits = told.size() == shape.size();
  for (size_t d = 0; d < shape.size() && fits; ++d) fits = told[d] >= shape[d];
  if (!fits) return misfit("its output_shape {} does not hold {}", ir::to_text(told), ir::to_text(shape));
  for (size_t d = 0; d < shape.size(); ++d) told[d] -= shape[d];
  return node.set(with_zeros(y, Integers(shape.size(), 0), told));
}

// One dimension of space: taps [A, kernel, B, positions, C] are added up where they lie, to [A, B, extent, C].
struct Fold {
  Window window;
  int64_t extent = 1, positions = 1;
};

Value fold_dimension(const Value& x, const Fold& fold) {
  const Shape from = x.shape();
  const Window& w = fold.window;
  const bool tiles = w.stride == w.kernel && w.dilation == 1 && w.before + w.after == 0;
  if (tiles && fold.extent == w.kernel * fold.positions)
    return reshape(transpose(x, {0, 2, 3, 1, 4}), {from[0], from[2], fold.extent, from[4]});
  const int64_t padded = fold.extent + w.before + w.after;
  Value sum;
  for (int64_t tap = 0; tap < w.kernel; ++tap) {
    const TensorType part{DType::kF32, {from[0], 1, from[2], from[3], from[4]}};
    const Value taps = x.in().op(Kind::k_slice, {x}, {{0, 1, tap, 1, 0, 1, 0, 1, 0, 1}, {}}, {part});
    const Value placed = x.in().op(Kind::k_slice_grad, {reshape(taps, {from[0], from[2], from[3], from[4]})},
                                   {{0, 1, 0, 1, tap * w.dilation, w.stride, 0, 1}, {}},
                                   {{DType::kF32, {from[0], from[2], padded, from[4]}}});
    sum = sum ? sum + placed : placed;
  }
  return w.before + w.after == 0 ? sum : piece(sum, 2, w.before, fold.extent);
}

Result<std::vector<Fold>> read_folds(Node& node, const Shape& image, const Shape& block) {
  const size_t space = image.size();
  if (space < 1 || block.size() != space) return misfit("its block has another rank than the image");
  PANTOUM_ASSIGN(const Lists lists, read_lists(node, space));
  const auto& [strides, dilations, pads] = lists;
  std::vector<Fold> folds;
  for (size_t d = 0; d < space; ++d) {
    if (image[d] < 1 || image[d] > kMostExtent || block[d] < 1 || block[d] > kMostExtent)
      return misfit("an extent of its image or block is out of range");
    const Window window{block[d], strides[d], pads[d], pads[space + d], dilations[d]};
    const int64_t room = image[d] + window.before + window.after - window.dilation * (window.kernel - 1) - 1;
    if (room < 0) return misfit("its block does not fit the image");
    folds.push_back({window, image[d], room / window.stride + 1});
  }
  return folds;
}

// Dimension by dimension, so that a block of k x k takes 2 k pieces and not k k.
Result<void> lower_col2im(Node& node) {
  Value x = node.real(0);
  const Shape image = node.integers(1, "image_shape"), block = node.integers(2, "block_shape"), from = x.shape();
  PANTOUM_ASSIGN(const std::vector<Fold> folds, read_folds(node, image, block));
  int64_t taps = 1, positions = 1;
  for (const Fold& fold : folds) {
    taps = taps > kMostExtent ? taps : taps * fold.window.kernel;
    positions = positions > kMostExtent ? positions : positions * fold.positions;
  }
  if (from.size() != 3 || from[1] % taps != 0 || from[2] != positions)
    return misfit("its input {} does not hold {} positions of blocks of {}", ir::to_text(from), positions, taps);
  const int64_t planes = from[0] * (from[1] / taps);
  int64_t done = 1;
  for (const Fold& fold : folds) {
    taps /= fold.window.kernel;
    positions /= fold.positions;
    x = fold_dimension(reshape(x, {planes, fold.window.kernel, taps * done, fold.positions, positions}), fold);
    done *= fold.extent;
  }
  Shape shape{from[0], planes / from[0]};
  shape.insert(shape.end(), image.begin(), image.end());
  return node.set(reshape(x, shape));
}

constexpr const char* kSpace = "one to three dimensions of space";
constexpr OperatorEntry kWindowOperators[] = {
    {"Conv", lower_conv, "conv2d conv3d", kSpace},
    {"ConvTranspose", lower_conv_transpose, "conv2d_dx conv3d_dx add slice_grad", kSpace},
    {"MaxPool", lower_max_pool, "max_pool_taps cast gather add max_pool",
     "float32, uint8; one to three dimensions of space; indices up to two, of windows of fewer than 256 taps"},
    {"AveragePool", lower_average_pool, "avg_pool slice_grad", kSpace},
    {"GlobalAveragePool", lower_global_average, "reduce_mean"},
    {"GlobalMaxPool", lower_global_max, "max_pool", kSpace},
    {"LpPool", lower_lp_pool, "abs mul pow avg_pool scale sqrt",
     "one or two dimensions of space; a window of zeros has no gradient (NaN)"},
    {"GlobalLpPool", lower_global_lp_pool, "abs mul pow reduce_sum sqrt", "an image of zeros has no gradient (NaN)"},
    {"MaxUnpool", lower_max_unpool, "expand scatter_elements slice_grad"},
    {"Col2Im", lower_col2im, "transpose slice slice_grad add", "any number of dimensions of space"}};

}  // namespace

constinit const Family window_operators = kWindowOperators;

}  // namespace pantoum::import
