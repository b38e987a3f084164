#include "import/parameter_marks.h"

#include <fmt/format.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string_view>

#include "import/onnx_messages.h"

namespace pantoum::import {

namespace {

using Entries = std::map<std::string, std::string>;

constexpr const char* kKind = "pkg.torch.export.graph_signature.InputSpec.kind";
constexpr const char* kSignature = "pkg.torch.export.ExportedProgram.graph_signature";
constexpr const char* kFoldedFrom = "pkg.onnxscript.optimizer.folded_from";

Mark mark_named(const std::string& kind) {
  if (kind == "PARAMETER") return Mark::kParameter;
  return kind == "BUFFER" || kind == "CONSTANT_TENSOR" ? Mark::kBuffer : Mark::kNone;
}

// Every text in quotes: "['gn.weight', 'val_29']".
std::vector<std::string> texts_in_quotes(const std::string& list) {
  std::vector<std::string> texts;
  for (size_t begin = list.find('\''); begin != std::string::npos;) {
    const size_t end = list.find('\'', begin + 1);
    if (end == std::string::npos) break;
    texts.push_back(list.substr(begin + 1, end - begin - 1));
    begin = list.find('\'', end + 1);
  }
  return texts;
}

void add_mark(ParameterMarks& marks, const std::string& name, const Entries& entries) {
  if (const auto from = entries.find(kFoldedFrom); from != entries.end())
    marks.sources[name] = texts_in_quotes(from->second);
  const auto kind = entries.find(kKind);
  const Mark mark = kind == entries.end() ? Mark::kNone : mark_named(kind->second);
  if (mark == Mark::kNone) return;
  const auto [known, is_new] = marks.marks.emplace(name, mark);
  if (!is_new && known->second != mark) known->second = Mark::kContradictory;
  (mark == Mark::kParameter ? marks.parameters : marks.buffers).insert(name);
}

// A line of the signature: "p_fc_weight: PARAMETER target='fc.weight'", under "# inputs".
void read_signature(ParameterMarks& marks, const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line) && line != "# outputs") {
    const size_t colon = line.find(": ");
    const size_t end = colon == std::string::npos ? colon : line.find(' ', colon + 2);
    if (end == std::string::npos) continue;
    const Mark mark = mark_named(line.substr(colon + 2, end - colon - 2));
    const std::vector<std::string> target = texts_in_quotes(line.substr(end));
    if (mark == Mark::kNone || target.empty()) continue;
    (mark == Mark::kParameter ? marks.parameters : marks.buffers).insert(target[0]);
    marks.names.emplace(line.substr(0, colon), target[0]);
  }
  while (std::getline(lines, line))
    if (line.find(": BUFFER_MUTATION ") != std::string::npos)
      for (std::string& target : texts_in_quotes(line)) marks.updated.insert(std::move(target));
}

}  // namespace

Mark ParameterMarks::of(const std::string& name) const {
  const auto found = marks.find(name);
  return found == marks.end() ? Mark::kNone : found->second;
}

ParameterMarks read_parameter_marks(const onnx::GraphProto& graph) {
  ParameterMarks marks;
  for (const auto& value : graph.value_info())
    add_mark(marks, value.name(), read_metadata(value, MetadataField::kOfValue));
  for (const auto& value : graph.input()) add_mark(marks, value.name(), read_metadata(value, MetadataField::kOfValue));
  for (const auto& tensor : graph.initializer())
    add_mark(marks, tensor.name(), read_metadata(tensor, MetadataField::kOfTensor));
  const Entries entries = read_metadata(graph, MetadataField::kOfGraph);
  if (const auto text = entries.find(kSignature); text != entries.end()) read_signature(marks, text->second);
  marks.any = !marks.parameters.empty() || !marks.buffers.empty();
  return marks;
}

std::map<std::string, std::string> read_metadata(const google::protobuf::Message& message, MetadataField field) {
  std::map<std::string, std::string> entries;
  const auto take = [&](const std::string& bytes) {
    onnx::StringStringEntryProto entry;
    if (entry.ParseFromString(bytes)) entries.emplace(entry.key(), entry.value());
  };
  const int number = static_cast<int>(field);
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int at = 0; at < unknown.field_count(); ++at) {
    const auto& each = unknown.field(at);
    if (each.number() == number && each.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      take(each.length_delimited());
  }
  // Newer message classes know the field.
  if (const auto* known = message.GetDescriptor()->FindFieldByNumber(number);
      known != nullptr && known->is_repeated() && known->name() == "metadata_props") {
    const int count = message.GetReflection()->FieldSize(message, known);
    for (int at = 0; at < count; ++at)
      take(message.GetReflection()->GetRepeatedMessage(message, known, at).SerializeAsString());
  }
  return entries;
}

namespace {

constexpr const char* kRule = "pkg.onnxscript.rewriter.rule_name";
constexpr const char* kFxNode = "pkg.torch.onnx.fx_node";
constexpr const char* kScopes = "pkg.torch.onnx.name_scopes";
constexpr std::string_view kTarget = "target=torch.ops.aten.", kArgs = "(args = (";

// Splits the text up to the bracket that closes it at the commas that no inner bracket contains.
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

// Operands of a node from `input` on, and the arguments of the call that they are, from `argument` on; an input of -1 is any.
struct CallOperands {
  std::string_view call, op_type;
  int input;
  size_t argument;
  int count = 1;
};
constexpr CallOperands kCallOperands[] = {{"linear.", "MatMul", 1, 1},
                                          {"linear.", "Gemm", 1, 1, 2},
                                          {"linear.", "Add", -1, 2},
                                          {"conv", "Conv", 1, 1, 2},
                                          {"conv", "ConvTranspose", 1, 1, 2},
                                          {"layer_norm.", "LayerNormalization", 1, 2, 2},
                                          {"group_norm.", "Mul", -1, 2},
                                          {"group_norm.", "Add", -1, 3},
                                          {"group_norm.", "GroupNormalization", 1, 2, 2},
                                          {"_native_batch_norm", "BatchNormalization", 1, 1, 4},
                                          {"batch_norm.", "BatchNormalization", 1, 1, 4},
                                          {"embedding.", "Gather", 0, 0},
                                          {"prelu.", "PRelu", 1, 1},
                                          {"matmul.", "MatMul", 0, 0, 2},
                                          {"mm.", "MatMul", 0, 0, 2},
                                          {"mul.Tensor", "Mul", -1, 0},
                                          {"mul.Tensor", "Mul", -1, 1},
                                          {"div.Tensor", "Div", 1, 1},
                                          {"add.Tensor", "Add", -1, 0},
                                          {"add.Tensor", "Add", -1, 1},
                                          {"sub.Tensor", "Sub", 0, 0, 2}};

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

struct Scopes {
  std::string module, call;  // "layer1.0.bn" and "_native_batch_norm_1"
};

// Of "['', 'layer1', 'layer1.0', 'layer1.0.bn', '_native_batch_norm_1']"; empty texts where the node does not say.
Scopes scopes_of(const onnx::NodeProto& node) {
  const auto entries = read_metadata(node, MetadataField::kOfNode);
  const auto found = entries.find(kScopes);
  if (found == entries.end() || !found->second.ends_with("']")) return {};
  const std::string_view text = found->second;
  const size_t end = text.rfind("', '");
  if (end == std::string_view::npos || end == 0 || end + 6 > text.size()) return {};
  const size_t begin = text.rfind('\'', end - 1);
  if (begin == std::string_view::npos) return {};
  return {std::string(text.substr(begin + 1, end - begin - 1)),
          std::string(text.substr(end + 4, text.size() - end - 6))};
}

// A running statistic that an earlier call of the same module updated: the file has its first contents alone.
std::optional<std::string> statistic_of_module(const onnx::NodeProto& node, int input, const ParameterMarks& marks) {
  const std::string name = scopes_of(node).module + (input == 3 ? ".running_mean" : ".running_var");
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
  for (const CallOperands& each : kCallOperands) {
    const int at = each.input < 0 ? 0 : input - each.input;
    const size_t argument = each.argument + static_cast<size_t>(at);
    const bool fits = call.target.starts_with(each.call) && node.op_type() == each.op_type && at >= 0 &&
                      at < each.count && argument < call.args.size();
    if (!fits || !call.args[argument].starts_with('%')) continue;
    const auto name = marks.names.find(call.args[argument].substr(1));
    if (name != marks.names.end()) return name->second;
    if (node.op_type() == "BatchNormalization" && argument >= 3) return statistic_of_module(node, input, marks);
  }
  return std::nullopt;
}

std::string call_in_module(const onnx::NodeProto& node) {
  const auto [module, numbered] = scopes_of(node);
  std::string_view call = numbered;
  call.remove_prefix(std::min(call.find_first_not_of('_'), call.size()));
  if (call.empty()) return {};
  const std::string plain = without_number(std::string(call));
  // Ops are told from gradients by the begin of their names.
  return fmt::format("{}{}{}{}", module.starts_with("grad.") ? "self." : "", module, module.empty() ? "" : ".", plain);
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
