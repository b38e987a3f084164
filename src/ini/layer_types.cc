#include "ini/layer_types.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "ini/plugin_layers.h"

namespace pantoum::ini {
namespace {

using Shape = std::vector<int64_t>;
using Outputs = std::vector<Tensor>;

constexpr size_t kChannels = 1, kRows = 2, kColumns = 3;

// ---- Parameters.

// Inputs of one output, and outputs of one input.
struct Fans {
  int64_t in = 1, out = 1;
};

// NNTrainer's names of first values. The values themselves are this library's: they depend on seed and name alone.
const std::vector<std::string> kInitializers = {"zeros",         "ones",         "xavier_uniform",
                                                "xavier_normal", "he_uniform",   "he_normal",
                                                "lecun_uniform", "lecun_normal", "none"};

Initial initial_of(const std::string& name, Fans fans) {
  const auto in = static_cast<double>(fans.in), out = static_cast<double>(fans.out);
  const auto spread = [&](double variance) {
    return name.ends_with("_uniform") ? Initial::uniform(-std::sqrt(3 * variance), std::sqrt(3 * variance))
                                      : Initial::normal(0, std::sqrt(variance));
  };
  if (name == "ones") return Initial::ones();
  if (name.starts_with("xavier_")) return spread(2 / (in + out));
  if (name.starts_with("he_")) return spread(2 / in);
  if (name.starts_with("lecun_")) return spread(1 / in);
  return Initial::zeros();
}

Tensor parameter(LayerSite& site, const char* local, const Shape& shape, const Initial& initial) {
  site.has_weights = true;
  const std::string name = site.weights + "." + local;
  const auto found = site.shared.find(name);
  if (found == site.shared.end()) {
    site.stored.push_back({name, shape});
    return site.shared[name] = site.net.parameter(name, shape, initial, site.place());
  }
  if (found->second.shape() != shape)
    site.keys.refuse("",
                     fmt::format("its weights have the shape [{}], and those of '{}' that it shares have [{}]",
                                 fmt::join(shape, ","), site.weights, fmt::join(found->second.shape(), ",")),
                     "layers that share weights have inputs and units of the same extents");
  return found->second;
}

Tensor weight(LayerSite& site, const char* local, const Shape& shape, Fans fans) {
  const std::string initializer = site.keys.word("weight_initializer", kInitializers, "xavier_uniform");
  return parameter(site, local, shape, initial_of(initializer, fans));
}

Tensor bias(LayerSite& site, const char* local, int64_t count) {
  const std::string initializer = site.keys.word("bias_initializer", kInitializers, "zeros");
  return parameter(site, local, {count}, initial_of(initializer, {count, count}));
}

Tensor node(LayerSite& site, const char* op_type, const std::vector<Tensor>& operands, Attributes attributes = {}) {
  return site.net.node(op_type, operands, {.attributes = std::move(attributes)}, site.place())[0];
}

Tensor reshape(LayerSite& site, const Tensor& x, Shape shape) {
  return site.net.reshape(x, std::move(shape), site.place());
}

// ---- Layers with weights.

Outputs fully_connected(LayerSite& site) {
  const int64_t units = site.keys.whole("unit", 1, std::nullopt), in = site.x().shape()[kColumns];
  Tensor y = site.net.matmul(site.x(), weight(site, "weight", {in, units}, {in, units}), site.place());
  if (!site.keys.boolean("disable_bias", false)) y = site.net.add(y, bias(site, "bias", units), site.place());
  return {y};
}

struct Window {
  Shape kernel, strides, dilations;
  Shape pads;  // above, left, below, right
};

// One number stands for both dimensions.
Shape pair_of(LayerSite& site, const char* key, int64_t otherwise) {
  Shape values = site.keys.wholes(key, 1, 2);
  if (values.empty()) values = {otherwise};
  return {values.front(), values.back()};
}

// NNTrainer's `same`: as many windows as strides, the odd row of padding below.
std::pair<int64_t, int64_t> same_padding(int64_t extent, int64_t kernel, int64_t stride) {
  const int64_t windows = (extent + stride - 1) / stride;
  const int64_t padding = std::max<int64_t>((windows - 1) * stride + kernel - extent, 0);
  return {padding / 2, padding - padding / 2};
}

// `padding`: valid, same, one number for all sides, two (rows, columns) or four (above, below, left, right).
Shape pads_of(LayerSite& site, const Window& window) {
  const std::string given = lower_case(site.keys.text("padding", "valid"));
  if (given == "valid") return {0, 0, 0, 0};
  if (given == "same") {
    const Shape shape = site.x().shape();
    const auto reach = [&](size_t d) { return (window.kernel[d] - 1) * window.dilations[d] + 1; };
    const auto [above, below] = same_padding(shape[kRows], reach(0), window.strides[0]);
    const auto [left, right] = same_padding(shape[kColumns], reach(1), window.strides[1]);
    return {above, left, below, right};
  }
  const Shape values = site.keys.wholes("padding", 0, 4);
  if (values.size() == 1) return Shape(4, values[0]);
  if (values.size() == 2) return {values[0], values[1], values[0], values[1]};
  if (values.size() == 4) return {values[0], values[2], values[1], values[3]};
  site.keys.refuse("padding", "the padding has three numbers", "write valid, same, or one, two or four numbers");
  return {0, 0, 0, 0};
}

// Is there a place for the window? It is asked before weights of its size are made.
void check_reach(LayerSite& site, const char* kernel_key, const Window& window) {
  constexpr int64_t kMostPadding = 1024;  // of `same`, which else makes any window fit
  const Shape shape = site.x().shape();
  for (const size_t d : {0U, 1U}) {
    const int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1, extent = shape[kRows + d],
                  padding = std::min(window.pads[d] + window.pads[d + 2], kMostPadding);
    if (reach > extent + padding)
      site.keys.refuse(kernel_key,
                       fmt::format("a window of {} does not fit into {} {} and {} of padding", reach, extent,
                                   d == 0 ? "rows" : "columns", padding),
                       "take a smaller one, or padding = same");
  }
}

Window window_of(LayerSite& site, const char* kernel_key) {
  Window window{.kernel = site.keys.wholes(kernel_key, 1, 2)};
  if (window.kernel.empty()) site.keys.refuse("", fmt::format("the key '{}' is missing", kernel_key), "add it, as 3,3");
  window.kernel.resize(2, window.kernel.empty() ? 1 : window.kernel[0]);
  window.strides = pair_of(site, "stride", 1);
  window.dilations = pair_of(site, "dilation", 1);
  window.pads = pads_of(site, window);
  check_reach(site, kernel_key, window);
  return window;
}

Attributes attributes_of(const Window& window) {
  return {{"kernel_shape", window.kernel},
          {"strides", window.strides},
          {"dilations", window.dilations},
          {"pads", window.pads}};
}

Outputs conv2d(LayerSite& site) {
  const int64_t filters = site.keys.whole("filters", 1, std::nullopt), channels = site.x().shape()[kChannels];
  const Window window = window_of(site, "kernel_size");
  if (site.keys.has_problem()) return {};
  const int64_t area = window.kernel[0] * window.kernel[1];
  std::vector<Tensor> operands = {site.x(),
                                  weight(site, "weight", {filters, channels, window.kernel[0], window.kernel[1]},
                                         {channels * area, filters * area})};
  if (!site.keys.boolean("disable_bias", false)) operands.push_back(bias(site, "bias", filters));
  return {node(site, "Conv", operands, attributes_of(window))};
}

// Axis C; with one channel, W.
Outputs batch_normalization(LayerSite& site) {
  const Shape shape = site.x().shape();
  const bool over_columns = shape[kChannels] == 1;
  const int64_t count = over_columns ? shape[kColumns] : shape[kChannels];
  const double epsilon = site.keys.number("epsilon", 0, 1, 1e-3), momentum = site.keys.number("momentum", 0, 1, 0.99);
  const auto first = [&](const char* key, const char* otherwise) {
    return initial_of(site.keys.word(key, kInitializers, otherwise), {count, count});
  };
  for (const char* statistic : {"moving_mean_initializer", "moving_variance_initializer"}) {
    const std::string usual = statistic == std::string_view("moving_mean_initializer") ? "zeros" : "ones";
    if (site.keys.word(statistic, kInitializers, usual) != usual)
      site.keys.refuse(statistic, fmt::format("first statistics other than {} are not read", usual), "use " + usual);
  }
  const BatchNorm layer{.epsilon = epsilon,
                        .momentum = 1 - momentum,
                        .biased_statistics = true,
                        .initial_weight = first("gamma_initializer", "ones"),
                        .initial_bias = first("beta_initializer", "zeros"),
                        .name = site.name};
  site.has_weights = true;
  for (const char* local : {"running_mean", "running_var"})
    site.stored.push_back({site.name + "." + local, {count}, true});
  for (const char* local : {"weight", "bias"}) site.stored.push_back({site.name + "." + local, {count}});
  if (!over_columns) return {site.net.batch_norm(site.x(), layer, site.place())};
  Tensor turned = site.net.permute(site.x(), {0, 3, 2, 1}, site.place());
  turned = site.net.batch_norm(turned, layer, site.place());
  return {site.net.permute(turned, {0, 3, 2, 1}, site.place())};
}

// A column of indices, which stand as numbers in the data: [N,C,H,W] -> [N,1,CHW,out].
Outputs embedding(LayerSite& site) {
  const int64_t rows = site.keys.whole("in_dim", 1, std::nullopt),
                columns = site.keys.whole("out_dim", 1, std::nullopt);
  const Shape shape = site.x().shape();
  const int64_t indices = shape[kChannels] * shape[kRows] * shape[kColumns];
  const Tensor table = weight(site, "weight", {rows, columns}, {rows, columns});
  const Tensor which = site.net.cast(reshape(site, site.x(), {0, 1, indices}), DType::i64, site.place());
  return {site.net.gather(table, which, 0, site.place())};
}

// ---- Recurrent layers: [N,1,T,F] -> [N,1,T,units], or [N,1,1,units] of the last step.

struct RecurrentType {
  const char* op_type;
  int64_t gates;
  std::vector<int64_t> order;            // ONNX's gates, as positions among NNTrainer's
  std::vector<std::string> activations;  // what NNTrainer has unless a key says otherwise, in ONNX's order
};

// `names`: what the import has; the first is NNTrainer's where the key is absent.
std::string onnx_activation(LayerSite& site, const char* key, const std::vector<std::string>& names) {
  const std::string name = site.keys.word(key, names, names.front());
  return name == "tanh" ? "Tanh" : name == "sigmoid" ? "Sigmoid" : "Relu";
}

// [in, gates units] in NNTrainer's order -> [1, gates units, in] in ONNX's.
Tensor turned_weight(LayerSite& site, const RecurrentType& type, const Tensor& given, int64_t units) {
  Tensor rows = site.net.transpose(given, 0, 1, site.place());
  if (!std::ranges::is_sorted(type.order)) {
    const Outputs gates = site.net.split(rows, Shape(static_cast<size_t>(type.gates), units), 0, site.place());
    Outputs order;
    for (const int64_t gate : type.order) order.push_back(gates[static_cast<size_t>(gate)]);
    rows = site.net.concat(order, 0, site.place());
  }
  return site.net.unsqueeze(rows, {0}, site.place());
}

Tensor turned_bias(LayerSite& site, const RecurrentType& type, const Tensor& given, int64_t units) {
  if (std::ranges::is_sorted(type.order)) return given;
  const Outputs gates = site.net.split(given, Shape(static_cast<size_t>(type.gates), units), 0, site.place());
  Outputs order;
  for (const int64_t gate : type.order) order.push_back(gates[static_cast<size_t>(gate)]);
  return site.net.concat(order, 0, site.place());
}

// [1, 2 gates units]: of the inputs, then of the state.
Tensor recurrent_bias(LayerSite& site, const RecurrentType& type, int64_t units) {
  const int64_t count = type.gates * units;
  const bool is_one = site.keys.boolean("integrate_bias", false);
  const Tensor of_input = turned_bias(site, type, bias(site, is_one ? "bias" : "bias_ih", count), units);
  const Tensor of_state =
      is_one ? site.net.constant({count}, std::vector<float>(static_cast<size_t>(count), 0.0F), site.place())
             : turned_bias(site, type, bias(site, "bias_hh", count), units);
  return site.net.unsqueeze(site.net.concat({of_input, of_state}, 0, site.place()), {0}, site.place());
}

// Of the inputs, of the state, and the biases of both.
std::vector<Tensor> recurrent_weights(LayerSite& site, const RecurrentType& type, int64_t in, int64_t units) {
  const bool has_bias = !site.keys.boolean("disable_bias", false);
  if (site.keys.has_problem()) return {};
  const int64_t columns = type.gates * units;
  const Tensor w = turned_weight(site, type, weight(site, "weight_ih", {in, columns}, {in, columns}), units);
  const Tensor r = turned_weight(site, type, weight(site, "weight_hh", {units, columns}, {units, columns}), units);
  return {w, r, has_bias ? recurrent_bias(site, type, units) : Tensor()};
}

Outputs recurrent(LayerSite& site, const RecurrentType& type, Attributes attributes) {
  const int64_t units = site.keys.whole("unit", 1, std::nullopt);
  const Shape shape = site.x().shape();
  const bool whole_sequence = site.keys.boolean("return_sequences", false);
  if (shape[kChannels] != 1)
    site.keys.refuse(
        "", fmt::format("a recurrent layer reads [1:T:features], and its input has {} channels", shape[kChannels]),
        "put a flatten or another layer before it");
  if (site.keys.number("dropout_rate", 0, 1, 0) != 0)
    site.keys.refuse("dropout_rate", "dropout inside of a recurrent layer is not read",
                     "put a dropout layer behind it");
  if (site.keys.boolean("bidirectional", false))
    site.keys.refuse("bidirectional", "layers of both directions are not read from .ini files",
                     "export the network to ONNX");
  site.keys.ignore("max_timestep");
  if (site.keys.has_problem()) return {};
  const int64_t in = shape[kColumns];
  const std::vector<Tensor> weights = recurrent_weights(site, type, in, units);
  if (site.keys.has_problem()) return {};
  attributes.insert({{"hidden_size", units}, {"activations", type.activations}});
  Tensor sequence = reshape(site, site.x(), {0, shape[kRows], in});
  sequence = site.net.transpose(sequence, 0, 1, site.place());
  const Outputs made = site.net.node(type.op_type, {sequence, weights[0], weights[1], weights[2]},
                                     {.attributes = std::move(attributes), .outputs = 2},
                                     site.place());  // [T,1,N,units], [1,N,units]
  if (whole_sequence) return {site.net.permute(made[0], {2, 1, 0, 3}, site.place())};
  return {site.net.unsqueeze(site.net.permute(made[1], {1, 0, 2}, site.place()), {1}, site.place())};
}

// One step: x and the states [N,1,1,..] -> the states. A state that is not given is zero.
Outputs cell(LayerSite& site, const RecurrentType& type, Attributes attributes) {
  const int64_t units = site.keys.whole("unit", 1, std::nullopt);
  const int64_t in = site.x().shape()[kColumns];
  site.keys.ignore("max_timestep");
  if (site.keys.number("dropout_rate", 0, 1, 0) != 0)
    site.keys.refuse("dropout_rate", "dropout inside of a recurrent layer is not read",
                     "put a dropout layer behind it");
  for (size_t each = 0; each < site.inputs.size(); ++each) {
    const Shape shape = site.inputs[each].shape();
    if (shape[kChannels] != 1 || shape[kRows] != 1)
      site.keys.refuse("",
                       fmt::format("a cell reads one step, 1:1:features, and its input {} has the shape {}", each,
                                   fmt::join(Shape(shape.begin() + 1, shape.end()), ":")),
                       "put a flatten or another layer before it");
    else if (each > 0 && shape[kColumns] != units)
      site.keys.refuse("", fmt::format("the state at input {} has {} numbers, not {}", each, shape[kColumns], units),
                       "give a state of as many numbers as units");
  }
  if (site.keys.has_problem()) return {};
  const std::vector<Tensor> weights = recurrent_weights(site, type, in, units);
  if (site.keys.has_problem()) return {};
  attributes.insert({{"hidden_size", units}, {"activations", type.activations}});
  const auto step = [&](const Tensor& x, int64_t columns) {
    return site.net.transpose(reshape(site, x, {0, 1, columns}), 0, 1, site.place());
  };
  std::vector<Tensor> operands = {step(site.x(), in), weights[0], weights[1], weights[2], Tensor()};
  for (size_t each = 1; each < site.inputs.size(); ++each) operands.push_back(step(site.inputs[each], units));
  const size_t states = type.gates == 4 ? 2 : 1;
  const Outputs made =
      site.net.node(type.op_type, operands,
                    {.attributes = std::move(attributes), .outputs = static_cast<int>(states + 1)}, site.place());
  Outputs after;
  for (size_t each = 1; each <= states; ++each)
    after.push_back(reshape(site, site.net.transpose(made[each], 0, 1, site.place()), {0, 1, 1, units}));
  return after;
}

using OfSequence = Outputs (*)(LayerSite&, const RecurrentType&, Attributes);

template <OfSequence kBuild>
Outputs lstm(LayerSite& site) {
  const std::string state = onnx_activation(site, "hidden_state_activation", {"tanh"}),
                    gate = onnx_activation(site, "recurrent_activation", {"sigmoid"});
  return kBuild(site, {"LSTM", 4, {0, 3, 1, 2}, {gate, state, state}}, {});
}

template <OfSequence kBuild>
Outputs gru(LayerSite& site) {
  const std::string state = onnx_activation(site, "hidden_state_activation", {"tanh"}),
                    gate = onnx_activation(site, "recurrent_activation", {"sigmoid"});
  const int64_t reset_after = site.keys.boolean("reset_after", true) ? 1 : 0;
  return kBuild(site, {"GRU", 3, {0, 1, 2}, {gate, state}}, {{"linear_before_reset", reset_after}});
}

template <OfSequence kBuild>
Outputs rnn(LayerSite& site) {
  const std::string state = onnx_activation(site, "hidden_state_activation", {"tanh", "relu"});
  return kBuild(site, {"RNN", 1, {0}, {state}}, {});
}

// ---- Layers without weights.

Outputs input(LayerSite& site) {
  if (site.keys.boolean("standardization", false))
    site.keys.refuse("standardization", "standardized inputs are not read from .ini files",
                     "prepare the data with --normalize");
  if (!site.keys.boolean("normalization", false)) return {site.x()};
  const std::vector<int64_t> all = {0, 1, 2, 3};
  const Tensor least = site.net.min(site.x(), all, true, site.place()),
               most = site.net.max(site.x(), all, true, site.place());
  return {(site.x() - least) / (most - least)};
}

Outputs pooling2d(LayerSite& site) {
  const std::string pooling =
      site.keys.word("pooling", {"max", "average", "global_max", "global_average"}, std::nullopt);
  if (pooling.starts_with("global_") || site.keys.entry("pool_size") == nullptr) {
    for (const char* key : {"pool_size", "stride", "padding"}) site.keys.ignore(key);
    return {node(site, pooling.ends_with("max") ? "GlobalMaxPool" : "GlobalAveragePool", {site.x()})};
  }
  const Window window = window_of(site, "pool_size");
  if (site.keys.has_problem()) return {};
  Attributes attributes = attributes_of(window);
  if (pooling == "max") return {node(site, "MaxPool", {site.x()}, std::move(attributes))};
  attributes["count_include_pad"] = int64_t{0};
  return {node(site, "AveragePool", {site.x()}, std::move(attributes))};
}

// Files that NNTrainer wrote have `target_shape`: what the layer gives anyway.
Outputs flatten_layer(LayerSite& site) {
  const Tensor flat = flatten(site, site.x());
  const Entry* const given = site.keys.entry("target_shape");
  if (given == nullptr || !flat.valid()) return {flat};
  const int64_t count = flat.shape()[kColumns];
  if (!fmt::format(":1:1:1:{}", count).ends_with(":" + given->value))
    site.keys.refuse("target_shape", fmt::format("'{}' is not the flattened shape, 1:1:{}", given->value, count),
                     "delete the line");
  return {flat};
}

// The key `activation` of any layer says which.
Outputs activation(LayerSite& site) {
  if (site.keys.entry("activation") == nullptr)
    site.keys.refuse("", "the key 'activation' is missing", "add activation = relu, or another");
  return {site.x()};
}

Outputs addition(LayerSite& site) {
  Tensor sum = site.x();
  for (size_t each = 1; each < site.inputs.size(); ++each) sum = site.net.add(sum, site.inputs[each], site.place());
  return {sum};
}

// 1: C, 2: H, 3: W.
int64_t axis_of(LayerSite& site, int64_t otherwise) {
  const int64_t axis = site.keys.whole("axis", 1, otherwise);
  if (axis > static_cast<int64_t>(kColumns))
    site.keys.refuse("axis", "the axis is none of 1 (C), 2 (H) and 3 (W)", "give one");
  return std::min<int64_t>(axis, kColumns);
}

Outputs concat(LayerSite& site) {
  const int64_t usual = site.x().shape()[kChannels] > 1 ? kColumns : kChannels;
  return {site.net.concat(site.inputs, axis_of(site, usual), site.place())};
}

Outputs split(LayerSite& site) {
  const int64_t axis = axis_of(site, kChannels), extent = site.x().shape()[static_cast<size_t>(axis)];
  const int64_t parts = site.keys.whole("split_number", 1, extent);
  if (extent % parts != 0)
    site.keys.refuse("split_number", fmt::format("{} parts do not divide the extent {}", parts, extent),
                     "give a divisor");
  if (site.keys.has_problem()) return {};
  return site.net.chunk(site.x(), parts, axis, site.place());
}

Outputs dropout(LayerSite& site) {
  const double rate = site.keys.number("dropout_rate", 0, 1, 0);
  return {rate == 0 ? site.x() : site.net.dropout(site.x(), rate, site.place())};
}

// The step's own result, or in training with a probability the target, for each sample by itself. What is drawn: a dropout of ones, which drops with
// that probability in training and never in inference.
Outputs teacher(LayerSite& site) {
  const double share = site.keys.number("teacher_forcing", 0, 1, 1);
  const Tensor &own = site.inputs[0], &target = site.inputs[1];
  const Shape has = own.shape(), wants = target.shape();
  if (has != wants)
    site.keys.refuse(
        "",
        fmt::format("the step's result has the shape {}, and its target {}", fmt::join(has.begin() + 1, has.end(), ":"),
                    fmt::join(wants.begin() + 1, wants.end(), ":")),
        "give teacher_layers the shape of recurrent_output");
  if (site.keys.has_problem()) return {};
  const Place place = site.place();
  Tensor one = own;  // one number of each sample
  for (const size_t axis : {kChannels, kRows, kColumns})
    one = site.net.slice(one, static_cast<int64_t>(axis), 0, 1, 1, place);
  const Tensor ones = site.net.constant({1}, {1.0F}, place);
  one = site.net.add(site.net.cast(site.net.less(one, one, place), DType::f32, place), ones, place);
  const bool always = share == 1;
  const Tensor drawn = share == 0 ? one : site.net.dropout(one, always ? 0.5 : share, place);
  const Tensor is_own =
      always ? site.net.equal(drawn, ones, place) : site.net.less(site.net.constant({1}, {0.5F}, place), drawn, place);
  return {site.net.where(is_own, own, target, place)};
}

Outputs identity(LayerSite& site) {
  return site.inputs;
}

Outputs mse(LayerSite& site) {
  site.loss = LossLayer::kMse;
  return {site.x()};
}

// The activation of the loss is the layer's: what comes before it goes to the loss (Builder::read_common).
Outputs cross_softmax(LayerSite& site) {
  site.loss = LossLayer::kCrossSoftmax;
  return {site.x()};
}

Outputs cross_sigmoid(LayerSite& site) {
  site.loss = LossLayer::kCrossSigmoid;
  return {site.x()};
}

struct Type {
  Outputs (*build)(LayerSite&);
  size_t most_inputs = 1;
};

const std::map<std::string, Type>& types() {
  static const std::map<std::string, Type> all = {{"input", {input}},
                                                  {"fully_connected", {fully_connected}},
                                                  {"conv2d", {conv2d}},
                                                  {"pooling2d", {pooling2d}},
                                                  {"flatten", {flatten_layer}},
                                                  {"batch_normalization", {batch_normalization}},
                                                  {"activation", {activation}},
                                                  {"addition", {addition, SIZE_MAX}},
                                                  {"concat", {concat, SIZE_MAX}},
                                                  {"multiout", {identity}},
                                                  {"output", {identity}},
                                                  {"split", {split}},
                                                  {"embedding", {embedding}},
                                                  {"dropout", {dropout}},
                                                  {"rnn", {rnn<recurrent>}},
                                                  {"lstm", {lstm<recurrent>}},
                                                  {"gru", {gru<recurrent>}},
                                                  {"rnncell", {rnn<cell>, 2}},
                                                  {"lstmcell", {lstm<cell>, 3}},
                                                  {"grucell", {gru<cell>, 2}},
                                                  {"identity", {identity, SIZE_MAX}},
                                                  {"mse", {mse}},
                                                  {"cross_softmax", {cross_softmax}},
                                                  {"cross_sigmoid", {cross_sigmoid}}};
  return all;
}

}  // namespace

std::vector<std::string> layer_types() {
  std::vector<std::string> names = plugin_layer_types();
  for (const auto& [name, type] : types()) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

std::vector<Tensor> build_layer(const std::string& name, LayerSite& site) {
  if (name == "teacher") return teacher(site);
  if (const auto layer = plugin_layer(name)) return build_plugin_layer(*layer, site);
  const Type& type = types().at(name);
  if (site.inputs.size() > type.most_inputs)
    site.keys.refuse(
        "input_layers",
        fmt::format("a layer of type '{}' reads {}, not {}", name,
                    type.most_inputs == 1 ? "one layer" : fmt::format("at most {} layers", type.most_inputs),
                    site.inputs.size()),
        "name fewer");
  if (site.keys.has_problem()) return {};
  return type.build(site);
}

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names = {"relu",     "sigmoid", "tanh",      "softmax", "leaky_relu",
                                                 "swish",    "gelu",    "tanh_gelu", "elu",     "selu",
                                                 "softplus", "mish",    "none"};
  return names;
}

Tensor activate(LayerSite& site, const std::string& activation, const Tensor& x) {
  ModelBuilder& net = site.net;
  if (activation == "relu") return net.relu(x, site.place());
  if (activation == "sigmoid") return net.sigmoid(x, site.place());
  if (activation == "tanh") return net.tanh(x, site.place());
  if (activation == "softmax") return net.softmax(x, -1, site.place());
  if (activation == "leaky_relu") return net.leaky_relu(x, 0.01, site.place());
  if (activation == "swish") return net.silu(x, site.place());
  if (activation == "gelu") return net.gelu(x, false, site.place());
  if (activation == "tanh_gelu") return net.gelu(x, true, site.place());
  if (activation == "elu") return net.elu(x, 1, site.place());
  if (activation == "selu") return net.selu(x, site.place());
  if (activation == "softplus") return net.softplus(x, site.place());
  if (activation == "mish") return net.mish(x, site.place());
  return x;
}

Tensor flatten(LayerSite& site, const Tensor& x) {
  return reshape(site, x, {0, 1, 1, -1});
}

}  // namespace pantoum::ini
