// What a plan is to have little of.
#pragma once

#include <cstdint>

namespace pantoum::problem {

// kEdp: energy times makespan. kRam, of certificates alone: the bytes that a plan needs.
enum class Objective : uint8_t { kEnergy, kTime, kEdp, kRam };

}  // namespace pantoum::problem
