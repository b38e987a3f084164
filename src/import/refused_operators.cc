#include "import/refused_operators.h"

#include "import/operator_forms.h"

namespace pantoum::import {
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

}  // namespace pantoum::import
