// Repairs a run log that was cut off by a kill or a loss of power: only complete lines are kept.
#pragma once

#include <string>

#include "base/result.h"

namespace pantoum::cli {

// Keeps the lines that end in a newline, have no control characters and at most 1 MiB. A file whose lines are all such is not
// touched; another is replaced as a whole. Memory: a line. E0201, E0901.
[[nodiscard]] Result<void> keep_whole_lines(const std::string& path);

}  // namespace pantoum::cli
