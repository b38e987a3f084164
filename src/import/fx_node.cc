#include "import/fx_node.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "import/metadata.h"
#include "import/onnx_messages.h"

namespace pantoum::import {
namespace {

constexpr const char* kRule = "pkg.onnxscript.rewriter.rule_name";
constexpr const char* kFxNode = "pkg.torch.onnx.fx_node";
constexpr const char* kScopes = "pkg.torch.onnx.name_scopes";
constexpr std::string_view kTarget = "target=torch.ops.aten.", kArgs = "(args = (";

// From behind an opening bracket to the one that closes it, split at its own commas.
std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> args(1);
  int depth = 0;
  for (const char letter : text) {
    if (letter == ')' && depth == 0) break;
    depth += letter == '(' || letter == '[' ? 1 : letter == ')' || letter == ']' ? -1 : 0;
    if (letter == ',' && depth == 0)
      args.emplace_back();
    else if (letter != ' ' || depth > 0)
      args.back() += letter;
  }
  return args;
}

// An operand of a node and the argument of the call that it is; an input of -1 is any.
struct CallOperand {
  std::string_view call, op_type;
  int input;
  size_t argument;
};
constexpr CallOperand kCallOperands[] = {{"linear.", "MatMul", 1, 1},
                                         {"linear.", "Gemm", 1, 1},
                                         {"linear.", "Gemm", 2, 2},
                                         {"linear.", "Add", -1, 2},
                                         {"conv", "Conv", 1, 1},
                                         {"conv", "Conv", 2, 2},
                                         {"conv", "ConvTranspose", 1, 1},
                                         {"conv", "ConvTranspose", 2, 2},
                                         {"layer_norm.", "LayerNormalization", 1, 2},
                                         {"layer_norm.", "LayerNormalization", 2, 3},
                                         {"group_norm.", "Mul", -1, 2},
                                         {"group_norm.", "Add", -1, 3},
                                         {"group_norm.", "GroupNormalization", 1, 2},
                                         {"group_norm.", "GroupNormalization", 2, 3},
                                         {"_native_batch_norm", "BatchNormalization", 1, 1},
                                         {"_native_batch_norm", "BatchNormalization", 2, 2},
                                         {"_native_batch_norm", "BatchNormalization", 3, 3},
                                         {"_native_batch_norm", "BatchNormalization", 4, 4},
                                         {"batch_norm.", "BatchNormalization", 3, 3},
                                         {"batch_norm.", "BatchNormalization", 4, 4},
                                         {"batch_norm.", "BatchNormalization", 1, 1},
                                         {"batch_norm.", "BatchNormalization", 2, 2},
                                         {"embedding.", "Gather", 0, 0},
                                         {"prelu.", "PRelu", 1, 1},
                                         {"matmul.", "MatMul", 0, 0},
                                         {"matmul.", "MatMul", 1, 1},
                                         {"mm.", "MatMul", 0, 0},
                                         {"mm.", "MatMul", 1, 1},
                                         {"mul.Tensor", "Mul", -1, 0},
                                         {"mul.Tensor", "Mul", -1, 1},
                                         {"div.Tensor", "Div", 1, 1},
                                         {"add.Tensor", "Add", -1, 0},
                                         {"add.Tensor", "Add", -1, 1},
                                         {"sub.Tensor", "Sub", 0, 0},
                                         {"sub.Tensor", "Sub", 1, 1}};

constexpr std::string_view kAlpha = "alpha: ";

// Every name behind a '%'.
std::vector<std::string> references_in(std::string_view text) {
  std::vector<std::string> found;
  for (size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    const size_t end = text.find_first_of(",])} ", at);
    found.emplace_back(text.substr(at + 1, end == std::string_view::npos ? end : end - at - 1));
  }
  return found;
}

// 1 where the call has none; NaN where it is no number.
double alpha_in(std::string_view text) {
  const size_t at = text.rfind(kAlpha);
  if (at == std::string_view::npos) return 1;
  const std::string number(text.substr(at + kAlpha.size(), 40));
  char* end = nullptr;
  const double alpha = std::strtod(number.c_str(), &end);
  return end == number.c_str() ? std::numeric_limits<double>::quiet_NaN() : alpha;
}

// "layer1.0.bn" of "['', 'layer1', 'layer1.0', 'layer1.0.bn', '_native_batch_norm_1']"; "" where the node does not say.
std::string module_of(const onnx::NodeProto& node) {
  const auto entries = read_metadata(node, MetadataField::kOfNode);
  const auto found = entries.find(kScopes);
  if (found == entries.end()) return {};
  const std::string_view text = found->second;
  const size_t end = text.rfind("', '"), begin = end == 0 ? end : text.rfind('\'', end - 1);
  return end == std::string_view::npos || begin == std::string_view::npos
             ? ""
             : std::string(text.substr(begin + 1, end - begin - 1));
}

// A running statistic that an earlier call of the same module updated: the file has its first contents alone.
std::optional<std::string> statistic_of_module(const onnx::NodeProto& node, int input, const ParameterMarks& marks) {
  const std::string name = module_of(node) + (input == 3 ? ".running_mean" : ".running_var");
  return marks.buffers.contains(name) ? std::optional(name) : std::nullopt;
}

}  // namespace

FxCall read_fx_call(const onnx::NodeProto& node) {
  const auto entries = read_metadata(node, MetadataField::kOfNode);
  const auto found = entries.find(kFxNode);
  if (found == entries.end()) return {};
  const std::string_view text = found->second;
  const size_t target = text.find(kTarget), end = text.find(']', std::min(target, text.size()));
  const size_t args = text.find(kArgs);
  if (target == std::string_view::npos || end == std::string_view::npos || args == std::string_view::npos) return {};
  const size_t begin = target + kTarget.size();
  const std::string_view given = text.substr(args + kArgs.size());
  return {std::string(text.substr(begin, end - begin)), split_arguments(given), references_in(given), alpha_in(given)};
}

std::string rewriter_rules(const onnx::NodeProto& node) {
  const auto entries = read_metadata(node, MetadataField::kOfNode);
  const auto rules = entries.find(kRule);
  return rules == entries.end() ? "" : rules->second;
}

bool FxCall::mentions(const std::string& value) const {
  return std::ranges::find(references, value) != references.end();
}

std::string without_number(const std::string& value) {
  const size_t digits = value.find_last_not_of("0123456789");
  const bool numbered = digits != std::string::npos && digits > 0 && digits + 1 < value.size() && value[digits] == '_';
  return numbered ? value.substr(0, digits) : value;
}

std::optional<std::string> expected_operand(const onnx::NodeProto& node, int input, const FxCall& call,
                                            const ParameterMarks& marks) {
  for (const CallOperand& each : kCallOperands) {
    const bool fits = call.target.starts_with(each.call) && node.op_type() == each.op_type &&
                      (each.input < 0 || each.input == input) && each.argument < call.args.size();
    if (!fits || !call.args[each.argument].starts_with('%')) continue;
    const auto name = marks.names.find(call.args[each.argument].substr(1));
    if (name != marks.names.end()) return name->second;
    if (node.op_type() == "BatchNormalization" && each.argument >= 3) return statistic_of_module(node, input, marks);
  }
  return std::nullopt;
}

std::vector<std::string> parameters_of(const FxCall& call, const ParameterMarks& marks) {
  std::vector<std::string> found;
  for (const std::string& reference : call.references) {
    const auto name = marks.names.find(reference);
    if (name != marks.names.end() && marks.parameters.contains(name->second)) found.push_back(name->second);
  }
  return found;
}

}  // namespace pantoum::import
