// Finds by name which tensor of a file is which weight of the model.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/tensor_type.h"
#include "weights/safetensors.h"

namespace pantoum::weights {

struct WantedWeight {
  std::string name;
  base::TensorType type;
  bool told = true;  // a note says so where the file lacks it
};

struct MatchedWeight {
  const SafetensorEntry* entry = nullptr;  // null: not in the file
  bool transposed = false;                 // the file has [b, a] where the model has [a, b]
};

struct WeightMatch {
  std::vector<MatchedWeight> weights;  // one for each that is wanted
  std::vector<std::string> notes;      // how they were found, what the file lacks, what the model does not read
};

// A weight matches the tensor of the same name. Names that are left match after one prefix that either the file or the model has before its
// names and that ends in a dot ("model.", "module."): the prefix by which most are found. A matrix may be transposed in the file. `file`
// outlives the result. `fixed` names tensors of the model that are not wanted. E0242 tensors have another shape or type (all are named), or
// nothing is found.
Result<WeightMatch> match_weights(const SafetensorFile& file, std::span<const WantedWeight> wanted,
                                  const std::set<std::string>& fixed = {});

// The contents of a matrix [b, a] of the file as [a, b]. Memory: twice the tensor. E0241.
Result<std::vector<std::byte>> read_transposed(const SafetensorFile& file, const SafetensorEntry& entry);

}  // namespace pantoum::weights
