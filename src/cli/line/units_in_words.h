// A quantity that a shell has cut into two words: --ram 64 MB.
#pragma once

#include <string>

#include "cli/line/facts.h"

namespace pantoum::cli {

// Whether `next` is the unit that `value` lacks, for an option of this kind: known units and what people write for them,
// so that "64 M" is refused for its unit and not for a word that nobody expected.
[[nodiscard]] bool is_unit_of(const std::string& value, const std::string& next, Kind kind);

}  // namespace pantoum::cli
