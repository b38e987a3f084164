// The name that a user may have meant.
#pragma once

#include <string>
#include <vector>

namespace pantoum::base {

// The candidate that the fewest letters (added, left out, changed, or two swapped) turn into `name`, at most a third of
// them; "" where there is none. The first of several. Quadratic in the length of names.
[[nodiscard]] std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

// The name that `word` is most likely a slip of: the same in another case or with other dashes, one that it begins, or
// the nearest by letters. "" where none is near.
[[nodiscard]] std::string likely_name(const std::string& word, const std::vector<std::string>& names);

// "did you mean adam? ", or what another framework's name is called here (foreign_names.h), or "" where nothing is near.
[[nodiscard]] std::string hint_at(const std::string& word, const std::vector<std::string>& names);

}  // namespace pantoum::base
