#include "tflite/operators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace pantoum::tflite {
namespace {

using schema::Activation;
using schema::Operators;
using schema::Padding;

constexpr size_t kRows = 2, kColumns = 3;  // of channels first

// ---- What is wrong with an operator.

Failure damaged(const Site& site, const std::string& problem) {
  return fail("E0215", problem, site.where(), "convert or download the model again");
}
Failure not_read(const Site& site, const std::string& form, const std::string& help = "convert the model without it") {
  return fail("E0401", form, site.where(), help);
}
Failure mixes_samples(const Site& site) {
  return not_read(site, "it moves or changes dimension 0, which is the batch",
                  "convert a model whose first dimension is the batch throughout");
}

// The table of the operator's settings: of the type that kRules says.
template <class Options>
Result<const Options*> settings_of(const Site& site) {
  const bool is_there = site.op.options_type() == options_of(site.network.file.code_of(site.op));
  if (!is_there || site.op.options() == nullptr) return damaged(site, "its settings are missing");
  return static_cast<const Options*>(site.op.options());
}

// ---- Operands and results.

// The input is a value of the network.
Result<void> check_computed(const Site& site, size_t at) {
  if (site.input(at) == kNoTensor) return damaged(site, fmt::format("operand {} is missing", at));
  if (!site.network.is_computed(site.input(at)))
    return not_read(site, fmt::format("operand {} is a constant, or computed later", at),
                    "convert the model with its constants folded");
  return {};
}

Result<void> check_constant(const Site& site, size_t at) {
  if (site.input(at) == kNoTensor) return damaged(site, fmt::format("operand {} is missing", at));
  if (site.network.is_constant(site.input(at))) return {};
  return not_read(site, fmt::format("operand {} is computed, and has to be a constant", at));
}

// A constant that sets the operator.
Result<Shape> integers(const Site& site, size_t at) {
  PANTOUM_TRY(check_constant(site, at));
  return site.network.constants.integers(site.network.source_of(site.input(at)));
}

Result<Tensor> filed(const Site& site, size_t at) {
  PANTOUM_TRY(check_computed(site, at));
  return site.network.value(site.input(at), Layout::kOfFile);
}

Result<Tensor> picture(const Site& site, size_t at) {
  PANTOUM_TRY(check_computed(site, at));
  if (site.network.shape_of(site.input(at)).size() != kPictureRank)
    return damaged(site, fmt::format("operand {} has not the four dimensions [N,H,W,C]", at));
  return site.network.value(site.input(at), Layout::kChannelsFirst);
}

Tensor node(Site& site, const char* op_type, const std::vector<Tensor>& operands, Attributes attributes = {}) {
  return site.network.net.node(
      op_type, operands, {.attributes = std::move(attributes), .name = site.network.name_of_node(site.output())})[0];
}

Result<Tensor> activated(Site& site, const Tensor& x, Activation activation) {
  ModelBuilder& net = site.network.net;
  switch (activation) {
    case Activation::NONE:
      return x;
    case Activation::RELU:
      return net.relu(x);
    case Activation::RELU6:
      return net.clip(x, 0, 6);
    case Activation::RELU_N1_TO_1:
      return net.clip(x, -1, 1);
    default:  // TensorFlow Lite's own interpreter leaves a fused TANH out
      return not_read(site,
                      fmt::format("its fused activation is not NONE, RELU, RELU6 or RELU_N1_TO_1 but the number {}",
                                  static_cast<int>(activation)),
                      "convert the model with this activation as an operator of its own");
  }
}

// Does the value have the shape that the file has of it? The batch is its dimension 0, and no other.
Result<void> check_shape(const Site& site) {
  const Shape told = site.network.file.shape_of(site.output()), made = site.network.shape_of(site.output());
  const bool is_told = !told.empty() && std::ranges::all_of(told, [](int64_t extent) { return extent > 0; });
  bool fits = !made.empty() && made[0] == -1 && (!is_told || told.size() == made.size());
  for (size_t d = 1; fits && d < made.size(); ++d) fits = is_told ? told[d] == made[d] : made[d] > 0;
  if (fits) return {};
  return damaged(site, fmt::format("its result has the shape [{}], and in the file [{}]", fmt::join(made, ","),
                                   fmt::join(told, ",")));
}

Result<void> put(Site& site, const Tensor& value, Layout layout) {
  if (!value.valid()) {
    const std::vector<std::string>& problems = site.network.net.problems();
    return fail("E0215", "its operands do not fit together", site.where(), "convert or download the model again",
                problems.empty() ? std::vector<std::string>() : std::vector{problems.back()});
  }
  site.network.put(site.output(), value, layout);
  return check_shape(site);
}

// ---- Windows.

struct Axis {
  int64_t kernel, stride, dilation;
};

// Rows, columns.
Result<Attributes> windows(const Site& site, const std::array<Axis, 2>& axes, Padding padding) {
  constexpr int64_t kMost = 1 << 20;
  for (const Axis& axis : axes)
    for (const int64_t number : {axis.kernel, axis.stride, axis.dilation})
      if (number < 1 || number > kMost) return damaged(site, fmt::format("a kernel, stride or dilation is {}", number));
  const auto& [rows, columns] = axes;
  return Attributes{{"kernel_shape", Shape{rows.kernel, columns.kernel}},
                    {"strides", Shape{rows.stride, columns.stride}},
                    {"dilations", Shape{rows.dilation, columns.dilation}},
                    {"auto_pad", padding == Padding::SAME ? "SAME_UPPER" : "VALID"}};
}

Result<void> add_bias(Site& site, std::vector<Tensor>& operands) {
  if (site.input(2) == kNoTensor) return {};
  PANTOUM_TRY(check_constant(site, 2));
  PANTOUM_ASSIGN(const Tensor bias, site.network.table(site.input(2)));
  operands.push_back(bias);
  return {};
}

// `order`: of the weight's dimensions, channels first. `groups`: 0, as many as the shapes of picture and weight give.
template <class Options>
Result<void> convolve(Site& site, const Shape& order, int64_t groups) {
  PANTOUM_ASSIGN(const Options* options, settings_of<Options>(site));
  PANTOUM_ASSIGN(const Tensor x, picture(site, 0));
  PANTOUM_TRY(check_constant(site, 1));
  const Shape weight = site.network.file.shape_of(site.network.source_of(site.input(1)));
  if (weight.size() != kPictureRank) return damaged(site, "its weight has not four dimensions");
  PANTOUM_ASSIGN(const Tensor filters, site.network.table(site.input(1), order));
  if (groups == 0) groups = x.shape()[1] / std::max<int64_t>(weight[3], 1);
  std::vector<Tensor> operands = {x, filters};
  PANTOUM_TRY(add_bias(site, operands));
  PANTOUM_ASSIGN(Attributes attributes, windows(site,
                                                {Axis{weight[1], options->stride_h(), options->dilation_h()},
                                                 Axis{weight[2], options->stride_w(), options->dilation_w()}},
                                                options->padding()));
  attributes["group"] = groups;
  PANTOUM_ASSIGN(const Tensor y,
                 activated(site, node(site, "Conv", operands, std::move(attributes)), options->activation()));
  return put(site, y, Layout::kChannelsFirst);
}

Result<void> conv_2d(Site& site) {
  return convolve<schema::Conv2DOptions>(site, {0, 3, 1, 2}, 0);
}

Result<void> depthwise_conv_2d(Site& site) {
  PANTOUM_ASSIGN(const Tensor x, picture(site, 0));
  return convolve<schema::DepthwiseConv2DOptions>(site, {3, 0, 1, 2}, x.shape()[1]);
}

Result<void> pool(Site& site, const char* op_type, Attributes more) {
  PANTOUM_ASSIGN(const auto* options, settings_of<schema::Pool2DOptions>(site));
  PANTOUM_ASSIGN(const Tensor x, picture(site, 0));
  PANTOUM_ASSIGN(Attributes attributes, windows(site,
                                                {Axis{options->filter_h(), options->stride_h(), 1},
                                                 Axis{options->filter_w(), options->stride_w(), 1}},
                                                options->padding()));
  attributes.merge(more);
  PANTOUM_ASSIGN(const Tensor y,
                 activated(site, node(site, op_type, {x}, std::move(attributes)), options->activation()));
  return put(site, y, Layout::kChannelsFirst);
}

Result<void> average_pool_2d(Site& site) {
  return pool(site, "AveragePool", {{"count_include_pad", int64_t{0}}});
}
Result<void> max_pool_2d(Site& site) {
  return pool(site, "MaxPool", {});
}

// ---- Products.

// The value as rows of `in` numbers.
Result<Tensor> rows_of(Site& site, int64_t in) {
  const Shape shape = site.network.shape_of(site.input(0));
  constexpr int64_t kMost = 1 << 30;
  int64_t sample = 1;
  for (size_t d = 1; d < shape.size(); ++d) {
    if (shape[d] < 1 || shape[d] > kMost / sample) return damaged(site, "its operand is out of bounds");
    sample *= shape[d];
  }
  if (sample % in != 0 || (sample != in && shape.back() != in))
    return damaged(site, fmt::format("rows of {} numbers are not read from the shape [{}]", in, fmt::join(shape, ",")));
  PANTOUM_ASSIGN(const Tensor x, filed(site, 0));
  return shape.size() == 2 ? x : site.network.net.reshape(x, {-1, in});
}

Result<void> fully_connected(Site& site) {
  PANTOUM_ASSIGN(const auto* options, settings_of<schema::FullyConnectedOptions>(site));
  PANTOUM_TRY(check_computed(site, 0));
  PANTOUM_TRY(check_constant(site, 1));
  if (options->weights_format() != schema::WeightsFormat::DEFAULT) return not_read(site, "its weights are shuffled");
  const Shape weight = site.network.file.shape_of(site.network.source_of(site.input(1)));
  if (weight.size() != 2 || weight[1] < 1) return damaged(site, "its weight has not two dimensions");
  const Shape from = site.network.shape_of(site.input(0));
  PANTOUM_ASSIGN(const Tensor x, rows_of(site, weight[1]));
  PANTOUM_ASSIGN(const Tensor table, site.network.table(site.input(1)));
  std::vector<Tensor> operands = {x, table};
  PANTOUM_TRY(add_bias(site, operands));
  PANTOUM_ASSIGN(Tensor y,
                 activated(site, node(site, "Gemm", operands, {{"transB", int64_t{1}}}), options->activation()));
  if (options->keep_num_dims() && from.size() > 2 && y.valid()) {
    Shape to = from;
    to.front() = -1;
    to.back() = weight[0];
    y = site.network.net.reshape(y, to);
  }
  return put(site, y, Layout::kOfFile);
}

Result<void> batch_matmul(Site& site) {
  PANTOUM_ASSIGN(const auto* options, settings_of<schema::BatchMatMulOptions>(site));
  ModelBuilder& net = site.network.net;
  PANTOUM_ASSIGN(Tensor x, filed(site, 0));
  const bool constant = site.network.is_constant(site.input(1));
  Tensor y;
  if (constant) {
    PANTOUM_ASSIGN(y, site.network.table(site.input(1)));
  } else {
    PANTOUM_ASSIGN(y, filed(site, 1));
  }
  const size_t rank = x.shape().size(), rank_y = y.shape().size();
  const bool has_batch = constant ? rank_y == rank && rank > 2 && y.shape()[0] != 1 : rank != rank_y || rank < 3;
  if (rank < 2 || rank_y < 2 || rank_y > rank || has_batch || (options->adj_x() && rank == 2))
    return mixes_samples(site);
  if (options->adj_x()) x = net.transpose(x, -1, -2);
  if (options->adj_y()) y = net.transpose(y, -1, -2);
  return put(site, node(site, "MatMul", {x, y}), Layout::kOfFile);
}

// ---- Elements.

// A constant beside a value of `rank` dimensions in this layout.
Result<Tensor> constant_beside(Site& site, size_t at, size_t rank, Layout layout) {
  const int tensor = site.input(at);
  const Shape shape = site.network.file.shape_of(site.network.source_of(tensor));
  if (shape.size() > rank || (shape.size() == rank && shape[0] != 1)) return mixes_samples(site);
  const bool is_number = std::ranges::all_of(shape, [](int64_t extent) { return extent == 1; });
  if (layout == Layout::kOfFile || is_number) return site.network.table(tensor);
  Shape to(kPictureRank, 1);
  std::copy_backward(shape.begin(), shape.end(), to.end());
  return site.network.table(tensor, kToChannelsFirst, {to[3], to[1], to[2]});
}

// Operands 0 and 1 in one layout, which is channels first where one of them has that already.
struct Pair {
  Tensor a, b;
  Layout layout;
};

Result<Pair> pair_of(Site& site) {
  Network& network = site.network;
  Pair pair{.a = {}, .b = {}, .layout = Layout::kOfFile};
  size_t rank = 0;
  for (const size_t at : {size_t{0}, size_t{1}}) {
    if (network.is_constant(site.input(at))) continue;
    PANTOUM_TRY(check_computed(site, at));
    const size_t own = network.shape_of(site.input(at)).size();
    if (rank != 0 && own != rank) return mixes_samples(site);
    rank = own;
    if (network.is_channels_first(site.input(at))) pair.layout = Layout::kChannelsFirst;
  }
  if (rank == 0) return not_read(site, "both operands are constants", "convert the model with its constants folded");
  for (const size_t at : {size_t{0}, size_t{1}}) {
    Tensor& operand = at == 0 ? pair.a : pair.b;
    if (network.is_computed(site.input(at))) {
      operand = network.value(site.input(at), pair.layout);
      continue;
    }
    PANTOUM_ASSIGN(operand, constant_beside(site, at, rank, pair.layout));
  }
  return pair;
}

Result<void> of_two(Site& site, const char* op_type) {
  PANTOUM_ASSIGN(const auto* options, settings_of<schema::FusedOptions>(site));
  PANTOUM_ASSIGN(const Pair pair, pair_of(site));
  PANTOUM_ASSIGN(const Tensor y, activated(site, node(site, op_type, {pair.a, pair.b}), options->activation()));
  return put(site, y, pair.layout);
}

template <const char* const& op_type>
Result<void> of_two(Site& site) {
  return of_two(site, op_type);
}

Result<void> prelu(Site& site) {
  PANTOUM_TRY(check_constant(site, 1));
  PANTOUM_ASSIGN(const Pair pair, pair_of(site));
  return put(site, node(site, "PRelu", {pair.a, pair.b}), pair.layout);
}

// A function of each element, in the layout that there is.
template <class Function>
Result<void> of_one(Site& site, const Function& function) {
  PANTOUM_TRY(check_computed(site, 0));
  const Layout layout = site.network.is_channels_first(site.input(0)) ? Layout::kChannelsFirst : Layout::kOfFile;
  const Tensor x = site.network.value(site.input(0), layout);
  return put(site, function(site.network.net, x), layout);
}

Result<void> relu(Site& site) {
  return of_one(site, [](ModelBuilder& net, const Tensor& x) { return net.relu(x); });
}
Result<void> relu6(Site& site) {
  return of_one(site, [](ModelBuilder& net, const Tensor& x) { return net.clip(x, 0, 6); });
}
Result<void> relu_n1_to_1(Site& site) {
  return of_one(site, [](ModelBuilder& net, const Tensor& x) { return net.clip(x, -1, 1); });
}
Result<void> logistic(Site& site) {
  return of_one(site, [](ModelBuilder& net, const Tensor& x) { return net.sigmoid(x); });
}
Result<void> tanh(Site& site) {
  return of_one(site, [](ModelBuilder& net, const Tensor& x) { return net.tanh(x); });
}
Result<void> hard_swish(Site& site) {
  return of_one(site, [](ModelBuilder& net, const Tensor& x) { return net.hard_swish(x); });
}
Result<void> leaky_relu(Site& site) {
  PANTOUM_ASSIGN(const auto* options, settings_of<schema::LeakyReluOptions>(site));
  return of_one(site, [&](ModelBuilder& net, const Tensor& x) { return net.leaky_relu(x, double{options->alpha()}); });
}

Result<void> softmax(Site& site) {
  PANTOUM_ASSIGN(const auto* options, settings_of<schema::SoftmaxOptions>(site));
  PANTOUM_TRY(check_computed(site, 0));
  if (site.network.shape_of(site.input(0)).size() < 2) return mixes_samples(site);
  const int64_t axis = site.network.is_channels_first(site.input(0)) ? 1 : -1;
  return of_one(site, [&](ModelBuilder& net, const Tensor& x) {
    return net.softmax(options->beta() == 1 ? x : net.mul(x, net.constant(double{options->beta()})), axis);
  });
}

// Computed values are numbers here whatever they are on a device; constants are read by whoever uses them.
Result<void> same_numbers(Site& site) {
  const int from = site.input(0);
  if (from != kNoTensor && site.network.is_constant(from)) {
    site.network.make_alias(site.output(), site.network.source_of(from));
    return {};
  }
  site.network.notes.insert(
      "QUANTIZE and DEQUANTIZE of activations do nothing: the model computes with f32 numbers, not with int8");
  return of_one(site, [](ModelBuilder&, const Tensor& x) { return x; });
}

// ---- Dimensions.

// Where dimension d of the file stands, in this layout.
int64_t place_of(int64_t d, Layout layout) {
  constexpr std::array<int64_t, kPictureRank> kPlaces = {0, 2, 3, 1};
  return layout == Layout::kOfFile ? d : kPlaces[static_cast<size_t>(d)];
}

// From 0 on.
Result<int64_t> axis_of(const Site& site, int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) return damaged(site, fmt::format("it has no dimension {}", axis));
  return axis < 0 ? axis + count : axis;
}

Result<void> mean(Site& site) {
  PANTOUM_ASSIGN(const auto* options, settings_of<schema::ReducerOptions>(site));
  PANTOUM_TRY(check_computed(site, 0));
  PANTOUM_ASSIGN(const Shape given, integers(site, 1));
  const size_t rank = site.network.shape_of(site.input(0)).size();
  std::set<int64_t> axes;
  for (const int64_t each : given) {
    PANTOUM_ASSIGN(const int64_t axis, axis_of(site, each, rank));
    if (axis == 0) return mixes_samples(site);
    axes.insert(axis);
  }
  if (axes.empty()) return damaged(site, "it names no dimension");
  ModelBuilder& net = site.network.net;
  if (rank == kPictureRank && axes == std::set<int64_t>{1, 2} && site.network.is_channels_first(site.input(0))) {
    const Tensor x = site.network.value(site.input(0), Layout::kChannelsFirst);
    const Tensor y = node(site, "GlobalAveragePool", {x});
    return options->keep_dims() ? put(site, y, Layout::kChannelsFirst)
                                : put(site, net.reshape(y, {0, x.shape()[1]}), Layout::kOfFile);
  }
  PANTOUM_ASSIGN(const Tensor x, filed(site, 0));
  return put(site, net.mean(x, {axes.begin(), axes.end()}, options->keep_dims()), Layout::kOfFile);
}

// Of RESHAPE, SQUEEZE and EXPAND_DIMS: the shape is that of the output.
Result<void> reshape(Site& site) {
  PANTOUM_TRY(check_computed(site, 0));
  const Shape from = site.network.file.shape_of(site.input(0));
  Shape to = site.network.file.shape_of(site.output());
  if (to.empty() || std::ranges::any_of(to, [](int64_t extent) { return extent < 1; }))
    return not_read(site, "the file does not have the shape of its result", "convert the model with fixed shapes");
  // The batch stays dimension 0, or rows of samples become the rows of one matrix and back.
  const bool rows = to.size() == 2 && !from.empty() && to[1] == from.back();
  if (to[0] != site.network.batch && !rows) return mixes_samples(site);
  PANTOUM_ASSIGN(const Tensor x, filed(site, 0));
  to[0] = -1;
  return put(site, site.network.net.reshape(x, to), Layout::kOfFile);
}

Result<void> transpose(Site& site) {
  PANTOUM_TRY(check_computed(site, 0));
  PANTOUM_ASSIGN(const Shape order, integers(site, 1));
  const size_t rank = site.network.shape_of(site.input(0)).size();
  Shape sorted = order, all(rank);
  std::ranges::sort(sorted);
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) return damaged(site, "it does not name each dimension once");
  if (order[0] != 0) return mixes_samples(site);
  // A picture that comes with channels first, as from PyTorch, and goes so: no element moves.
  if (order == kToFile) {
    PANTOUM_ASSIGN(const Tensor x, filed(site, 0));
    return put(site, x, Layout::kChannelsFirst);
  }
  if (order == kToChannelsFirst) {
    PANTOUM_ASSIGN(const Tensor x, picture(site, 0));
    return put(site, x, Layout::kOfFile);
  }
  PANTOUM_ASSIGN(const Tensor x, filed(site, 0));
  return put(site, site.network.net.permute(x, order), Layout::kOfFile);
}

Result<void> pad(Site& site) {
  PANTOUM_TRY(check_computed(site, 0));
  PANTOUM_ASSIGN(const Shape given, integers(site, 1));
  const size_t rank = site.network.shape_of(site.input(0)).size();
  if (given.size() != 2 * rank) return damaged(site, "its paddings do not name every dimension");
  if (given[0] != 0 || given[1] != 0) return mixes_samples(site);
  for (const int64_t each : given)
    if (each < 0 || each > std::numeric_limits<int32_t>::max()) return damaged(site, "a padding is out of bounds");
  const Layout layout = site.network.is_channels_first(site.input(0)) ? Layout::kChannelsFirst : Layout::kOfFile;
  Shape pads(2 * rank);
  for (size_t d = 0; d < rank; ++d) {
    const auto place = static_cast<size_t>(place_of(static_cast<int64_t>(d), layout));
    pads[place] = given[2 * d];
    pads[rank + place] = given[2 * d + 1];
  }
  ModelBuilder& net = site.network.net;
  const Tensor sizes = net.constant_i64({static_cast<int64_t>(pads.size())}, pads);
  return put(site, node(site, "Pad", {site.network.value(site.input(0), layout), sizes}), layout);
}

Result<void> concatenation(Site& site) {
  PANTOUM_ASSIGN(const auto* options, settings_of<schema::ConcatenationOptions>(site));
  Layout layout = Layout::kOfFile;
  if (site.input_count() == 0) return damaged(site, "it has no operands");
  for (size_t at = 0; at < site.input_count(); ++at) {
    PANTOUM_TRY(check_computed(site, at));
    if (site.network.is_channels_first(site.input(at))) layout = Layout::kChannelsFirst;
  }
  const size_t rank = site.network.shape_of(site.input(0)).size();
  PANTOUM_ASSIGN(const int64_t axis, axis_of(site, options->axis(), rank));
  if (axis == 0) return mixes_samples(site);
  std::vector<Tensor> parts;
  for (size_t at = 0; at < site.input_count(); ++at) {
    if (site.network.shape_of(site.input(at)).size() != rank)
      return damaged(site, "its operands have other dimensions");
    parts.push_back(site.network.value(site.input(at), layout));
  }
  PANTOUM_ASSIGN(const Tensor y, activated(site, node(site, "Concat", parts, {{"axis", place_of(axis, layout)}}),
                                           options->activation()));
  return put(site, y, layout);
}

// One dimension of a slice: [begin, end), and whether it goes.
struct Cut {
  int64_t begin, end, step;
  bool goes = false;
};

// `entry`: of the lists of the operator; the dimension has `extent` positions.
Cut cut_of(const schema::StridedSliceOptions& options, size_t entry, int64_t begin, int64_t end, int64_t step,
           int64_t extent) {
  const auto has = [&](int32_t mask) { return (static_cast<uint32_t>(mask) >> entry & 1) != 0; };
  const auto inside = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + extent : position, 0, extent);
  };
  Cut cut{.begin = has(options.begin_mask()) ? 0 : inside(begin), .end = 0, .step = step};
  cut.goes = has(options.shrink_axis_mask());
  if (cut.goes)
    cut.end = cut.begin + 1, cut.step = 1;
  else
    cut.end = has(options.end_mask()) ? extent
              : options.offset()      ? std::min(cut.begin + std::clamp<int64_t>(end, 0, extent), extent)
                                      : inside(end);
  return cut;
}

Result<void> strided_slice(Site& site) {
  PANTOUM_ASSIGN(const auto* options, settings_of<schema::StridedSliceOptions>(site));
  PANTOUM_ASSIGN(Tensor x, filed(site, 0));
  PANTOUM_ASSIGN(const Shape begins, integers(site, 1));
  PANTOUM_ASSIGN(const Shape ends, integers(site, 2));
  PANTOUM_ASSIGN(const Shape steps, integers(site, 3));
  if (options->ellipsis_mask() != 0 || options->new_axis_mask() != 0)
    return not_read(site, "it has an ellipsis or makes a dimension");
  const Shape shape = x.shape();
  const size_t count = begins.size();
  if (count > shape.size() || ends.size() != count || steps.size() != count)
    return damaged(site, "its lists do not fit its operand");
  const Shape told = site.network.file.shape_of(site.input(0));
  const int64_t batch = told.empty() ? site.network.batch : told[0];
  Shape gone;
  for (size_t d = 0; d < count; ++d) {
    if (steps[d] < 1) return not_read(site, "a step is below 1");
    const int64_t extent = d == 0 ? batch : shape[d];
    const Cut cut = cut_of(*options, d, begins[d], ends[d], steps[d], extent);
    const bool whole = cut.begin == 0 && cut.end == extent && cut.step == 1 && !cut.goes;
    if (d == 0 && !whole) return mixes_samples(site);
    if (!whole) x = site.network.net.slice(x, static_cast<int64_t>(d), cut.begin, cut.end, cut.step);
    if (cut.goes) gone.push_back(static_cast<int64_t>(d));
  }
  if (!gone.empty()) x = site.network.net.squeeze(x, gone);
  return put(site, x, Layout::kOfFile);
}

// Rows of a constant table by computed indices, or positions of a value by constant ones.
Result<void> take(Site& site, size_t of, size_t by, int64_t axis) {
  ModelBuilder& net = site.network.net;
  if (site.network.is_constant(site.input(of))) {
    PANTOUM_ASSIGN(const Tensor indices, filed(site, by));
    PANTOUM_ASSIGN(const Tensor table, site.network.table(site.input(of)));
    if (axis != 0) return mixes_samples(site);
    return put(site, net.gather(table, indices, 0), Layout::kOfFile);
  }
  PANTOUM_ASSIGN(const Tensor x, filed(site, of));
  PANTOUM_TRY(check_constant(site, by));
  PANTOUM_ASSIGN(const Shape indices, integers(site, by));
  if (axis == 0) return mixes_samples(site);
  const Shape shape = site.network.file.shape_of(site.input(by));
  return put(site, net.gather(x, net.constant_i64(shape, indices), axis), Layout::kOfFile);
}

Result<void> gather(Site& site) {
  PANTOUM_ASSIGN(const auto* options, settings_of<schema::GatherOptions>(site));
  if (options->batch_dims() != 0) return not_read(site, "it has batch dimensions");
  if (site.input(0) == kNoTensor) return damaged(site, "operand 0 is missing");
  const bool constant = site.network.is_constant(site.input(0));
  if (!constant) PANTOUM_TRY(check_computed(site, 0));
  const size_t rank = constant ? site.network.file.shape_of(site.network.source_of(site.input(0))).size()
                               : site.network.shape_of(site.input(0)).size();
  PANTOUM_ASSIGN(const int64_t axis, axis_of(site, options->axis(), rank));
  return take(site, 0, 1, axis);
}

Result<void> embedding_lookup(Site& site) {
  PANTOUM_TRY(check_constant(site, 1));
  return take(site, 1, 0, 0);
}

// ---- Sizes of pictures.

struct ResizeForm {
  bool corners, centers;
};

Result<void> resize(Site& site, ResizeForm form, Attributes attributes) {
  PANTOUM_ASSIGN(const Tensor x, picture(site, 0));
  PANTOUM_ASSIGN(const Shape size, integers(site, 1));
  if (size.size() != 2) return damaged(site, "its size is not rows and columns");
  attributes["coordinate_transformation_mode"] = std::string(form.corners   ? "align_corners"
                                                             : form.centers ? "half_pixel"
                                                                            : "asymmetric");
  attributes["axes"] = Shape{kRows, kColumns};
  const Tensor sizes = site.network.net.constant_i64({2}, size);
  return put(site, node(site, "Resize", {x, {}, {}, sizes}, std::move(attributes)), Layout::kChannelsFirst);
}

Result<void> resize_bilinear(Site& site) {
  PANTOUM_ASSIGN(const auto* options, settings_of<schema::ResizeBilinearOptions>(site));
  return resize(site, {options->align_corners(), options->half_pixel_centers()}, {{"mode", "linear"}});
}

// The pixel whose place is just below; with corners or centers that are one another's, the nearest one.
Result<void> resize_nearest_neighbor(Site& site) {
  PANTOUM_ASSIGN(const auto* options, settings_of<schema::ResizeNearestNeighborOptions>(site));
  const ResizeForm form{options->align_corners(), options->half_pixel_centers()};
  return resize(site, form,
                {{"mode", "nearest"}, {"nearest_mode", form.corners || form.centers ? "round_prefer_ceil" : "floor"}});
}

// ---- All of them.

constexpr const char* kAdd = "Add";
constexpr const char* kSub = "Sub";
constexpr const char* kMul = "Mul";
constexpr const char* kDiv = "Div";

struct Rule {
  Operators code;
  Result<void> (*build)(Site&);
  schema::Options options = schema::Options::NONE;  // which table of settings it reads
};

using Kind = schema::Options;
constexpr Rule kRules[] = {
    {Operators::CONV_2D, conv_2d, Kind::Conv2DOptions},
    {Operators::DEPTHWISE_CONV_2D, depthwise_conv_2d, Kind::DepthwiseConv2DOptions},
    {Operators::FULLY_CONNECTED, fully_connected, Kind::FullyConnectedOptions},
    {Operators::BATCH_MATMUL, batch_matmul, Kind::BatchMatMulOptions},
    {Operators::AVERAGE_POOL_2D, average_pool_2d, Kind::Pool2DOptions},
    {Operators::MAX_POOL_2D, max_pool_2d, Kind::Pool2DOptions},
    {Operators::ADD, of_two<kAdd>, Kind::AddOptions},
    {Operators::SUB, of_two<kSub>, Kind::SubOptions},
    {Operators::MUL, of_two<kMul>, Kind::MulOptions},
    {Operators::DIV, of_two<kDiv>, Kind::DivOptions},
    {Operators::PRELU, prelu},
    {Operators::RELU, relu},
    {Operators::RELU6, relu6},
    {Operators::RELU_N1_TO_1, relu_n1_to_1},
    {Operators::LOGISTIC, logistic},
    {Operators::TANH, tanh},
    {Operators::HARD_SWISH, hard_swish},
    {Operators::LEAKY_RELU, leaky_relu, Kind::LeakyReluOptions},
    {Operators::SOFTMAX, softmax, Kind::SoftmaxOptions},
    {Operators::QUANTIZE, same_numbers},
    {Operators::DEQUANTIZE, same_numbers},
    {Operators::MEAN, mean, Kind::ReducerOptions},
    {Operators::RESHAPE, reshape},
    {Operators::SQUEEZE, reshape},
    {Operators::EXPAND_DIMS, reshape},
    {Operators::TRANSPOSE, transpose},
    {Operators::PAD, pad},
    {Operators::CONCATENATION, concatenation, Kind::ConcatenationOptions},
    {Operators::STRIDED_SLICE, strided_slice, Kind::StridedSliceOptions},
    {Operators::GATHER, gather, Kind::GatherOptions},
    {Operators::EMBEDDING_LOOKUP, embedding_lookup},
    {Operators::RESIZE_BILINEAR, resize_bilinear, Kind::ResizeBilinearOptions},
    {Operators::RESIZE_NEAREST_NEIGHBOR, resize_nearest_neighbor, Kind::ResizeNearestNeighborOptions}};

const Rule* rule_of(Operators code) {
  const auto* const found = std::ranges::find(kRules, code, &Rule::code);
  return found == std::end(kRules) ? nullptr : found;
}

}  // namespace

std::string Site::where() const {
  return fmt::format("{} operator {} ({})", network.file.where(), position, type);
}

schema::Options options_of(Operators code) {
  const Rule* rule = rule_of(code);
  return rule == nullptr ? schema::Options::NONE : rule->options;
}

bool is_known(Operators code) {
  return rule_of(code) != nullptr;
}

Result<void> build_operator(Site& site) {
  if (site.op.outputs() == nullptr || site.op.outputs()->size() != 1) return damaged(site, "it has not one result");
  if (site.network.is_computed(site.output()) || site.network.is_constant(site.output()))
    return damaged(site, "its result is there already");
  return rule_of(site.network.file.code_of(site.op))->build(site);
}

}  // namespace pantoum::tflite
