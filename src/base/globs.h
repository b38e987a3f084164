// Names that a user gives by globs, as the shell has them (fnmatch).
#pragma once

#include <fnmatch.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pantoum::base {

[[nodiscard]] inline bool matches(const std::string& glob, const std::string& name) {
  return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

[[nodiscard]] inline bool matches_any(const std::vector<std::string>& globs, const std::string& name) {
  return std::ranges::any_of(globs, [&](const std::string& glob) { return matches(glob, name); });
}

}  // namespace pantoum::base
