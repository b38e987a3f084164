// Names of other frameworks, and what they are called here.
#pragma once

#include <string>
#include <vector>

namespace pantoum::base {

// "mae is l1 here" where another framework's name is asked for among `names`; "" where it is not known, or not of this list.
// Capital letters, '_', '-' and an ending "loss" do not count.
[[nodiscard]] std::string foreign_name(const std::string& word, const std::vector<std::string>& names);

}  // namespace pantoum::base
