// Sums in the metadata of a safetensors file: "pantoum.xxh3.tensors" of every tensor's bytes, 16 digits each in the order
// of their places, and "pantoum.xxh3" of the header, that is of all that it says beside that sum itself. Files of other
// tools have none.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "weights/safetensors.h"

namespace pantoum::weights {

inline constexpr const char* kHeaderSum = "pantoum.xxh3";
inline constexpr const char* kTensorSums = "pantoum.xxh3.tensors";
inline constexpr size_t kSumDigits = 16;

// What a header says of a tensor. `at`: from the first byte of data on.
struct HeaderEntry {
  std::string name;
  base::DType dtype;
  const std::vector<int64_t>& shape;
  uint64_t at;
};

// The sum of names, types, shapes, places and metadata. It does not depend on spaces and order in the text, so that a copy of tensors and
// metadata by another tool keeps it valid. `tensor` gives the tensors in the order of their places.
[[nodiscard]] uint64_t header_sum(size_t tensors, const std::function<HeaderEntry(size_t)>& tensor,
                                  const std::map<std::string, std::string>& metadata);
// `data_at`: the file's first byte of data.
[[nodiscard]] uint64_t header_sum(const SafetensorFile& file, uint64_t data_at);

// E0244 the header has another sum than it says, or lacks some of the sums.
[[nodiscard]] Result<void> check_header_sum(const SafetensorFile& file, uint64_t data_at);

// Reads the data of a file with sums; E0244 with all tensors whose bytes are others than were written. E0241.
[[nodiscard]] Result<void> check_tensor_sums(const SafetensorFile& file);

}  // namespace pantoum::weights
