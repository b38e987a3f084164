// A run log whose run was killed, or whose last writes a loss of power took: it goes on with the lines that are whole.
#pragma once

#include <string>

#include "base/result.h"

namespace pantoum::cli {

// Leaves in the file those lines that end as lines do and hold no control characters, nor more than 1 MiB; a file in which
// all are such is not touched, another is replaced as a whole. Memory: a line. E0201, E0901.
[[nodiscard]] Result<void> keep_whole_lines(const std::string& path);

}  // namespace pantoum::cli
