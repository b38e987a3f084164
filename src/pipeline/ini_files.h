// Files of NNTrainer beside those of this project: models (.ini) and weights (.bin).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/output_folder.h"
#include "ini/bin_weights.h"
#include "pipeline/request.h"
#include "weights/safetensors.h"

namespace pantoum::pipeline {

[[nodiscard]] bool is_ini_model(const std::string& path);

// The file of model.options.weights, which has to be set: safetensors, or a .bin of a model of NNTrainer. E0201, E0214, E0240, E0244.
[[nodiscard]] Result<weights::SafetensorFile> open_weights(const ModelRequest& model);

// A .bin behind whose iteration a training goes on, with the moments in it.
struct ContinuedBin {
  weights::SafetensorFile file;
  uint64_t iteration = 0;
};

// The .bin of model.options.weights where the model's file has continue_train = true, and the .bin has an iteration; none where a training begins. The
// errors are those of open_weights.
[[nodiscard]] Result<std::optional<ContinuedBin>> continued_bin(const ModelRequest& model);

// Writes the file `from`, which `pantoum train` wrote for the .ini model at `model`, as a .bin ("": the model's first values) at `path`, which may be the same file.
// E0113 the model is no .ini file; E0201, E0214, E0240 to E0242, E0901.
[[nodiscard]] Result<void> write_as_bin(const std::string& model, const std::string& from, const std::string& path);

// Writes the same weights, of any model, as safetensors. The errors are those of export_source; E0901.
[[nodiscard]] Result<void> write_as_safetensors(const std::string& model, const std::string& from,
                                                const std::string& path);

// An ONNX model and safetensors with all of its parameters, which stand in a private folder where they were made of other files.
struct ExportSource {
  std::string model, weights;
  std::shared_ptr<const base::TemporaryPath> made_model = {}, made_weights = {};
};

// `weights`: "" takes the first values of a converted model (converted_model.h). E0202: the model is a torch graph (with advice). E0100: an ONNX
// model without weights. Errors of convert_model.
[[nodiscard]] Result<ExportSource> export_source(const std::string& model, const std::string& weights);

}  // namespace pantoum::pipeline
