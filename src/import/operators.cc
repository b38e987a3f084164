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
    Advice{"Quantize", "export the float32 model, before quantization"},
    Advice{"Dequantize", "export the float32 model, before quantization"},
    Advice{"QLinear", "export the float32 model, before quantization"},
    Advice{"Sequence", "export with optimize=True, which resolves sequences"},
    Advice{"Attention", "export with opset 21 or lower, where attention is written out"},
    Advice{"RMSNormalization", "export with opset 21 or lower, where it is written out"},
    Advice{"STFT", "compute it before the model, as part of the data"},
    Advice{"DFT", "compute it before the model, as part of the data"},
    Advice{"NonZero", "export with fixed shapes: how much it finds depends on the data"},
    Advice{"Unique", "export with fixed shapes: how much it finds depends on the data"},
    Advice{"Compress", "export with fixed shapes: how much it keeps depends on the data"},
    Advice{"RoiAlign", "leave it out of the exported model, or resize with Resize"},
    Advice{"NonMaxSuppression", "leave it out of the exported model: training needs the scores before it"},
    Advice{"SoftmaxCrossEntropyLoss", "export the model up to its scores: the loss is added by --loss"},
    Advice{"NegativeLogLikelihoodLoss", "export the model up to its scores: the loss is added by --loss"},
};

}  // namespace

std::vector<std::span<const OperatorEntry>> all_operators() {
  return {product_operators(),
          conv_operators(),
          conv_transpose_operators(),
          pool_operators(),
          resize_operators(),
          arithmetic_operators(),
          integer_operators(),
          select_operators(),
          math_operators(),
          activation_operators(),
          norm_operators(),
          group_norm_operators(),
          composed_activation_operators(),
          reduce_operators(),
          scan_operators(),
          shape_operators(),
          move_operators(),
          split_operators(),
          recurrent_operators(),
          pad_operators(),
          rearrange_operators(),
          index_operators(),
          scatter_operators(),
          top_k_operators(),
          random_operators(),
          unpool_operators(),
          grid_operators(),
          einsum_operators(),
          constant_operators(),
          control_operators(),
          sequence_operators()};
}

const OperatorEntry* find_operator(const std::string& domain, const std::string& op_type) {
  if (!domain.empty() && domain != "ai.onnx") return nullptr;
  for (const auto family : all_operators()) {
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
