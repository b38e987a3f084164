// What the nodes do with each tensor: multiply as a weight, add as a bias, only add to or multiply an activation, ...
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "import/model.h"

namespace pantoum::import {

// Ways in which a tensor, or what nodes make of it alone, is read; several may be true.
enum Use : uint8_t {
  kUnused = 0,
  kAsWeight = 1,     // an operand of a product, a norm's scale, an embedding, a bias
  kAsStatistic = 2,  // the running mean or variance of a batch norm
  kAsSetting = 4,    // a limit, a padding, an exponent
  kAsChoice = 8,     // of Where
  kInSums = 16,      // added to, or subtracted from, what depends on the model's inputs
  kInProducts = 32,  // multiplied with it
  kAsOther = 64,     // anything else
};
using Uses = std::unordered_map<std::string, uint8_t>;  // by name of a value; absent: kUnused

// Of every value that does not depend on the model's inputs. Linear in the number of nodes.
[[nodiscard]] Uses find_uses(const Model& model);

}  // namespace pantoum::import
