#include "pipeline/converted_model.h"

#include "base/contents.h"
#include "ini/model.h"
#include "tflite/model.h"

namespace pantoum::pipeline {

bool is_converted(const std::string& path) {
  const base::Contents contents = base::contents_of(path);
  return contents == base::Contents::kIni || contents == base::Contents::kTflite;
}

Result<ConvertedModel> convert_model(const std::string& path) {
  if (base::contents_of(path) == base::Contents::kTflite) {
    PANTOUM_ASSIGN(tflite::Model read, tflite::read_model(path));
    read.notes.insert(
        read.notes.begin(),
        "of a TensorFlow Lite file nothing trains unless --train names it: batch norms are folded into its weights");
    return ConvertedModel{std::move(read.onnx), std::move(read.notes)};
  }
  PANTOUM_ASSIGN(ini::Model read, ini::read_model(path));
  return ConvertedModel{std::move(read.onnx), std::move(read.training.notes)};
}

}  // namespace pantoum::pipeline
