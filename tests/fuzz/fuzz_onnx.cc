// Any bytes as an ONNX model: refused with an error or imported, never a crash.
#include <cstddef>
#include <cstdint>

#include "import/onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)pantoum::import::parse_onnx(data, size, "/nonexistent", {.batch = 2});
  return 0;
}
