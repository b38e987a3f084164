// Any bytes as the start of a safetensors file: refused, or understood with every tensor inside the file.
#include <cstdint>
#include <cstdlib>

#include "weights/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = pantoum::weights::parse_safetensors_header(data, size, size, "fuzz");
  if (!file) return 0;
  uint64_t next = file->tensors.empty() ? size : file->tensors.front().at;
  for (const auto& entry : file->tensors) {
    if (entry.at != next || entry.bytes > size) std::abort();
    next = entry.at + entry.bytes;
  }
  if (next != size) std::abort();
  return 0;
}
