// The trained model as ONNX, for inference.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace pantoum::emit {

struct ExportOptions {
  std::string model;           // the ONNX file that was trained
  std::string weights;         // safetensors with every parameter and running statistic, by name
  std::string output;          // .onnx
  bool external_data = false;  // contents in `output`.data, however few they are
  std::vector<std::string> shapes = {};  // of the model's open dimensions, as for import
};

struct Exported {
  int64_t tensors = 0, bytes = 0;  // taken from the weights
  std::string data_file;           // "": all in the model's file
};

// Writes the model's own message with its initializers replaced, in inference form. Atomic: first the data file, then
// the model. E02xx the model; E0240 to E0242 the weights, with every tensor that is missing or does not fit; E0401 the
// model cannot be imported; E0901.
Result<Exported> export_onnx(const ExportOptions& options);

}  // namespace pantoum::emit
