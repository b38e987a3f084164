// Sums in the metadata of a safetensors file: "pantoum.xxh3/NAME" of every tensor's bytes, and "pantoum.xxh3" of the header, that is of
// all that it says beside that sum itself. Files of other tools have none.
#pragma once

#include <map>
#include <string>

#include "weights/safetensors.h"

namespace pantoum::weights {

inline constexpr const char* kHeaderSum = "pantoum.xxh3";
inline constexpr const char* kTensorSum = "pantoum.xxh3/";  // then the tensor's name

// Of names, types, shapes, places and metadata; spaces and the order in the text are left out, so that a tool that
// copies tensors and metadata keeps the sums valid. `data_at`: the file's first byte of data.
[[nodiscard]] uint64_t header_sum(const SafetensorFile& file, uint64_t data_at);

// E0244 where the header says another sum than its own, or has some of the sums and not all.
[[nodiscard]] Result<void> check_header_sum(const SafetensorFile& file, uint64_t data_at);

// Reads the data of a file with sums; E0244 with all tensors whose bytes are others than were written. E0241.
[[nodiscard]] Result<void> check_tensor_sums(const SafetensorFile& file);

}  // namespace pantoum::weights
