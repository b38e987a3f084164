// A TensorFlow Lite file as a model of f32 numbers that ONNX has, too.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace pantoum::tflite {

struct Model {
  std::string onnx;                // the bytes of an ONNX model: no constant is marked as trained
  std::vector<std::string> notes;  // what the reader took otherwise than the file has it
};

// The same file gives the same bytes. Inputs and outputs keep the file's names and shapes; dimension 0 is the batch, of any extent. Constants keep the
// names of the file's tensors; weights of convolutions have ONNX's order of dimensions.
//   errors  E0201 the file cannot be read; E0215 it is damaged, or contradicts itself; E0401 operators, types or forms that are not read: all operators
//           that are not known as notes
[[nodiscard]] Result<Model> read_model(const std::string& path);
[[nodiscard]] Result<Model> parse_model(std::string bytes, const std::string& where);

}  // namespace pantoum::tflite
