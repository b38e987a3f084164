#include "import/written_norms.h"

#include <unordered_map>

#include "import/onnx_messages.h"

namespace pantoum::import {
namespace {

class Finder {
 public:
  Finder(const std::vector<const onnx::NodeProto*>& nodes, const std::unordered_set<std::string>& activations,
         const CountElements& count)
      : nodes_(nodes), activations_(activations), count_(count) {
    for (const onnx::NodeProto* node : nodes)
      for (const std::string& output : node->output()) producers_.emplace(output, node);
  }

  WrittenNorms find() {
    for (const onnx::NodeProto* node : nodes_) {
      if (node->output_size() != 1 || node->input_size() == 0) continue;
      if (node->input_size() == 1) visit_function(*node);
      if (node->input_size() == 2) visit_pair(*node);
    }
    return std::move(found_);
  }

 private:
  const std::vector<const onnx::NodeProto*>& nodes_;
  const std::unordered_set<std::string>& activations_;
  const CountElements& count_;
  std::unordered_map<std::string, const onnx::NodeProto*> producers_;
  std::unordered_set<std::string> deviations_;            // roots of variances, and what is one over them
  std::unordered_map<std::string, std::string> factors_;  // factor over deviation -> the factor
  std::unordered_set<std::string> normalized_;            // activations over their deviation
  WrittenNorms found_;

  bool is_fixed(const std::string& name) const { return !name.empty() && !activations_.contains(name); }

  const onnx::NodeProto* made_by(const std::string& name, const char* op_type) const {
    const auto producer = producers_.find(name);
    return producer != producers_.end() && producer->second->op_type() == op_type ? producer->second : nullptr;
  }

  // The tensor that Reshape and its like give another shape.
  std::string origin(std::string name) const {
    for (;;) {
      const auto producer = producers_.find(name);
      if (producer == producers_.end() || producer->second->input_size() == 0) return name;
      const std::string& op_type = producer->second->op_type();
      const bool moves = op_type == "Reshape" || op_type == "Unsqueeze" || op_type == "Squeeze" ||
                         op_type == "Identity" || op_type == "Cast";
      if (!moves) return name;
      name = producer->second->input(0);
    }
  }

  void visit_function(const onnx::NodeProto& node) {
    const std::string& input = node.input(0);
    if (node.op_type() == "Sqrt") {
      const bool variance = is_fixed(input) ? add_variance(input) : made_by(input, "Add") != nullptr;
      if (variance) deviations_.insert(node.output(0));
    } else if (node.op_type() == "Reciprocal" || node.op_type() == "Identity") {
      if (deviations_.contains(input)) deviations_.insert(node.output(0));
    }
  }

  // A root of one number is no deviation, but a width's.
  bool add_variance(const std::string& under_root) {
    const onnx::NodeProto* sum = made_by(under_root, "Add");
    bool found = false;
    for (int at = 0; at < (sum == nullptr ? 1 : sum->input_size()); ++at) {
      const std::string variance = origin(sum == nullptr ? under_root : sum->input(at));
      if (count_(variance) < 2) continue;
      found_.statistics.insert(variance);
      found = true;
    }
    return found;
  }

  bool divides(const std::string& name) const { return deviations_.contains(name) || factors_.contains(name); }

  void visit_pair(const onnx::NodeProto& node) {
    const std::string &op_type = node.op_type(), &output = node.output(0);
    if (op_type == "Mul" || op_type == "Div") {
      for (int at = op_type == "Div" ? 1 : 0; at < 2; ++at)
        if (divides(node.input(at))) return divide(node.input(1 - at), node.input(at), output);
      for (int at = 0; op_type == "Mul" && at < 2; ++at)
        if (normalized_.contains(node.input(at))) return scale(node.input(1 - at), output);
    } else if (op_type == "Add") {
      for (int at = 0; at < 2; ++at)
        if (normalized_.contains(node.input(at))) return add_weight(node.input(1 - at));
    } else if (op_type == "Sub") {
      subtract(node.input(0), node.input(1));
    } else if (op_type == "Reshape" || op_type == "Unsqueeze") {
      if (deviations_.contains(node.input(0))) deviations_.insert(output);
    }
  }

  // `value` over (or times one over) a deviation.
  void divide(const std::string& value, const std::string& by, const std::string& output) {
    if (is_fixed(value)) {
      factors_.emplace(output, origin(value));  // gamma, a mean, or the 1 of 1 / deviation
      if (!is_fixed(by)) add_weight(value);
      return;
    }
    normalized_.insert(output);
    if (const auto factor = factors_.find(by); factor != factors_.end()) add_weight(factor->second);
    const onnx::NodeProto* centred = made_by(value, "Sub");
    if (is_fixed(by) && centred != nullptr && centred->input_size() == 2 && is_fixed(centred->input(1)))
      found_.statistics.insert(origin(centred->input(1)));
  }

  void scale(const std::string& value, const std::string& output) {
    if (!is_fixed(value)) return;
    add_weight(value);
    normalized_.insert(output);
  }

  // beta - mean * gamma / deviation: the mean is fixed in a batch norm alone.
  void subtract(const std::string& from, const std::string& value) {
    const auto factor = factors_.find(value);
    if (!is_fixed(from) || (factor == factors_.end() && !is_scaled_mean(value))) return;
    add_weight(from);
    if (factor != factors_.end()) found_.statistics.insert(factor->second);
  }
  bool is_scaled_mean(const std::string& value) const {
    const onnx::NodeProto* product = made_by(value, "Mul");
    return product != nullptr && product->input_size() == 2 &&
           (divides(product->input(0)) || divides(product->input(1)));
  }

  void add_weight(const std::string& value) {
    if (!is_fixed(value)) return;
    const std::string name = origin(value);
    if (count_(name) > 1) found_.weights.insert(name);
  }
};

}  // namespace

WrittenNorms find_written_norms(const std::vector<const onnx::NodeProto*>& nodes,
                                const std::unordered_set<std::string>& activations, const CountElements& count) {
  return Finder(nodes, activations, count).find();
}

}  // namespace pantoum::import
