// Which tensors are trained: by the exporter's marks, by what --train names, by names and uses.
#pragma once

#include "import/model.h"
#include "import/onnx.h"

namespace pantoum::import {

// Fills `trains` and `why` of every initializer; README.md has the rule. E0104: a glob of --train that names no tensor
// which can be trained, of --freeze that names none; E0117: --train and --freeze both name a tensor.
[[nodiscard]] Result<void> assign_weight_roles(Model& model, const OnnxOptions& options);

// Tables in Constant nodes that nodes use as weights, in a file that PyTorch did not write and that has no marks.
[[nodiscard]] std::set<std::string> find_weights_in_constants(const Model& model);

// One line that names with --train every tensor that does not train by the rules for other exporters than PyTorch's,
// and that may be a parameter all the same; "" when there is none.
[[nodiscard]] std::string warn_of_doubtful(const Model& model);

// One line that names every ambiguous tensor that no option settles; "" when there is none.
[[nodiscard]] std::string warn_of_ambiguous(const Model& model);

// Did an exporter invent this name ("onnx::Mul_12", "val_3", "/layer/Constant_output_0")?
[[nodiscard]] bool is_invented_name(const std::string& name);

}  // namespace pantoum::import
