// Any bytes as a TensorFlow Lite file: refused with an error, or an ONNX model that is imported or refused; never a crash.
#include <cstddef>
#include <cstdint>
#include <string>

#include "import/onnx.h"
#include "tflite/model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto model = pantoum::tflite::parse_model({reinterpret_cast<const char*>(data), size}, "net.tflite");
  if (model)
    (void)pantoum::import::parse_onnx(model->onnx.data(), model->onnx.size(), "/nonexistent",
                                      {.batch = 2, .train = {"*"}});
  return 0;
}
