// Which initializers are trained: the rule of README.md.
#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <string_view>

#include "import/model.h"
#include "import/onnx_messages.h"

namespace pantoum::import {
namespace {

// Operators whose float operands are weights whatever their names, up to this input.
struct Weighted {
  std::string_view op_type;
  int last = INT_MAX;
};
constexpr std::array kWeighted = {Weighted{"Conv"},
                                  Weighted{"ConvTranspose"},
                                  Weighted{"PRelu"},
                                  Weighted{"Einsum"},
                                  Weighted{"InstanceNormalization"},
                                  Weighted{"GroupNormalization"},
                                  Weighted{"Gemm"},
                                  Weighted{"MatMul"},
                                  Weighted{"BatchNormalization"},
                                  Weighted{"LayerNormalization"},
                                  Weighted{"Gather"},
                                  Weighted{"Transpose"},
                                  Weighted{"LSTM", 3},
                                  Weighted{"GRU", 3},
                                  Weighted{"RNN", 3}};
// Operators that read float initializers as settings, from this input on.
struct Setting {
  std::string_view op_type;
  int first;
};
constexpr std::array<Setting, 10> kSettings = {{{"Pow", 1},
                                                {"Dropout", 1},
                                                {"Clip", 1},
                                                {"Where", 0},
                                                {"Range", 0},
                                                {"Resize", 1},
                                                {"Pad", 1},
                                                {"OneHot", 1},
                                                {"CastLike", 1},
                                                {"Expand", 1}}};

bool is_setting(const std::string& op_type, int input) {
  return std::any_of(kSettings.begin(), kSettings.end(),
                     [&](const Setting& setting) { return setting.op_type == op_type && input >= setting.first; });
}

bool is_weighted(const std::string& op_type, int input) {
  return std::any_of(kWeighted.begin(), kWeighted.end(),
                     [&](const Weighted& weighted) { return weighted.op_type == op_type && input <= weighted.last; });
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool is_invented_name(const std::string& name) {
  const std::string_view text = name;
  if (is_number(text) || text.starts_with("onnx::") || text.starts_with("/")) return true;
  for (const std::string_view prefix : {"val_", "const_", "constant_", "tensor_constant"}) {
    if (text.starts_with(prefix) && is_number(text.substr(prefix.size()))) return true;
  }
  for (const std::string_view part : {"scalar_tensor", "Constant_", "lifted_tensor"}) {
    if (text.find(part) != std::string_view::npos) return true;
  }
  return false;
}

void assign_weight_roles(Model& model) {
  for (const auto& node : model.proto->graph().node()) {
    for (int input = 0; input < node.input_size(); ++input) {
      const auto entry = model.initializers.find(node.input(input));
      if (entry == model.initializers.end() || is_setting(node.op_type(), input)) continue;
      Initializer& initializer = entry->second;
      if (!ir::is_float(initializer.tensor.type.dtype) || initializer.tensor.type.elements() == 0) continue;
      const bool scalar = initializer.tensor.type.shape.empty();
      const bool invented = is_invented_name(entry->first);
      const bool invented_weight = is_weighted(node.op_type(), input) && !scalar;
      if (!invented || invented_weight) initializer.role = WeightRole::kParameter;
    }
  }
}

}  // namespace pantoum::import
