// How many random cases a property test asks.
#pragma once

#include <cstdlib>

namespace pantoum {

// `make unit-long`: all of them; `make test` asks a part.
inline bool all_cases() {
  return std::getenv("PANTOUM_ALL_CASES") != nullptr;
}

}  // namespace pantoum
