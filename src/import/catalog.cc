#include "import/catalog.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "import/operator_forms.h"
#include "import/operators.h"
#include "ir/op_registry.h"

namespace pantoum::import {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

namespace {

constexpr const char* kBeforeQuantization = "export the float32 model, before quantization";
constexpr const char* kQuantized = "it computes on quantized numbers, which do not train";
constexpr const char* kText = "it computes on text";
constexpr const char* kPrepare = "do it before the model, as part of the data";
constexpr const char* kOptional = "its value may be absent";
constexpr const char* kResolve = "export without optional values";
constexpr const char* kTrace = "export with fixed control flow (torch.onnx.export with example inputs traces it)";
constexpr const char* kSized = "how much it gives depends on the data";
constexpr const char* kFixed = "export with fixed shapes";
constexpr const char* kScores = "leave it out of the exported model: training needs the scores before it";
constexpr const char* kNoKernel = "it has no kernel here";
constexpr const char* kReplace = "replace it in the model before exporting";

constexpr RefusedOperator kRefusedOperators[] = {
    {"ConvInteger", kQuantized, kBeforeQuantization},
    {"DeformConv", "where its windows read depends on the data", "use Conv"},
    {"DequantizeLinear", kQuantized, kBeforeQuantization},
    {"Det", kNoKernel, kReplace},
    {"DynamicQuantizeLinear", kQuantized, kBeforeQuantization},
    {"ImageDecoder", "it reads image files", kPrepare},
    {"MatMulInteger", kQuantized, kBeforeQuantization},
    {"MaxRoiPool", "where it pools depends on the data", "leave it out of the exported model, or use MaxPool"},
    {"NonMaxSuppression", kSized, kScores},
    {"Optional", kOptional, kResolve},
    {"OptionalGetElement", kOptional, kResolve},
    {"OptionalHasElement", kOptional, kResolve},
    {"QLinearConv", kQuantized, kBeforeQuantization},
    {"QLinearMatMul", kQuantized, kBeforeQuantization},
    {"QuantizeLinear", kQuantized, kBeforeQuantization},
    {"RegexFullMatch", kText, kPrepare},
    {"RoiAlign", "where it reads depends on the data", "leave it out of the exported model, or resize with Resize"},
    {"Scatter", "opset 11 replaced it", "export again: ScatterElements is the same"},
    {"SequenceMap", "it computes a graph of its own for every tensor", kTrace},
    {"StringConcat", kText, kPrepare},
    {"StringNormalizer", kText, kPrepare},
    {"StringSplit", kText, kPrepare},
    {"TfIdfVectorizer", "it counts words, of which no gradient passes", kPrepare},
    {"Unique", kSized, kFixed},
    {"Upsample", "opset 10 replaced it", "export again: Resize is the same"},
};

}  // namespace

std::span<const RefusedOperator> refused_operators() {
  return kRefusedOperators;
}

RefusedOperator refusal_of(const std::string& domain, const std::string& op_type) {
  if (!domain.empty() && domain != "ai.onnx")
    return {"", "it is not of ONNX's own domain",
            "export with the standard operators alone (domain ai.onnx), local functions inlined; or add it as a custom "
            "operator (docs/custom-operators.md)"};
  for (const RefusedOperator& refused : kRefusedOperators)
    if (op_type == refused.op_type) return refused;
  for (const OperatorFormText& known : operator_forms())
    if (op_type == known.op_type) return {known.op_type, "it is not written yet", kReplace};
  return {"", "opset 21 has none of this name", kReplace};
}

namespace {

// The last op makes the result.
bool has_gradient(const std::vector<std::string>& made_of) {
  return made_of.empty() || std::ranges::any_of(ir::all_op_defs(), [&](const ir::OpDef& def) {
           return made_of.back() == def.name && def.gradient != nullptr;
         });
}

}  // namespace

std::vector<CatalogEntry> operator_catalog() {
  std::vector<CatalogEntry> catalog;
  for (const auto family : all_operators()) {
    for (const OperatorEntry& entry : family) {
      const std::vector<std::string> made_of = words_of(entry.made_of);
      catalog.push_back(
          {entry.op_type, true, is_folded(entry.op_type), has_gradient(made_of), made_of, entry.note, ""});
    }
  }
  for (const OperatorEntry& entry : folded_operators) catalog.push_back({.op_type = entry.op_type, .folded = true});
  const auto add_refused = [&](const char* op_type) {
    if (std::ranges::find(catalog, op_type, &CatalogEntry::op_type) != catalog.end()) return;
    const RefusedOperator refused = refusal_of("", op_type);
    catalog.push_back({.op_type = op_type, .note = refused.why, .help = refused.help});
  };
  for (const OperatorFormText& form : operator_forms()) add_refused(form.op_type);
  for (const RefusedOperator& refused : refused_operators()) add_refused(refused.op_type);  // deprecated ones, too
  std::ranges::sort(catalog, {}, &CatalogEntry::op_type);
  return catalog;
}

}  // namespace pantoum::import
