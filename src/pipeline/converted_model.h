// Model files of other tools that are read as ONNX models: NNTrainer's (.ini) and TensorFlow Lite's (.tflite).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace pantoum::pipeline {

struct ConvertedModel {
  std::string onnx;                // the bytes of an ONNX model with all first values
  std::vector<std::string> notes;  // what the reader tells about the file
};

// By what stands in the file.
[[nodiscard]] bool is_converted(const std::string& path);

// The file, which is_converted. The same file gives the same bytes.
//   errors  E0201; E0214 of an .ini file; E0215 and E0401 of a .tflite file
[[nodiscard]] Result<ConvertedModel> convert_model(const std::string& path);

}  // namespace pantoum::pipeline
