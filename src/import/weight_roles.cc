#include "import/weight_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstring>
#include <deque>
#include <span>
#include <string_view>
#include <unordered_set>

#include "base/globs.h"
#include "base/nearest_name.h"
#include "import/constant_tables.h"
#include "import/fourier_basis.h"
#include "import/onnx_messages.h"
#include "import/parameter_marks.h"
#include "import/written_norms.h"

namespace pantoum::import {

namespace {

// Ways in which a tensor, or what nodes make of it alone, is read; several may be true.
enum Use : uint16_t {
  kUnused = 0,
  kAsWeight = 1,          // an operand of a product, a norm's scale, an embedding, a bias
  kAsStatistic = 2,       // the running mean or variance of a batch norm
  kAsSetting = 4,         // a limit, a padding, an exponent
  kAsChoice = 8,          // of Where
  kInSums = 16,           // added to, or subtracted from, what depends on the model's inputs
  kInProducts = 32,       // multiplied with it
  kAsOther = 64,          // anything else
  kAsFactor = 128,        // of a product or a convolution
  kCompared = 256,        // with what depends on the model's inputs
  kAsLimit = 512,         // of Max or Min, beside what depends on the model's inputs
  kOfWrittenNorm = 1024,  // the mean or variance of a batch norm that is written out
  kWithBias = 2048,       // a factor whose product gets a bias
};
using UseSet = uint16_t;
using Uses = std::unordered_map<std::string, UseSet>;  // by name of a value; absent: kUnused

// Inputs of an operator, from the first to the last.
struct Inputs {
  std::string_view op_type;
  int first = 0, last = INT_MAX;
};

constexpr Inputs kWeighted[] = {{"Conv"},
                                {"ConvTranspose"},
                                {"PRelu", 1},
                                {"Einsum"},
                                {"InstanceNormalization"},
                                {"GroupNormalization"},
                                {"Gemm"},
                                {"MatMul"},
                                {"BatchNormalization", 0, 2},
                                {"LayerNormalization"},
                                {"LSTM", 0, 3},
                                {"GRU", 0, 3},
                                {"RNN", 0, 3}};
constexpr Inputs kFactors[] = {{"Conv", 1, 1}, {"ConvTranspose", 1, 1}, {"Einsum"}, {"Gemm", 0, 1}, {"MatMul"}};
constexpr Inputs kComparisons[] = {{"Greater"}, {"GreaterOrEqual"}, {"Less"}, {"LessOrEqual"}, {"Equal"}};
constexpr Inputs kLimits[] = {{"Max"}, {"Min"}};
constexpr Inputs kSettings[] = {{"Pow", 1},
                                {"Dropout", 1},
                                {"Clip", 1},
                                {"Range"},
                                {"Resize", 1},
                                {"Pad", 1},
                                {"OneHot", 1},
                                {"CastLike", 1},
                                {"Expand", 1},
                                {"Where", 0, 0},
                                {"Reshape", 1},
                                {"STFT", 1},
                                {"MelWeightMatrix"},
                                {"Compress", 1},
                                {"NegativeLogLikelihoodLoss", 1},
                                {"SoftmaxCrossEntropyLoss", 1}};
// Their result holds the elements of their first input and no others.
constexpr std::string_view kMoving[] = {"Identity", "Reshape",  "Unsqueeze", "Squeeze",  "Flatten",
                                        "Cast",     "CastLike", "Slice",     "Expand",   "Transpose",
                                        "Split",    "Tile",     "Dropout",   "Compress", "ReverseSequence"};

bool among(std::span<const Inputs> list, const std::string& op_type, int input) {
  return std::ranges::any_of(
      list, [&](const Inputs& each) { return each.op_type == op_type && input >= each.first && input <= each.last; });
}

bool moves(const std::string& op_type, int input) {
  return input == 0 && std::ranges::find(kMoving, op_type) != std::end(kMoving);
}

// PyTorch's older exporter names parameters as the module does and writes its functions as it always has. Of other
// exporters nothing is known but what the nodes say.
bool is_from_pytorch(const Model& model) {
  return model.proto->producer_name() == "pytorch";
}

class UseFinder {
 public:
  explicit UseFinder(const Model& model)
      : model_(model),
        graph_(model.proto->graph()),
        constants_(find_tables(graph_, 1)),
        from_pytorch_(is_from_pytorch(model)) {
    for (const int position : model.order) flatten(graph_.node(position));
    find_activations();
    find_biased_products();
    for (size_t at = nodes_.size(); at-- > 0;) visit(*nodes_[at]);
    if (from_pytorch_) return;
    const WrittenNorms norms = find_written_norms(nodes_, activations_, [this](const std::string& name) {
      const std::optional<Shape> shape = shape_of(name);
      return shape ? count_elements(*shape).value_or(0) : 0;
    });
    for (const std::string& name : norms.weights) uses_[name] |= kAsWeight;
    for (const std::string& name : norms.statistics) uses_[name] |= kOfWrittenNorm;
  }
  Uses take() { return std::move(uses_); }

 private:
  const Model& model_;
  const onnx::GraphProto& graph_;
  const std::map<std::string, TensorType> constants_;  // in Constant nodes
  const bool from_pytorch_;
  std::unordered_set<std::string> activations_;  // what depends on the model's inputs
  std::unordered_map<std::string, const onnx::NodeProto*> producers_;
  std::unordered_set<const onnx::NodeProto*> biased_;  // products and convolutions that get a bias
  Uses uses_;

  std::vector<const onnx::NodeProto*> nodes_;  // in an order of computation, those of subgraphs among them
  std::deque<onnx::NodeProto> moves_;          // in and out of subgraphs
  std::vector<std::string> states_;            // what a loop hands from one iteration to the next

  void move(const std::string& from, const std::string& to) {
    onnx::NodeProto& node = moves_.emplace_back();
    node.set_op_type("Identity");
    node.add_input(from);
    node.add_output(to);
    nodes_.push_back(&node);
  }

  // A subgraph is its nodes; what goes in and comes out only moves.
  void flatten(const onnx::NodeProto& node) {
    for (const onnx::GraphProto* body : subgraphs_of(node)) {
      const int fed = std::min(node.input_size(), body->input_size());
      for (int input = 0; input < fed; ++input) {
        if (!node.input(input).empty()) move(node.input(input), body->input(input).name());
        states_.push_back(body->input(input).name());
      }
      for (const auto& inner : body->node()) flatten(inner);
      const int first = node.op_type() == "Loop" ? 1 : 0;
      for (int output = first; output < std::min(body->output_size(), node.output_size() + first); ++output)
        if (!node.output(output - first).empty()) move(body->output(output).name(), node.output(output - first));
    }
    nodes_.push_back(&node);
  }

  bool is_activation(const std::string& name) const { return activations_.contains(name); }

  void find_activations() {
    for (const auto& input : graph_.input())
      if (!model_.initializers.contains(input.name())) activations_.insert(input.name());
    // From the second iteration on, states depend on what the loop computed.
    activations_.insert(states_.begin(), states_.end());
    for (const onnx::NodeProto* each : nodes_) {
      const onnx::NodeProto& node = *each;
      const bool depends = reads_activation(node);
      for (const std::string& output : node.output()) {
        producers_.emplace(output, &node);
        if (depends && !output.empty()) activations_.insert(output);
      }
    }
  }

  void find_biased_products() {
    for (const onnx::NodeProto* node : nodes_) {
      const std::string& op_type = node->op_type();
      const bool takes_bias = op_type == "Conv" || op_type == "ConvTranspose" || op_type == "Gemm";
      if (takes_bias && node->input_size() > 2 && !node->input(2).empty()) biased_.insert(node);
      for (int input = 0; op_type == "Add" && input < node->input_size(); ++input) {
        bool moved = false;
        if (is_bias(*node, input)) biased_.insert(product_behind(node->input(1 - input), moved));
      }
    }
  }

  bool reads_activation(const onnx::NodeProto& node) const {
    return std::any_of(node.input().begin(), node.input().end(),
                       [&](const std::string& input) { return is_activation(input); });
  }

  void visit(const onnx::NodeProto& node) {
    UseSet of_outputs = kUnused;
    for (const std::string& output : node.output())
      if (const auto found = uses_.find(output); found != uses_.end()) of_outputs |= found->second;
    const bool alone = !reads_activation(node);
    for (int input = 0; input < node.input_size(); ++input)
      if (!node.input(input).empty()) uses_[node.input(input)] |= use(node, input, alone, of_outputs);
  }

  // `alone`: the node reads nothing that depends on the model's inputs.
  UseSet use(const onnx::NodeProto& node, int input, bool alone, UseSet of_outputs) const {
    const std::string& op_type = node.op_type();
    if (op_type == "BatchNormalization" && input >= 3) return kAsStatistic;
    if (among(kSettings, op_type, input)) return kAsSetting;
    if (op_type == "Where" && (from_pytorch_ || !alone)) return kAsChoice;
    if (!alone && among(kComparisons, op_type, input)) return kAsOther | kCompared;
    if (!alone && among(kLimits, op_type, input)) return kAsOther | kAsLimit;
    if (alone && !from_pytorch_ && is_number_beside(node, input)) return kAsOther;
    // An output of the model is read, too.
    if (alone || moves(op_type, input)) return of_outputs == kUnused ? UseSet{kAsOther} : of_outputs;
    if (op_type == "Gather" && input == 0) return gathered(node, of_outputs);
    if (among(kFactors, op_type, input)) {
      const bool with_bias = biased_.contains(&node);
      return with_bias ? kAsWeight | kAsFactor | kWithBias : kAsWeight | kAsFactor;
    }
    if (among(kWeighted, op_type, input)) return kAsWeight;
    if (op_type == "Add" || op_type == "Sub" || op_type == "Sum")
      return is_bias(node, input) || is_group_norm_shift(node, input) ? kAsWeight : kInSums;
    if (op_type != "Mul" && op_type != "Div") return kAsOther;
    if (is_scaled(node, input)) return of_outputs == kUnused ? UseSet{kAsOther} : of_outputs;
    if (is_group_norm_scale(node, input) || joins_embeddings(node)) return kAsWeight;
    return kInProducts;
  }

  // One number that changes a weight (an epsilon, a factor) is no weight itself.
  bool is_number_beside(const onnx::NodeProto& node, int input) const {
    const std::optional<Shape> shape = shape_of(node.input(input));
    return shape && count_elements(*shape) == 1 && !moves(node.op_type(), input) &&
           !among(kWeighted, node.op_type(), input);
  }

  // An activation times or over what is no activation: sqrt(width) * embedding(x) is read as embedding(x) is.
  bool is_scaled(const onnx::NodeProto& node, int input) const {
    return node.input_size() == 2 && is_activation(node.input(input)) && !is_activation(node.input(1 - input)) &&
           (node.op_type() == "Mul" || input == 0);
  }

  // Rows at constant positions are a part of the table; at others it is an embedding, unless it only multiplies
  // activations: a table of rotations or of noise levels does that.
  UseSet gathered(const onnx::NodeProto& node, UseSet of_outputs) const {
    const bool fixed = node.input_size() < 2 || !is_activation(node.input(1));
    return fixed || of_outputs == kInProducts ? of_outputs : UseSet{kAsWeight};
  }

  // Rows of two tables, multiplied: of users and of items.
  bool joins_embeddings(const onnx::NodeProto& node) const {
    return node.op_type() == "Mul" && node.input_size() == 2 && is_row(node.input(0)) && is_row(node.input(1));
  }
  bool is_row(std::string name) const {
    for (auto maker = producers_.find(name); maker != producers_.end(); maker = producers_.find(name)) {
      const onnx::NodeProto& node = *maker->second;
      if (node.input_size() == 0) return false;
      if (node.op_type() == "Gather")
        return node.input_size() > 1 && is_activation(node.input(1)) && !is_activation(node.input(0));
      if (!moves(node.op_type(), 0) || node.input(0) == name) return false;
      name = node.input(0);
    }
    return false;
  }

  const onnx::NodeProto* made_by(const std::string& name, std::string_view op_type) const {
    const auto producer = producers_.find(name);
    const bool fits = producer != producers_.end() && producer->second->op_type() == op_type;
    return fits && producer->second->input_size() > 0 ? producer->second : nullptr;
  }

  // GroupNorm as PyTorch's older exporter writes it: Reshape, InstanceNormalization, Reshape, Mul by scales, Add of shifts.
  bool is_group_norm_scale(const onnx::NodeProto& node, int input) const {
    if (node.op_type() != "Mul" || node.input_size() != 2) return false;
    const onnx::NodeProto* back = made_by(node.input(1 - input), "Reshape");
    const onnx::NodeProto* norm = back == nullptr ? nullptr : made_by(back->input(0), "InstanceNormalization");
    return norm != nullptr && made_by(norm->input(0), "Reshape") != nullptr;
  }
  bool is_group_norm_shift(const onnx::NodeProto& node, int input) const {
    if (node.op_type() != "Add" || node.input_size() != 2) return false;
    const onnx::NodeProto* scaled = made_by(node.input(1 - input), "Mul");
    return scaled != nullptr && scaled->input_size() == 2 &&
           (is_group_norm_scale(*scaled, 0) || is_group_norm_scale(*scaled, 1));
  }

  // A vector that is added to the result of a product along its last axis, of a convolution along its channels.
  bool is_bias(const onnx::NodeProto& node, int input) const {
    if (node.op_type() != "Add" || node.input_size() != 2) return false;
    const std::string name = sliced_from(node.input(input));
    const std::string stored = from_pytorch_ ? name : reshaped_from(name);
    const std::optional<Shape> vector = shape_of(stored);
    bool moved = stored != name;  // its place is not told then
    const onnx::NodeProto* product = product_behind(node.input(1 - input), moved);
    if (!vector || product == nullptr || product->input_size() < 2 || is_activation(product->input(1))) return false;
    const std::optional<Shape> weight = shape_of(product->input(1));
    const std::string& op_type = product->op_type();
    const bool conv = op_type == "Conv" || op_type == "ConvTranspose";
    if (!conv && op_type != "MatMul" && op_type != "Gemm") return false;
    if (conv && !weight) return false;
    const int64_t elements = count_elements(*vector).value_or(0);
    const bool whole = name == node.input(input) && !from_pytorch_;
    if (whole && !(weight ? is_bias_of(op_type, *weight, elements) : elements > 1)) return false;
    if (stored != name && weight) return is_vector(*vector, 0);
    return is_vector(*vector, conv && !moved ? weight->size() - std::min<size_t>(2, weight->size()) : 0);
  }

  // A vector may get its dimensions of one from a node.
  std::string reshaped_from(std::string name) const {
    for (;;) {
      const onnx::NodeProto* node = made_by(name, "Reshape");
      if (node == nullptr) node = made_by(name, "Unsqueeze");
      if (node == nullptr) return name;
      name = node->input(0);
    }
  }

  // Other exporters put a Transpose to channels at the end, or a Reshape, between a product and the sum.
  const onnx::NodeProto* product_behind(std::string name, bool& moved) const {
    for (;;) {
      const auto producer = producers_.find(name);
      if (producer == producers_.end()) return nullptr;
      const onnx::NodeProto& node = *producer->second;
      const bool turns = node.op_type() == "Transpose", moves = turns || node.op_type() == "Reshape";
      if (from_pytorch_ || !moves || node.input_size() == 0) return &node;
      if (turns && !moves_channels_last(node)) return nullptr;
      moved = true;
      name = node.input(0);
    }
  }
  static bool moves_channels_last(const onnx::NodeProto& transpose) {
    for (const auto& attribute : transpose.attribute())
      if (attribute.name() == "perm") return attribute.ints_size() > 2 && *attribute.ints().rbegin() == 1;
    return false;
  }

  // Has the product as many results a row, or channels, as the vector has elements?
  static bool is_bias_of(const std::string& op_type, const Shape& weight, int64_t elements) {
    if (weight.size() < 2) return false;
    if (op_type == "Conv") return weight[0] == elements;
    if (op_type == "ConvTranspose") return true;  // channels by groups
    return weight.back() == elements || (op_type == "Gemm" && weight.front() == elements);
  }

  // Attention's bias is one vector of which parts are added: the tensor that the parts are of. Bounded: nodes are in order.
  std::string sliced_from(std::string name) const {
    for (;;) {
      const onnx::NodeProto* slice = made_by(name, "Slice");
      const onnx::NodeProto* part = slice != nullptr ? slice : made_by(name, "Split");
      if (part == nullptr) return name;
      name = part->input(0);
    }
  }

  // All dimensions are 1 but the one that `after` dimensions follow.
  static bool is_vector(const Shape& shape, size_t after) {
    if (shape.size() <= after) return false;
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] != 1 && d + after + 1 != shape.size()) return false;
    return true;
  }

  std::optional<Shape> shape_of(const std::string& name) const {
    const auto found = model_.initializers.find(name);
    if (found != model_.initializers.end()) return found->second.tensor.type.shape;
    const auto constant = constants_.find(name);
    return constant == constants_.end() ? std::nullopt : std::optional(constant->second.shape);
  }
};

// Of every value that does not depend on the model's inputs. Linear in the number of nodes.
Uses find_uses(const Model& model) {
  return UseFinder(model).take();
}

using Globs = std::vector<std::string>;

struct Role {
  Trains trains;
  std::string why;
  bool doubtful = false;  // it does not train, and the file does not say that it must not
};

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// A glob that matches this name alone, in quotes for a shell.
std::string exact_glob(const std::string& name) {
  std::string glob = "'";
  for (const char letter : name) {
    if (std::strchr("*?[]\\", letter) != nullptr && letter != '\0') glob += '\\';
    glob += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return glob + "'";
}

template <class Element>
bool elements_finite(const Tensor& tensor) {
  for (size_t at = 0; at + sizeof(Element) <= tensor.data->size(); at += sizeof(Element)) {
    Element element = 0;
    std::memcpy(&element, tensor.data->data() + at, sizeof element);
    if (!std::isfinite(element)) return false;
  }
  return true;
}

bool all_finite(const Tensor& tensor) {
  return tensor.type.dtype == DType::kF64 ? elements_finite<double>(tensor) : elements_finite<float>(tensor);
}

bool is_statistic(const std::string& name, UseSet uses, bool names_count) {
  // An exporter may have merged a statistic with a weight of the same contents: the weight trains.
  return (uses & ~kAsSetting) == kAsStatistic ||
         (names_count && (name.ends_with("running_mean") || name.ends_with("running_var")));
}

// Why nothing can train this tensor, whatever an option says; "" when it can be trained.
//   names_count  a statistic may be known by its name
std::string hindrance(const std::string& name, const Initializer& initializer, UseSet uses, bool names_count) {
  if (!initializer.problem.empty()) return "its type is not supported";
  const TensorType& type = initializer.tensor.type;
  if (!ir::is_float(type.dtype)) return fmt::format("its elements are {}", ir::name_of(type.dtype));
  if (type.elements() == 0) return "it has no elements";
  if (is_statistic(name, uses, names_count)) return "a running statistic";
  if (uses == kUnused) return "no node reads it";
  if ((uses & ~kAsSetting) == 0) return "a setting of an operator";
  return all_finite(initializer.tensor) ? "" : "it holds an infinity or NaN";
}

std::string arithmetic_use(UseSet uses) {
  if ((uses & kInProducts) == 0) return "it is only added to an activation";
  return (uses & kInSums) == 0 ? "it only multiplies an activation" : "it only multiplies and is added to activations";
}

// Is the last part of the name one that torch.nn gives parameters?
bool is_parameters_name(const std::string& name) {
  const size_t dot = name.rfind('.');
  const std::string_view last = std::string_view(name).substr(dot == std::string::npos ? 0 : dot + 1);
  return std::ranges::any_of(std::to_array<std::string_view>({"weight", "bias", "original"}),
                             [&](std::string_view part) { return last.find(part) != std::string_view::npos; });
}

// Of a file that PyTorch's older exporter wrote.
Role by_use(const std::string& name, const Initializer& initializer, UseSet uses) {
  const bool invented = is_invented_name(name);
  if ((uses & kAsWeight) != 0) {
    const bool scalar = initializer.tensor.type.shape.empty();
    const bool compared = (uses & kCompared) != 0 && !invented;
    if (compared && !scalar) return {Trains::kAmbiguous, "used as a weight, and compared with an activation"};
    if ((uses & kAsFactor) != 0 && !invented && !is_parameters_name(name))
      return {Trains::kAmbiguous, "a factor whose name is no parameter's of torch.nn"};
    // With a bias it is a layer's; without one it may be a layer's weight or a buffer that the exporter transposed.
    if ((uses & kAsFactor) != 0 && (uses & kWithBias) == 0 && invented && !scalar)
      return {Trains::kAmbiguous, "a factor under an exporter's name, without a bias"};
    if ((uses & kAsFactor) != 0 && is_fourier_basis(initializer.tensor))
      return {Trains::kAmbiguous, "used as a weight, and a basis of Fourier transforms"};
    if (!invented || !scalar) return {Trains::kYes, "used as a weight"};
  }
  if (invented && initializer.tensor.type.elements() == 1) return {Trains::kNo, "a number under an exporter's name"};
  constexpr UseSet kArithmetic = kInSums | kInProducts;
  // A mask embedding takes the place of activations.
  if ((uses & ~kAsSetting) == kAsChoice && !invented && initializer.tensor.type.elements() > 1)
    return {Trains::kAmbiguous, "an operator chooses between it and others"};
  if ((uses & ~kAsSetting & ~kAsChoice) == 0) return {Trains::kNo, "operators choose it or are set by it"};
  if ((uses & kAsOther) == 0 && (uses & kArithmetic) != 0) return {Trains::kAmbiguous, arithmetic_use(uses)};
  if (invented) return {Trains::kNo, "its name is an exporter's, its use no weight's"};
  if ((uses & kCompared) != 0) return {Trains::kAmbiguous, "it is compared with an activation"};
  return {Trains::kYes, "its name is a parameter's"};
}

// Of convolutions: are all filters the same, as those of a blur?
bool has_equal_filters(const Tensor& tensor) {
  const Shape& shape = tensor.type.shape;
  if (shape.size() < 3 || tensor.type.dtype != DType::kF32) return false;
  const auto filters = static_cast<size_t>(shape[0] * shape[1]);
  const size_t bytes = tensor.data->size() / std::max<size_t>(filters, 1);
  if (filters < 2 || bytes <= sizeof(float)) return false;
  for (size_t filter = 1; filter < filters; ++filter)
    if (std::memcmp(tensor.data->data(), tensor.data->data() + filter * bytes, bytes) != 0) return false;
  return true;
}

// Of a file that PyTorch did not write: what the nodes do with the tensor, and never how its name is spelled.
Role by_use_alone(const Initializer& initializer, UseSet uses) {
  if ((uses & kOfWrittenNorm) != 0) return {Trains::kNo, "a statistic of a batch norm that is written out", true};
  if ((uses & kCompared) != 0) return {Trains::kNo, "it is compared with an activation", true};
  if ((uses & kAsLimit) != 0) return {Trains::kNo, "a limit of an activation (Max, Min)", true};
  if ((uses & kAsChoice) != 0) return {Trains::kNo, "an operator chooses between it and others", true};
  const bool scalar = initializer.tensor.type.shape.empty();
  if ((uses & kAsWeight) != 0 && !scalar) {
    if ((uses & kAsFactor) != 0 && is_fourier_basis(initializer.tensor))
      return {Trains::kNo, "a basis of Fourier transforms", true};
    if ((uses & kAsFactor) != 0 && has_equal_filters(initializer.tensor))
      return {Trains::kAmbiguous, "used as a weight, and all of its filters are equal"};
    return {Trains::kYes, "used as a weight"};
  }
  if (initializer.tensor.type.elements() == 1) return {Trains::kNo, "a number beside an activation", true};
  if ((uses & kAsOther) == 0) return {Trains::kAmbiguous, arithmetic_use(uses)};
  return {Trains::kAmbiguous, "its use is neither a weight's nor a setting's"};
}

// A tensor without a mark in a file that has marks: of the exporter's making.
Role unmarked(const std::string& name, const Initializer& initializer, UseSet uses, const ParameterMarks& marks) {
  if (marks.parameters.contains(name)) return {Trains::kYes, "named as a PARAMETER of the program"};
  if (marks.buffers.contains(name)) return {Trains::kNo, "named as a BUFFER of the program"};
  const auto sources = marks.sources.find(name);
  if (sources == marks.sources.end()) {
    const bool weight = (uses & kAsWeight) != 0 && !initializer.tensor.type.shape.empty();
    if (!weight || !is_invented_name(name)) return {Trains::kNo, "it has no PARAMETER mark"};
    return {Trains::kAmbiguous, "it has no PARAMETER mark, but is used as a weight"};
  }
  for (const std::string& source : sources->second)
    if (marks.parameters.contains(source)) return {Trains::kYes, fmt::format("folded from PARAMETER '{}'", source)};
  return {Trains::kNo, "the exporter made it from no PARAMETER"};
}

// What is asked about all tensors of a model.
struct Rules {
  ParameterMarks marks;
  bool from_pytorch;
  [[nodiscard]] bool names_count() const { return from_pytorch || marks.any; }
};

Role role_of(const std::string& name, const Initializer& initializer, UseSet uses, const Rules& rules) {
  if (const std::string why = hindrance(name, initializer, uses, rules.names_count()); !why.empty())
    return {Trains::kNo, why};
  switch (rules.marks.of(name)) {
    case Mark::kParameter:
      return {Trains::kYes, "marked PARAMETER"};
    case Mark::kBuffer:
      return {Trains::kNo, "marked BUFFER"};
    case Mark::kContradictory:
      return {Trains::kAmbiguous, "marked both PARAMETER and BUFFER"};
    case Mark::kNone:
      break;
  }
  if (rules.marks.any) return unmarked(name, initializer, uses, rules.marks);
  return rules.from_pytorch ? by_use(name, initializer, uses) : by_use_alone(initializer, uses);
}

// What --train and --freeze say over the role. Why --train cannot be followed, as a note.
std::string apply_options(const std::string& name, Initializer& initializer, UseSet uses, const OnnxOptions& options,
                          bool names_count) {
  if (base::matches_any(options.train, name)) {
    if (const std::string why = hindrance(name, initializer, uses, names_count); !why.empty())
      return fmt::format("'{}' cannot be trained: {}", name, why);
    initializer.trains = Trains::kYes;
    initializer.doubtful = false;
    initializer.why = "--train";
  } else if (initializer.is_parameter() && base::matches_any(options.freeze, name)) {
    initializer.frozen = true;
    initializer.why = "--freeze";
  } else if (base::matches_any(options.freeze, name)) {
    initializer.doubtful = false;
  }
  return {};
}

Result<void> check_both(const Model& model, const OnnxOptions& options) {
  std::vector<std::string> both;
  for (const auto& [name, initializer] : model.initializers)
    if (initializer.is_parameter() && base::matches_any(options.train, name) && base::matches_any(options.freeze, name))
      both.push_back(fmt::format("'{}'", name));
  if (both.empty()) return {};
  return fail("E0117", "--train and --freeze name the same tensor", "--train",
              "leave it out of one of them; where a glob takes in too much, name the tensors one by one",
              std::move(both));
}

std::string tell_unmatched(const std::string& glob, const Model& model) {
  std::vector<std::string> names;
  for (const auto& [name, initializer] : model.initializers) names.push_back(name);
  for (const auto& [name, type] : model.tables) names.push_back(name);
  const std::string meant = base::nearest_name(glob, names);
  const bool exists = meant == glob || meant.empty();
  return exists ? fmt::format("'{}'", glob) : fmt::format("'{}'; did you mean '{}'?", glob, meant);
}

// A tensor that does not train anyway may be frozen, too.
Result<void> check_freeze_globs(const Model& model, const OnnxOptions& options) {
  Globs unmatched;
  for (const std::string& glob : options.freeze) {
    const bool found =
        std::ranges::any_of(model.initializers, [&](const auto& entry) { return base::matches(glob, entry.first); });
    const bool table =
        std::ranges::any_of(model.tables, [&](const auto& entry) { return base::matches(glob, entry.first); });
    if (!found && !table) unmatched.push_back(tell_unmatched(glob, model));
  }
  if (unmatched.empty()) return {};
  return fail("E0104", "--freeze names no tensor", model.proto->graph().name(), "see the names with: pantoum inspect",
              std::move(unmatched));
}

Result<void> check_train_globs(const Model& model, const OnnxOptions& options, std::vector<std::string> refused) {
  Globs unmatched;
  for (const std::string& glob : options.train) {
    const bool found = std::ranges::any_of(model.initializers, [&](const auto& entry) {
      return entry.second.is_parameter() && base::matches(glob, entry.first);
    });
    if (!found) unmatched.push_back(tell_unmatched(glob, model));
  }
  if (unmatched.empty()) return {};
  unmatched.insert(unmatched.end(), refused.begin(), refused.end());
  return fail("E0104", "--train names no tensor that can be trained", model.proto->graph().name(),
              "see the names with: pantoum inspect", std::move(unmatched));
}

}  // namespace

bool is_invented_name(const std::string& name) {
  const std::string_view text = name;
  if (is_number(text) || text.starts_with("onnx::") || text.starts_with("/")) return true;
  for (const std::string_view prefix : {"val_", "const_", "constant_", "tensor_constant"}) {
    if (text.starts_with(prefix) && is_number(text.substr(prefix.size()))) return true;
  }
  for (const std::string_view part : {"scalar_tensor", "Constant_", "lifted_tensor"}) {
    if (text.find(part) != std::string_view::npos) return true;
  }
  return false;
}

Result<void> assign_weight_roles(Model& model, const OnnxOptions& options) {
  const Rules rules{read_parameter_marks(model.proto->graph()), is_from_pytorch(model)};
  const Uses uses = find_uses(model);
  std::vector<std::string> refused;
  for (auto& [name, initializer] : model.initializers) {
    const auto found = uses.find(name);
    const UseSet use = found == uses.end() ? UseSet{kUnused} : found->second;
    Role role = role_of(name, initializer, use, rules);
    initializer.trains = role.trains;
    initializer.why = std::move(role.why);
    initializer.doubtful = role.doubtful;
    std::string problem = apply_options(name, initializer, use, options, rules.names_count());
    if (!problem.empty()) refused.push_back(std::move(problem));
  }
  for (const auto& [name, type] : model.tables)
    if (base::matches_any(options.train, name))
      refused.push_back(fmt::format("'{}' cannot be trained: its elements are {}", name, ir::name_of(type.dtype)));
  PANTOUM_TRY(check_freeze_globs(model, options));
  PANTOUM_TRY(check_train_globs(model, options, std::move(refused)));
  return check_both(model, options);
}

std::set<std::string> find_weights_in_constants(const Model& model) {
  std::set<std::string> weights;
  const std::map<std::string, TensorType> constants = find_tables(model.proto->graph(), 1);
  if (is_from_pytorch(model) || constants.empty() || read_parameter_marks(model.proto->graph()).any) return weights;
  const Uses uses = find_uses(model);
  constexpr UseSet kFixed = kCompared | kAsLimit | kAsChoice | kOfWrittenNorm | kAsStatistic;
  for (const auto& [name, type] : constants) {
    const auto found = uses.find(name);
    const bool weight = found != uses.end() && (found->second & kAsWeight) != 0 && (found->second & kFixed) == 0;
    if (weight && ir::is_float(type.dtype) && !type.shape.empty()) weights.insert(name);
  }
  return weights;
}

std::string warn_of_doubtful(const Model& model) {
  constexpr size_t kMost = 12;
  std::vector<std::string> globs;
  for (const auto& [name, initializer] : model.initializers)
    if (initializer.doubtful) globs.push_back("--train " + exact_glob(name));
  if (globs.empty()) return {};
  const bool one = globs.size() == 1;
  const std::string what = fmt::format(
      "{} tensor{} beside activations {} not train, since the file does not say that {}; to train {}:", globs.size(),
      one ? "" : "s", one ? "does" : "do", one ? "it is a parameter" : "they are parameters", one ? "it" : "them");
  const size_t told = std::min(globs.size(), kMost);
  const std::string more =
      told == globs.size() ? "" : fmt::format(" and {} more, which `pantoum inspect` lists", globs.size() - told);
  return fmt::format("{} {}{}", what, fmt::join(globs.begin(), globs.begin() + static_cast<ptrdiff_t>(told), " "),
                     more);
}

std::string warn_of_ambiguous(const Model& model) {
  std::vector<std::string> names, globs;
  for (const auto& [name, initializer] : model.initializers) {
    if (initializer.trains != Trains::kAmbiguous || initializer.frozen) continue;
    names.push_back(fmt::format("'{}' {}", name, ir::to_text(initializer.tensor.type)));
    globs.push_back("--freeze " + exact_glob(name));
  }
  if (names.empty()) return {};
  const bool one = names.size() == 1;
  const bool computed =
      std::ranges::any_of(globs, [](const std::string& glob) { return glob.find("'onnx::") != std::string::npos; });
  return fmt::format("{} tensor{} may be {} or fixed, the file does not say which, and {} trained: {}; to fix {}: {}{}",
                     names.size(), one ? "" : "s", one ? "a parameter" : "parameters", one ? "it is" : "they are",
                     fmt::join(names, ", "), one ? "it" : "them", fmt::join(globs, " "),
                     computed ? "; what is called onnx::.. was computed ahead of time, perhaps from parameters: "
                                "do_constant_folding=False keeps those"
                              : "");
}

}  // namespace pantoum::import
