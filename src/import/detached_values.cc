#include "import/detached_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "import/onnx_messages.h"
#include "import/parameter_marks.h"

namespace pantoum::import {
namespace {

class Search {
 public:
  Search(const onnx::GraphProto& graph, const std::map<std::string, Initializer>& initializers)
      : graph_(graph), initializers_(initializers), marks_(read_parameter_marks(graph)) {
    for (const auto& input : graph.input()) values_.insert(input.name());
    for (const auto& [name, initializer] : initializers) values_.insert(name);
    for (const auto& node : graph.node()) {
      calls_.push_back(read_fx_call(node));
      for (const std::string& output : node.output()) {
        values_.insert(output);
        makers_.emplace(output, calls_.size() - 1);
      }
    }
  }

  DetachedInputs find() {
    for (int node = 0; node < graph_.node_size(); ++node) {
      const FxCall& call = calls_[static_cast<size_t>(node)];
      if (graph_.node(node).output_size() == 0 ||
          !std::ranges::any_of(call.references, [&](const std::string& each) { return is_lost(each); }))
        continue;
      const std::vector<int> found = detached_inputs(graph_.node(node), call);
      for (const int input : found) found_.inputs.emplace(graph_.node(node).output(0), input);
      auto& told = calls_told_[fmt::format("{}({})", call.target, fmt::join(call.references, ", "))];
      told.first = told.first || !found.empty();
      told.second = node;
    }
    for (const auto& [call, told] : calls_told_)
      if (!told.first)
        found_.warnings.push_back(
            fmt::format("node '{}' ({}): an operand is detached in the program, and the exporter's optimizer left out "
                        "which: its gradient "
                        "passes here; export with optimize=False",
                        graph_.node(told.second).name(), graph_.node(told.second).op_type()));
    return std::move(found_);
  }

 private:
  const onnx::GraphProto& graph_;
  const std::map<std::string, Initializer>& initializers_;
  const ParameterMarks marks_;
  std::vector<FxCall> calls_;
  std::set<std::string> values_;
  std::map<std::string, size_t> makers_;
  std::map<std::string, std::pair<bool, int>> calls_told_;  // was an operand found, and the last node of the call
  DetachedInputs found_;

  [[nodiscard]] bool is_lost(const std::string& reference) const {
    return without_number(reference) == "detach" && !values_.contains(reference);
  }

  [[nodiscard]] bool is(const std::string& reference, const std::string& input) const {
    const auto placeholder = marks_.names.find(reference);
    return reference == input || (placeholder != marks_.names.end() && placeholder->second == input);
  }

  // Made outside of the call, and named by none of its operands.
  [[nodiscard]] bool is_unnamed(const FxCall& call, const std::string& input) const {
    if (input.empty() || initializers_.contains(input)) return false;
    if (std::ranges::any_of(call.references, [&](const std::string& each) { return is(each, input); })) return false;
    const auto maker = makers_.find(input);
    if (maker == makers_.end()) return true;
    const FxCall& made_by = calls_[maker->second];
    return made_by.target != call.target || made_by.references != call.references;
  }

  // Operands in the order of the call's; else those that no operand names, where there are no more than were detached.
  [[nodiscard]] std::vector<int> detached_inputs(const onnx::NodeProto& node, const FxCall& call) const {
    std::vector<int> found;
    bool in_order = static_cast<size_t>(node.input_size()) == call.references.size();
    for (int input = 0; in_order && input < node.input_size(); ++input) {
      const std::string& reference = call.references[static_cast<size_t>(input)];
      if (is_lost(reference)) found.push_back(input);
      in_order = is_lost(reference) || is(reference, node.input(input));
    }
    if (in_order) return found;
    found.clear();
    std::set<std::string> unnamed, lost;
    for (int input = 0; input < node.input_size(); ++input) {
      if (!is_unnamed(call, node.input(input))) continue;
      unnamed.insert(node.input(input));
      found.push_back(input);
    }
    for (const std::string& reference : call.references)
      if (is_lost(reference)) lost.insert(reference);
    return unnamed.size() <= lost.size() ? found : std::vector<int>();
  }
};

}  // namespace

DetachedInputs find_detached(const onnx::GraphProto& graph, const std::map<std::string, Initializer>& initializers) {
  return Search(graph, initializers).find();
}

}  // namespace pantoum::import
