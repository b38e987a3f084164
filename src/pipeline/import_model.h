// Imports a model as a forward graph. The format, ONNX or a torch graph file, is recognized by the contents.
#pragma once

#include <string>

#include "import/onnx.h"

namespace pantoum::pipeline {

struct ModelFile {
  const std::string& path;     // ignored if `bytes` is not null
  const std::string* bytes{};  // null: the contents of the file
};

// Errors of import::load_onnx and aten::load_torch; E0201: the file cannot be read.
[[nodiscard]] Result<import::Imported> import_model(const ModelFile& model, const import::OnnxOptions& options);
[[nodiscard]] Result<import::ModelInfo> inspect_model(const ModelFile& model, const import::OnnxOptions& options);

// Imports a model for an export to ONNX, which has to start from ONNX. E0202: the model is a torch graph (with advice).
[[nodiscard]] Result<void> check_exportable(const ModelFile& model);

}  // namespace pantoum::pipeline
