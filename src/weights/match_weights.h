// Weights of another origin: which tensor of a file is which of the model's, by name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/tensor_type.h"
#include "weights/safetensors.h"

namespace pantoum::weights {

struct WantedWeight {
  std::string name;
  base::TensorType type;
  bool told = true;  // missing in the file, it is worth a note
};

struct MatchedWeight {
  const SafetensorEntry* entry = nullptr;  // null: not in the file
  bool transposed = false;                 // the file has [b, a] for [a, b]
};

struct WeightMatch {
  std::vector<MatchedWeight> weights;  // one for each that is wanted
  std::vector<std::string> notes;      // how they were found, what the file lacks, what the model does not read
};

// By the same name; names that are left, by one prefix that ends in a dot and that either the file or the model has
// before its names ("model.", "module."): the one by which most are found. A matrix may stand transposed. `file`
// outlives the result. E0242 with all that are there in another shape or type, or when nothing is found at all.
[[nodiscard]] Result<WeightMatch> match_weights(const SafetensorFile& file, std::span<const WantedWeight> wanted);

// The contents of a matrix [b, a] of the file as [a, b]. Memory: twice the tensor. E0241.
[[nodiscard]] Result<std::vector<std::byte>> read_transposed(const SafetensorFile& file, const SafetensorEntry& entry);

}  // namespace pantoum::weights
