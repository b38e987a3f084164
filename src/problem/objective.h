// What a plan is to have little of.
#pragma once

#include <cstdint>

namespace pantoum::problem {

// kEdp: energy times makespan. kRam, of certificates alone: the bytes that a plan needs. kWeighted: a sum of energy and
// makespan by the question's weights.
enum class Objective : uint8_t { kEnergy, kTime, kEdp, kRam, kWeighted };

// What a joule and a second count; not negative, not both 0.
struct Weights {
  double joule = 1, second = 0;
  bool operator==(const Weights&) const = default;
};

}  // namespace pantoum::problem
