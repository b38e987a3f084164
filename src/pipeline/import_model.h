// A model of any format -> forward graph: ONNX, or a torch graph file; the contents decide.
#pragma once

#include <string>

#include "import/onnx.h"

namespace pantoum::pipeline {

struct ModelFile {
  const std::string& path;     // of `bytes`: ignored
  const std::string* bytes{};  // null: the file's
};

// Errors as import::load_onnx and aten::load_torch; E0201 the file.
[[nodiscard]] Result<import::Imported> import_model(const ModelFile& model, const import::OnnxOptions& options);
[[nodiscard]] Result<import::ModelInfo> inspect_model(const ModelFile& model, const import::OnnxOptions& options);

// What ends in ONNX begins in ONNX: E0202 for a torch graph, with what to do.
[[nodiscard]] Result<void> check_exportable(const ModelFile& model);

}  // namespace pantoum::pipeline
