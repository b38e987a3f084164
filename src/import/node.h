// One node of the model while it is lowered: its operands, attributes and results, and the graph it appends to.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "import/compose.h"
#include "import/model.h"
#include "import/onnx_proto.h"

namespace pantoum::import {

// Typed access to the attributes of a node.

// An attribute of another type than asked for counts as absent; check_form refuses it.
class Attributes {
 public:
  explicit Attributes(const onnx::NodeProto& node) : node_(&node) {}

  [[nodiscard]] bool has(const char* name) const { return find(name) != nullptr; }
  [[nodiscard]] int64_t integer(const char* name, int64_t otherwise);
  [[nodiscard]] double real(const char* name, double otherwise);
  [[nodiscard]] std::string text(const char* name, const char* otherwise);
  [[nodiscard]] std::optional<Integers> integers(const char* name);
  [[nodiscard]] std::optional<std::vector<std::string>> texts(const char* name);
  [[nodiscard]] const onnx::TensorProto* tensor(const char* name);
  [[nodiscard]] const onnx::GraphProto* graph(const char* name);

 private:
  [[nodiscard]] const onnx::AttributeProto* find(const char* name) const;
  [[nodiscard]] const onnx::AttributeProto* find(const char* name, int type) const;

  const onnx::NodeProto* node_;
};

// The value, contents or problem that a name of the model stands for.
struct Operand {
  std::string name;
  ValueId id = ir::kNone;               // once it is in the graph
  std::shared_ptr<const Tensor> known;  // contents, where they are known
  bool weight = false;               // `known` is trained: it may change, so it is neither folded nor read as a setting
  std::string problem;               // why it could not be made; empty: it could
  bool sequence = false;             // of tensors, which the operators of sequences alone read (`problem` is set)
  std::vector<ValueId> parts;        // of a sequence
  ValueId untransposed = ir::kNone;  // the value whose last two dimensions it swaps
};

// The state that all nodes of one lowering share.
struct Lowering : Scope {
  Lowering(const Model& from, Graph& to) : Scope(to), model(from) {}

  const Model& model;
  std::map<std::string, std::shared_ptr<Operand>> operands;
  std::set<std::string> settings, folded;     // operands that were read as settings, that constants were computed from
  std::map<std::string, ValueId> statistics;  // buffers of running statistics, by their names in the file
  std::map<std::string, int> calls;           // nodes of each call of the user's program
  bool batch_chosen = false;                  // the caller chose the batch: problems that depend on it are errors
  bool some_norm_trains = false;              // is a batch normalization of the file in training form?
  bool recurrent_series = false;              // as OnnxOptions has it
  bool batch_is_the_models = false;  // static, and bound to nothing else: shapes of the file hold as they stand
  // Lowers the nodes of a subgraph; `place` names it in problems.
  std::function<Result<void>(const onnx::GraphProto& body, const std::string& place)> lower_body;
};

// Operators read their node through this and nothing else. What is wrong with an operand is kept as the node's refusal: E0401 not
// supported (with what to do), E0211 what does not fit.
class Node : public Composer {
 public:
  Node(Lowering& lowering, const onnx::NodeProto& message, int position);

  [[nodiscard]] const std::string& op_type() const;
  [[nodiscard]] int position() const { return position_; }  // in the file
  [[nodiscard]] bool in_subgraph() const;                   // its position is then behind the file's nodes
  [[nodiscard]] int64_t opset() const { return lowering_.model.opset; }
  [[nodiscard]] const Lowering& lowering() const { return lowering_; }
  [[nodiscard]] Attributes& attributes() { return attributes_; }
  // The attribute `axis`, counted from the first of `rank` dimensions. E0211 outside.
  [[nodiscard]] Result<size_t> axis(size_t rank, int64_t otherwise = 0);

  // Inputs. `has` must hold before `operand`.
  [[nodiscard]] size_t input_count() const;
  [[nodiscard]] bool has(size_t input) const;
  [[nodiscard]] const std::shared_ptr<Operand>& operand(size_t input) const;
  [[nodiscard]] TensorType type(size_t input) const;  // in the file: float64 stays
  [[nodiscard]] Shape shape(size_t input) const { return type(input).shape; }
  [[nodiscard]] Value value(size_t input);                         // puts it into the graph if need be
  [[nodiscard]] Value real(size_t input);                          // the same; must be float32
  [[nodiscard]] Value numeric(size_t input);                       // the same; float32 or an integer
  [[nodiscard]] Value optional(size_t input);                      // real, or left out
  [[nodiscard]] const Tensor* setting(size_t input) const;         // contents that training does not change, or null
  [[nodiscard]] std::optional<double> scalar(size_t input) const;  // of a setting with one element
  // Is the first input of int64, int32 or uint8? bool is compared and chosen, but not computed on.
  [[nodiscard]] bool computes_integers() const;
  // The integers of an input that must be constant: a list, or a tensor's; `what` names it in the refusal.
  [[nodiscard]] Integers integers(size_t input, const char* what);
  [[nodiscard]] Integers integer_elements(size_t input, const char* what);
  // The same for a list that is one number.
  [[nodiscard]] int64_t integer(size_t input, const char* what);
  // A list that is an input in newer models and an attribute in older ones; none when absent.
  [[nodiscard]] std::optional<Integers> integers_or_attribute(size_t input, const char* name);

  // Outputs. To set one returns the node's refusal, if there is one.
  [[nodiscard]] size_t output_count() const;
  [[nodiscard]] const std::string& output_name(size_t output) const;
  [[nodiscard]] bool wants(size_t output) const;  // does anyone read it?
  Result<void> set(size_t output, const Value& value);
  Result<void> set(const Value& value) { return set(0, value); }
  Result<void> set(size_t output, std::shared_ptr<Operand> operand);
  Result<void> set_known(size_t output, Tensor tensor);
  Result<void> set_sequence(const Values& parts);

  // Subgraphs. What a name stands for (null: nothing), what it shall stand for, and the nodes of one, lowered.
  [[nodiscard]] std::shared_ptr<Operand> find(const std::string& name) const;
  void bind(const std::string& name, std::shared_ptr<Operand> operand) {
    lowering_.operands[name] = std::move(operand);
  }
  [[nodiscard]] Result<void> lower_body(const onnx::GraphProto& body, const std::string& place) {
    return lowering_.lower_body(body, place);
  }
  [[nodiscard]] Value value_of(Operand& operand);  // puts it into the graph if need be

  // The buffer of a running statistic of the file; ir::kNone until it is set.
  [[nodiscard]] ValueId& statistic(const std::string& name) {
    return lowering_.statistics.try_emplace(name, ir::kNone).first->second;
  }

  void note(std::string text) { note_ = std::move(text); }
  [[nodiscard]] const std::string& note() const { return note_; }
  [[nodiscard]] const onnx::NodeProto& message() const { return message_; }

 private:
  Lowering& lowering_;
  const onnx::NodeProto& message_;
  int position_;
  std::string note_;
  Attributes attributes_;
};

// Puts a known operand into the graph, once: weights as parameters, the rest as constants. E0401 for element types that
// no kernel computes on.
[[nodiscard]] Result<ValueId> materialize(Lowering& lowering, Operand& operand);

// Is this a batch normalization in training form? The newer exporter drops that, and tells it in the call.
[[nodiscard]] bool is_training_norm(const onnx::NodeProto& node);

// An element type by its number in ONNX, as an attribute names it; none: not supported.
[[nodiscard]] std::optional<DType> named_type(int64_t number);

}  // namespace pantoum::import
