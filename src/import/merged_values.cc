#include "import/restore_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "import/onnx_messages.h"

namespace pantoum::import {
namespace {

using Names = std::vector<std::string>;
using Constants = std::map<std::string, std::vector<Restoration::Reader>>;

// The exporter's optimizer merges initializers of up to so many elements.
constexpr int64_t kMostMerged = 1024;
// How many nodes may stand between a parameter and the value that two branches became.
constexpr int kMostSteps = 32;
// Calls whose result is their operand.
constexpr std::array kSame = {"clone", "alias", "contiguous", "_to_copy", "dropout"};
// Calls that the optimizer leaves out where a factor is 1 or a term 0.
constexpr std::array kLeftOut = {"mul", "add", "sub", "div"};

class Search {
 public:
  explicit Search(const MergeSearch& given) : given_(given) {
    for (const auto& input : given.graph.input()) values_.insert(input.name());
    for (const auto& output : given.graph.output()) outputs_.insert(output.name());
    for (int node = 0; node < given.graph.node_size(); ++node) {
      for (const std::string& output : given.graph.node(node).output()) {
        values_.insert(output);
        producers_.emplace(output, node);
      }
    }
    for (const auto& [name, initializer] : given.initializers) values_.insert(name);
    for (const auto& node : given.graph.node())
      for (const std::string& input : node.input()) ++readers_[input];
  }

  Constants tell(Names& problems) const {
    std::set<std::string> told;
    Constants constants;
    for (int node = 0; node < given_.graph.node_size(); ++node) {
      for (int input = 0; input < given_.graph.node(node).input_size(); ++input)
        if (is_constant(node, input))
          constants[given_.graph.node(node).input(input)].push_back({node, input});
        else
          for (std::string problem : {merged(node, input), part_of_merged(node, input)})
            if (!problem.empty() && told.insert(problem).second) problems.push_back(std::move(problem));
      for (std::string problem : {left_out(node), joined(node), joined_outputs(node)})
        if (!problem.empty() && told.insert(problem).second) problems.push_back(std::move(problem));
    }
    return constants;
  }

 private:
  const MergeSearch& given_;
  std::set<std::string> values_, outputs_;
  std::map<std::string, int> producers_, readers_;

  // Values of the program that the call is given and that the file lacks.
  Names lost_by(const FxCall& call) const {
    Names lost;
    for (const std::string& reference : call.references)
      if (!values_.contains(reference) && !given_.marks.names.contains(reference)) lost.push_back(reference);
    return lost;
  }

  bool is_named(const FxCall& call, const std::string& initializer) const {
    return std::ranges::any_of(call.references, [&](const std::string& reference) {
      const auto name = given_.marks.names.find(reference);
      return name != given_.marks.names.end() && name->second == initializer;
    });
  }

  bool may_be_merged(const std::string& name) const {
    const auto found = given_.initializers.find(name);
    if (found == given_.initializers.end() || !found->second.problem.empty()) return false;
    const TensorType& type = found->second.tensor.type;
    return ir::is_float(type.dtype) && type.elements() <= kMostMerged;
  }

  // A parameter is read where the call, all of whose operands the file has, is given none: for a constant of the call's
  // own that begins with equal contents.
  bool is_constant(int position, int input) const {
    const onnx::NodeProto& node = given_.graph.node(position);
    const FxCall& call = given_.calls[static_cast<size_t>(position)];
    const std::string& name = node.input(input);
    if (call.target.empty() || !may_be_merged(name) || given_.separate.contains({position, input})) return false;
    if (!given_.marks.parameters.contains(name) || !rewriter_rules(node).empty()) return false;
    return std::ranges::all_of(call.references, [&](const std::string& reference) {
      const auto placeholder = given_.marks.names.find(reference);
      return reference != name &&
             (placeholder == given_.marks.names.end()
                  ? values_.contains(reference)
                  : placeholder->second != name && given_.initializers.contains(placeholder->second));
    });
  }

  // A parameter or buffer that stands for another value, too; "" where nothing says so.
  std::string merged(int position, int input) const {
    const onnx::NodeProto& node = given_.graph.node(position);
    const std::string& name = node.input(input);
    const FxCall& call = given_.calls[static_cast<size_t>(position)];
    if (call.target.empty() || !may_be_merged(name) || given_.separate.contains({position, input})) return {};
    const bool marked = given_.marks.parameters.contains(name) || given_.marks.buffers.contains(name);
    if (is_named(call, name) || call.mentions(name)) return {};
    if (expected_operand(node, input, call, given_.marks) == name) return {};
    if (!rewriter_rules(node).empty() && given_.gone.empty()) return {};
    const Names lost = lost_by(call);
    const bool same = std::ranges::all_of(
        lost, [](const std::string& each) { return std::ranges::find(kSame, without_number(each)) != kSame.end(); });
    if (!lost.empty() && same && given_.gone.empty() && !given_.lacks_buffers) return {};
    if (!marked && !stands_for_lost(node, name, call, lost)) return {};
    const std::string what = lost.empty() ? "another value" : fmt::format("'%{}'", fmt::join(lost, "', '%"));
    return fmt::format(
        "node '{}' ({}): '{}' stands for {} of the program as well, because their first contents are equal",
        node.name(), node.op_type(), name, what);
  }

  // A parameter that others read too is cut here, and the node does not say whose parts these are (of a cross
  // attention's bias they are added), while parameters are gone.
  std::string part_of_merged(int position, int input) const {
    const onnx::NodeProto& node = given_.graph.node(position);
    const std::string& name = node.input(input);
    const bool cuts = node.op_type() == "Split" || node.op_type() == "Slice";
    if (!cuts || given_.gone.empty() || readers_.at(name) < 2 || !given_.marks.parameters.contains(name)) return {};
    const FxCall& call = given_.calls[static_cast<size_t>(position)];
    if (!call.target.empty() || given_.separate.contains({position, input})) return {};
    return fmt::format("at node '{}' '{}' may stand for a parameter that the file lacks: {}", node.name(), name,
                       fmt::join(given_.gone, ", "));
  }

  // Of a constant: arithmetic that is given what the file lacks, while parameters are gone.
  bool stands_for_lost(const onnx::NodeProto& node, const std::string& name, const FxCall& call,
                       const Names& lost) const {
    if (given_.gone.empty() || given_.marks.sources.contains(name)) return false;
    const std::string kind = call.target.substr(0, call.target.find('.'));
    const bool arithmetic = (kind == "mul" && node.op_type() == "Mul") || (kind == "add" && node.op_type() == "Add") ||
                            (kind == "sub" && node.op_type() == "Sub") || (kind == "div" && node.op_type() == "Div");
    const auto unnamed = std::count_if(node.input().begin(), node.input().end(), [&](const std::string& input) {
      return !given_.initializers.contains(input) && !call.mentions(input);
    });
    return arithmetic && std::ranges::count_if(lost, [&](const std::string& each) {
                           return without_number(each) != without_number(name);
                         }) > unnamed;
  }

  // The call is given the result of arithmetic that the file lacks, while parameters are gone.
  std::string left_out(int position) const {
    if (given_.gone.empty()) return {};
    for (const std::string& each : lost_by(given_.calls[static_cast<size_t>(position)]))
      if (std::ranges::find(kLeftOut, without_number(each)) != kLeftOut.end())
        return fmt::format("the exporter left out '%{}', which may have read {}: a factor of 1 or a term of 0 at first",
                           each, fmt::join(given_.gone, " or "));
    return {};
  }

  // Two branches of the program became one: while parameters are gone, the node reads a value that came of a parameter,
  // and its call names another of that kind, which the file lacks.
  std::string joined(int position) const {
    if (given_.gone.empty()) return {};
    const FxCall& call = given_.calls[static_cast<size_t>(position)];
    const Names lost = lost_by(call);
    for (const std::string& input : given_.graph.node(position).input()) {
      if (call.mentions(input) || !producers_.contains(input)) continue;
      for (const std::string& each : lost)
        if (without_number(each) == without_number(input) && came_of_parameter(input))
          return fmt::format(
              "'{}' stands for '%{}' of the program as well, which may have read {}: their first contents are equal",
              input, each, fmt::join(given_.gone, " or "));
    }
    return {};
  }

  // The same where the branches end: one output of the model is another's copy, and of no call.
  std::string joined_outputs(int position) const {
    const onnx::NodeProto& node = given_.graph.node(position);
    const bool copies = node.op_type() == "Identity" && node.input_size() == 1 && node.output_size() == 1 &&
                        given_.calls[static_cast<size_t>(position)].target.empty();
    if (given_.gone.empty() || !copies || !outputs_.contains(node.output(0)) || !producers_.contains(node.input(0)))
      return {};
    if (!outputs_.contains(node.input(0)) || !came_of_parameter(node.input(0))) return {};
    return fmt::format(
        "the outputs '{}' and '{}' are one, and the program's may have read {}: their first contents are equal",
        node.input(0), node.output(0), fmt::join(given_.gone, " or "));
  }

  // Up through nodes that read one value alone: functions, movements.
  bool came_of_parameter(std::string value) const {
    for (int step = 0; step < kMostSteps; ++step) {
      const onnx::NodeProto& node = given_.graph.node(producers_.at(value));
      Names made;
      for (const std::string& input : node.input()) {
        if (may_be_merged(input) && given_.marks.parameters.contains(input)) return true;
        if (producers_.contains(input)) made.push_back(input);
      }
      if (made.size() != 1) return false;
      value = made[0];
    }
    return false;
  }
};

}  // namespace

Constants tell_merged(const MergeSearch& search, Names& problems) {
  return Search(search).tell(problems);
}

}  // namespace pantoum::import
