// Budgets as users write them for a sweep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace pantoum::pipeline {

// "64KiB:1MiB:16" (from, to, how many: equal steps), "64KiB,128KiB,1MiB", or one budget -> bytes, upward, each once.
// E0110 a unit is missing, or the range is none (from > to, less than 2 or more than 10000 budgets); E0300 a budget of
// 0.
[[nodiscard]] Result<std::vector<int64_t>> parse_budgets(const std::string& text, const std::string& option);

}  // namespace pantoum::pipeline
