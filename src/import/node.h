// One node of the model while it is lowered: its operands, attributes and results, and the graph it appends to.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "import/attributes.h"
#include "import/model.h"
#include "ir/builder.h"

namespace pantoum::import {

// What a name of the model stands for.
struct Operand {
  std::string name;
  ir::ValueId id = ir::kNone;           // once it is in the graph
  std::shared_ptr<const Tensor> known;  // contents, where they are known
  bool weight = false;             // `known` is trained: it may change, so it is neither folded nor read as a setting
  std::string problem;             // it could not be made; why
  bool sequence = false;           // of tensors, which the operators of sequences alone read (`problem` is set)
  std::vector<ir::ValueId> parts;  // of a sequence
  ir::ValueId untransposed = ir::kNone;  // the value whose last two dimensions it swaps
};

// What all nodes of one lowering share.
struct Lowering {
  Lowering(const Model& from, ir::Graph& to) : model(from), builder(to) {}

  const Model& model;
  ir::Builder builder;
  std::map<std::string, std::shared_ptr<Operand>> operands;
  int64_t fold_budget = int64_t{1} << 22;                   // elements that folding may still make
  std::map<std::pair<int64_t, float>, ir::ValueId> filled;  // constant vectors, by length and element
  std::map<std::string, ir::ValueId> statistics;            // buffers of running statistics, by their names in the file
  bool batch_chosen = false;         // the caller chose the batch: problems that depend on it are errors
  bool some_norm_trains = false;     // is a batch normalization of the file in training form?
  bool recurrent_series = false;     // as OnnxOptions has it
  bool batch_is_the_models = false;  // static, and bound to nothing else: shapes of the file hold as they stand
  // Lowers the nodes of a subgraph; `place` names it in problems.
  std::function<Result<void>(const onnx::GraphProto& body, const std::string& place)> lower_body;
};

// Operators read their node through this and nothing else. Refusals are Results: E0401 not supported (with what to do),
// E0211 shapes that do not fit.
class Node {
 public:
  Node(Lowering& lowering, const onnx::NodeProto& message, int position);

  [[nodiscard]] const std::string& op_type() const;
  [[nodiscard]] const std::string& label() const { return label_; }  // its name; without one, an output's
  [[nodiscard]] int position() const { return position_; }  // in the file; of a subgraph's node, behind the file's nodes
  [[nodiscard]] int64_t opset() const { return lowering_.model.opset; }
  [[nodiscard]] bool batch_is_the_models() const { return lowering_.batch_is_the_models; }
  [[nodiscard]] bool some_norm_trains() const { return lowering_.some_norm_trains; }
  [[nodiscard]] bool recurrent_series() const { return lowering_.recurrent_series; }
  [[nodiscard]] bool batch_chosen() const { return lowering_.batch_chosen; }
  [[nodiscard]] Attributes& attributes() { return attributes_; }

  // Inputs. `has` must hold before `type`, `known` and `operand`.
  [[nodiscard]] size_t input_count() const;
  [[nodiscard]] bool has(size_t input) const;
  [[nodiscard]] const std::shared_ptr<Operand>& operand(size_t input) const;
  [[nodiscard]] ir::TensorType type(size_t input) const;
  [[nodiscard]] ir::Shape shape(size_t input) const { return type(input).shape; }
  [[nodiscard]] Result<ir::ValueId> value(size_t input);           // puts it into the graph if need be
  [[nodiscard]] Result<ir::ValueId> real(size_t input);            // the same; must be float32
  [[nodiscard]] const Tensor* setting(size_t input) const;         // contents that training does not change, or null
  [[nodiscard]] std::optional<double> scalar(size_t input) const;  // of a setting with one element
  // The integers of an input that must be constant: a list, or a tensor's; `what` names it in the refusal.
  [[nodiscard]] Result<std::vector<int64_t>> integers(size_t input, const char* what) const;
  [[nodiscard]] Result<std::vector<int64_t>> integer_elements(size_t input, const char* what) const;
  // A list that is an input in newer models and an attribute in older ones; none when absent.
  [[nodiscard]] Result<std::optional<std::vector<int64_t>>> integers_or_attribute(size_t input, const char* name);

  // Outputs.
  [[nodiscard]] size_t output_count() const;
  [[nodiscard]] const std::string& output_name(size_t output) const;
  [[nodiscard]] bool wants(size_t output) const;  // does anyone read it?
  void set(size_t output, ir::ValueId id);
  void set(size_t output, std::shared_ptr<Operand> operand);
  void set_known(size_t output, Tensor tensor);
  void set_sequence(size_t output, std::vector<ir::ValueId> parts);

  // Subgraphs. What a name stands for (null: nothing), what it shall stand for, and the nodes of one, lowered.
  [[nodiscard]] std::shared_ptr<Operand> find(const std::string& name) const;
  void bind(const std::string& name, std::shared_ptr<Operand> operand) {
    lowering_.operands[name] = std::move(operand);
  }
  [[nodiscard]] Result<void> lower_body(const onnx::GraphProto& body, const std::string& place) {
    return lowering_.lower_body(body, place);
  }
  [[nodiscard]] Result<ir::ValueId> value_of(Operand& operand);  // puts it into the graph if need be

  // Appends an op after asking its rule. E0211.
  [[nodiscard]] Result<std::vector<ir::ValueId>> add(ir::Kind kind, std::vector<ir::ValueId> inputs,
                                                     ir::Attrs attrs = {}, std::vector<ir::TensorType> given = {});
  [[nodiscard]] Result<ir::ValueId> op(ir::Kind kind, std::vector<ir::ValueId> inputs, ir::Attrs attrs = {},
                                       std::vector<ir::TensorType> given = {});
  [[nodiscard]] Result<ir::ValueId> reshape(ir::ValueId x, ir::Shape shape);
  [[nodiscard]] Result<ir::ValueId> transpose(ir::ValueId x, std::vector<int64_t> perm);
  [[nodiscard]] Result<ir::ValueId> scale(ir::ValueId x, double a, double b = 0);
  // A constant vector of equal elements, made once for the whole model. E0401 where the model's constants grow too
  // large.
  [[nodiscard]] Result<ir::ValueId> filled(int64_t count, float element);
  [[nodiscard]] Result<void> spend(int64_t elements);  // of the budget for constants that lowering makes up; E0401
  // The buffer of a running statistic of the file; kNone until it is set.
  [[nodiscard]] ir::ValueId& statistic(const std::string& name) {
    return lowering_.statistics.try_emplace(name, ir::kNone).first->second;
  }
  [[nodiscard]] ir::Builder& builder() { return lowering_.builder; }

  void note(std::string text) { note_ = std::move(text); }
  [[nodiscard]] const std::string& note() const { return note_; }
  [[nodiscard]] const onnx::NodeProto& message() const { return message_; }

 private:
  Lowering& lowering_;
  const onnx::NodeProto& message_;
  int position_;
  std::string label_, note_;
  Attributes attributes_;
};

// Puts a known operand into the graph, once: weights as parameters, the rest as constants. E0401 for element types that
// no kernel computes on.
[[nodiscard]] Result<ir::ValueId> materialize(Lowering& lowering, Operand& operand);

// Is this a batch normalization in training form? The newer exporter drops that, and tells it in the call.
[[nodiscard]] bool is_training_norm(const onnx::NodeProto& node);

// E0401 with the node's own "what to do".
[[nodiscard]] Failure unsupported(std::string why, std::string help = {});

}  // namespace pantoum::import
