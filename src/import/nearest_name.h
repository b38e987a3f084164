// The name that a user may have meant.
#pragma once

#include <string>
#include <vector>

namespace pantoum::import {

// The candidate that the fewest letters (added, left out, changed, or two swapped) turn into `name`, at most a third of
// them; "" where there is none. The first of several. Quadratic in the length of names.
[[nodiscard]] std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace pantoum::import
