#include "import/weight_use.h"

#include <algorithm>
#include <climits>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>

#include "import/onnx_messages.h"

namespace pantoum::import {
namespace {

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

class UseFinder {
 public:
  explicit UseFinder(const Model& model) : model_(model), graph_(model.proto->graph()) {
    for (const int position : model.order) flatten(graph_.node(position));
    find_activations();
    for (size_t at = nodes_.size(); at-- > 0;) visit(*nodes_[at]);
  }
  Uses take() { return std::move(uses_); }

 private:
  const Model& model_;
  const onnx::GraphProto& graph_;
  std::unordered_set<std::string> activations_;  // what depends on the model's inputs
  std::unordered_map<std::string, const onnx::NodeProto*> producers_;
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

  [[nodiscard]] bool is_activation(const std::string& name) const { return activations_.contains(name); }

  void find_activations() {
    for (const auto& input : graph_.input())
      if (!model_.initializers.contains(input.name())) activations_.insert(input.name());
    // From the second iteration on.
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

  [[nodiscard]] bool reads_activation(const onnx::NodeProto& node) const {
    return std::any_of(node.input().begin(), node.input().end(),
                       [&](const std::string& input) { return is_activation(input); });
  }

  void visit(const onnx::NodeProto& node) {
    uint8_t of_outputs = kUnused;
    for (const std::string& output : node.output())
      if (const auto found = uses_.find(output); found != uses_.end()) of_outputs |= found->second;
    const bool alone = !reads_activation(node);
    for (int input = 0; input < node.input_size(); ++input)
      if (!node.input(input).empty()) uses_[node.input(input)] |= use(node, input, alone, of_outputs);
  }

  // `alone`: the node reads nothing that depends on the model's inputs.
  uint8_t use(const onnx::NodeProto& node, int input, bool alone, uint8_t of_outputs) const {
    const std::string& op_type = node.op_type();
    if (op_type == "BatchNormalization" && input >= 3) return kAsStatistic;
    if (among(kSettings, op_type, input)) return kAsSetting;
    if (op_type == "Where") return kAsChoice;
    // An output of the model is read, too.
    if (alone || moves(op_type, input)) return of_outputs == kUnused ? uint8_t{kAsOther} : of_outputs;
    if (op_type == "Gather" && input == 0) return gathered(node, of_outputs);
    if (among(kWeighted, op_type, input)) return kAsWeight;
    if (op_type == "Add" || op_type == "Sub" || op_type == "Sum")
      return is_bias(node, input) || is_group_norm_shift(node, input) ? kAsWeight : kInSums;
    if (op_type != "Mul" && op_type != "Div") return kAsOther;
    if (is_scaled(node, input)) return of_outputs == kUnused ? uint8_t{kAsOther} : of_outputs;
    if (is_group_norm_scale(node, input) || joins_embeddings(node)) return kAsWeight;
    return kInProducts;
  }

  // An activation times or over what is no activation: sqrt(width) * embedding(x) is read as embedding(x) is.
  [[nodiscard]] bool is_scaled(const onnx::NodeProto& node, int input) const {
    return node.input_size() == 2 && is_activation(node.input(input)) && !is_activation(node.input(1 - input)) &&
           (node.op_type() == "Mul" || input == 0);
  }

  // Rows at constant positions are a part of the table; at others it is an embedding, unless it only multiplies
  // activations: a table of rotations or of noise levels does that.
  uint8_t gathered(const onnx::NodeProto& node, uint8_t of_outputs) const {
    const bool fixed = node.input_size() < 2 || !is_activation(node.input(1));
    return fixed || of_outputs == kInProducts ? of_outputs : uint8_t{kAsWeight};
  }

  // Rows of two tables, multiplied: of users and of items.
  [[nodiscard]] bool joins_embeddings(const onnx::NodeProto& node) const {
    return node.op_type() == "Mul" && node.input_size() == 2 && is_row(node.input(0)) && is_row(node.input(1));
  }
  [[nodiscard]] bool is_row(std::string name) const {
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

  [[nodiscard]] const onnx::NodeProto* made_by(const std::string& name, std::string_view op_type) const {
    const auto producer = producers_.find(name);
    const bool fits = producer != producers_.end() && producer->second->op_type() == op_type;
    return fits && producer->second->input_size() > 0 ? producer->second : nullptr;
  }

  // GroupNorm as PyTorch's older exporter writes it: Reshape, InstanceNormalization, Reshape, Mul by scales, Add of shifts.
  [[nodiscard]] bool is_group_norm_scale(const onnx::NodeProto& node, int input) const {
    if (node.op_type() != "Mul" || node.input_size() != 2) return false;
    const onnx::NodeProto* back = made_by(node.input(1 - input), "Reshape");
    const onnx::NodeProto* norm = back == nullptr ? nullptr : made_by(back->input(0), "InstanceNormalization");
    return norm != nullptr && made_by(norm->input(0), "Reshape") != nullptr;
  }
  [[nodiscard]] bool is_group_norm_shift(const onnx::NodeProto& node, int input) const {
    if (node.op_type() != "Add" || node.input_size() != 2) return false;
    const onnx::NodeProto* scaled = made_by(node.input(1 - input), "Mul");
    return scaled != nullptr && scaled->input_size() == 2 &&
           (is_group_norm_scale(*scaled, 0) || is_group_norm_scale(*scaled, 1));
  }

  // A vector that is added to the result of a product along its last axis, of a convolution along its channels.
  [[nodiscard]] bool is_bias(const onnx::NodeProto& node, int input) const {
    if (node.op_type() != "Add" || node.input_size() != 2) return false;
    const std::optional<ir::Shape> vector = shape_of(sliced_from(node.input(input)));
    const auto producer = producers_.find(node.input(1 - input));
    if (!vector || producer == producers_.end()) return false;
    const onnx::NodeProto& product = *producer->second;
    if (product.input_size() < 2 || is_activation(product.input(1))) return false;
    const std::optional<ir::Shape> weight = shape_of(product.input(1));
    const std::string& op_type = product.op_type();
    const bool conv = op_type == "Conv" || op_type == "ConvTranspose";
    if (!conv && op_type != "MatMul" && op_type != "Gemm") return false;
    if (conv && !weight) return false;
    return is_vector(*vector, conv ? weight->size() - std::min<size_t>(2, weight->size()) : 0);
  }

  // Attention's bias is one vector of which parts are added: the tensor that the parts are of. Bounded: nodes are in order.
  [[nodiscard]] std::string sliced_from(std::string name) const {
    for (;;) {
      const onnx::NodeProto* slice = made_by(name, "Slice");
      const onnx::NodeProto* part = slice != nullptr ? slice : made_by(name, "Split");
      if (part == nullptr) return name;
      name = part->input(0);
    }
  }

  // All dimensions are 1 but the one that `after` dimensions follow.
  static bool is_vector(const ir::Shape& shape, size_t after) {
    if (shape.size() <= after) return false;
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] != 1 && d + after + 1 != shape.size()) return false;
    return true;
  }

  [[nodiscard]] std::optional<ir::Shape> shape_of(const std::string& name) const {
    const auto found = model_.initializers.find(name);
    if (found == model_.initializers.end()) return std::nullopt;
    return found->second.tensor.type.shape;
  }
};

}  // namespace

Uses find_uses(const Model& model) {
  return UseFinder(model).take();
}

}  // namespace pantoum::import
