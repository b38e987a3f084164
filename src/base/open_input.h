// Opening a file that is read.
#pragma once

#include <string>

#include "base/result.h"

namespace pantoum::base {

// The descriptor of the file, opened for reading, which the caller closes. The file is recorded as an input. E0201: it cannot be opened.
[[nodiscard]] Result<int> open_input(const std::string& path);

}  // namespace pantoum::base
