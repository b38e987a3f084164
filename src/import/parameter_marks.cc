#include "import/parameter_marks.h"

#include <sstream>
#include <string_view>

#include "import/metadata.h"
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

}  // namespace pantoum::import
