// Numbers that PyTorch's side of a comparison (make_reference.py) makes alike: README.md has the formulas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/portable/philox.h"

namespace pantoum::values {

inline std::vector<uint32_t> words(uint32_t stream, size_t count) {
  std::vector<uint32_t> out(count);
  const uint32_t key[2] = {stream, 1};
  for (size_t group = 0; group * 4 < count; ++group) {
    const uint32_t counter[4] = {static_cast<uint32_t>(group), 0, 0, 0};
    uint32_t four[4];
    pt_philox(counter, key, four);
    for (size_t lane = 0; lane < 4 && group * 4 + lane < count; ++lane) out[group * 4 + lane] = four[lane];
  }
  return out;
}

inline std::vector<float> uniform(uint32_t stream, size_t count, double scale, double shift) {
  std::vector<float> out(count);
  const std::vector<uint32_t> from = words(stream, count);
  for (size_t at = 0; at < count; ++at)
    out[at] = static_cast<float>(shift + scale * (static_cast<double>(from[at] >> 8) / 8388608.0 - 1.0));
  return out;
}

inline std::vector<int64_t> below(uint32_t stream, size_t count, uint32_t bound) {
  std::vector<int64_t> out;
  for (const uint32_t word : words(stream, count)) out.push_back(word % bound);
  return out;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace pantoum::values
