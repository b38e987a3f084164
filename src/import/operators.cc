#include "import/operators.h"

#include <array>
#include <string_view>

namespace pantoum::import {
namespace {

struct Advice {
  std::string_view prefix;  // of the operator's name
  const char* text;
};

constexpr std::array kAdvice = {
    Advice{"If", "export with fixed control flow (torch.onnx.export with example inputs traces it)"},
    Advice{"Loop", "export with fixed control flow (torch.onnx.export with example inputs traces it)"},
    Advice{"Scan", "export with fixed control flow"},
    Advice{"Quantize", "export the float32 model, before quantization"},
    Advice{"Dequantize", "export the float32 model, before quantization"},
    Advice{"QLinear", "export the float32 model, before quantization"},
    Advice{"ConvTranspose", "replace it by an upsampling and a Conv"},
    Advice{"HardSwish", "replace the activation by ReLU or Sigmoid * x before exporting"},
    Advice{"HardSigmoid", "replace the activation by Sigmoid before exporting"},
    Advice{"PRelu", "replace the activation by LeakyReLU before exporting"},
    Advice{"Elu", "replace the activation by GELU or ReLU before exporting"},
    Advice{"InstanceNormalization", "replace it by BatchNorm or LayerNorm before exporting"},
    Advice{"GroupNormalization", "replace it by BatchNorm or LayerNorm before exporting"},
    Advice{"Where", "export a fixed mask (it is folded when its operands are constant), or multiply by a mask"},
    Advice{"Einsum", "write it as matmul and transpose before exporting"},
    Advice{"Pad", "use the padding argument of the convolution or pooling that follows"},
    Advice{"ArgMax", "leave it out of the exported model: training needs the scores before it"},
    Advice{"TopK", "leave it out of the exported model: training needs the scores before it"},
    Advice{"NonMaxSuppression", "leave it out of the exported model: training needs the scores before it"},
    Advice{"SoftmaxCrossEntropyLoss", "export the model up to its scores: the loss is added by --loss"},
    Advice{"NegativeLogLikelihoodLoss", "export the model up to its scores: the loss is added by --loss"},
};

}  // namespace

const OperatorEntry* find_operator(const std::string& domain, const std::string& op_type) {
  if (!domain.empty() && domain != "ai.onnx") return nullptr;
  for (const auto family : {product_operators(), conv_operators(), pool_operators(), arithmetic_operators(),
                            activation_operators(), norm_operators(), reduce_operators(), shape_operators(),
                            move_operators(), recurrent_operators(), constant_operators()}) {
    for (const OperatorEntry& entry : family) {
      if (op_type == entry.op_type) return &entry;
    }
  }
  return nullptr;
}

std::string advice_for(const std::string& domain, const std::string& op_type) {
  if (!domain.empty() && domain != "ai.onnx") {
    return "export with the standard operators alone (domain ai.onnx), local functions inlined";
  }
  for (const Advice& advice : kAdvice) {
    if (op_type.starts_with(advice.prefix)) return advice.text;
  }
  return "replace it in the model before exporting";
}

}  // namespace pantoum::import
