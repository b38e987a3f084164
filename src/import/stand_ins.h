// Types of values that could not be made: so that the nodes behind an unsupported one are checked, too.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "import/lower_model.h"

namespace pantoum::import {

// Declared by the file, by value_info; the batch bound.
class StandIns {
 public:
  StandIns(const Model& model, const Batch& batch);

  // Of an output of `node`, whose image and kernel have these shapes where they are known; none where nothing tells.
  [[nodiscard]] std::optional<ir::TensorType> type_of(const onnx::NodeProto& node, const std::string& output,
                                                      const std::optional<ir::Shape>& image,
                                                      const std::optional<ir::Shape>& kernel) const;

 private:
  std::map<std::string, ir::TensorType> declared_;
};

}  // namespace pantoum::import
