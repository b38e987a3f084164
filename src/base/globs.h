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

// `globs`: one, or several with | between them; a | between brackets is a letter.
[[nodiscard]] inline bool matches_one(const std::string& globs, const std::string& name) {
  size_t begin = 0;
  for (size_t at = 0; at <= globs.size(); ++at) {
    if (at == globs.size() || globs[at] == '|') {
      if (matches(globs.substr(begin, at - begin), name)) return true;
      begin = at + 1;
    } else if (globs[at] == '[') {
      const bool negated = at + 1 < globs.size() && (globs[at + 1] == '!' || globs[at + 1] == '^');
      const size_t end = globs.find(']', at + (negated ? 3 : 2));  // a ] that comes first is a letter
      if (end != std::string::npos) at = end;
    }
  }
  return false;
}

}  // namespace pantoum::base
