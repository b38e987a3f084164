#include "import/nearest_name.h"

#include <algorithm>

namespace pantoum::import {
namespace {

constexpr size_t kLongest = 200;  // letters: longer names are nobody's slip of the finger

// After Damerau (1964) and Levenshtein (1966); letters are swapped at most once.
size_t edits(const std::string& from, const std::string& to) {
  std::vector<size_t> older(to.size() + 1), last(to.size() + 1), now(to.size() + 1);
  for (size_t at = 0; at <= to.size(); ++at) last[at] = at;
  for (size_t row = 1; row <= from.size(); ++row) {
    now[0] = row;
    for (size_t at = 1; at <= to.size(); ++at) {
      const bool same = from[row - 1] == to[at - 1];
      now[at] = std::min({last[at] + 1, now[at - 1] + 1, last[at - 1] + (same ? 0 : 1)});
      const bool swapped = row > 1 && at > 1 && from[row - 1] == to[at - 2] && from[row - 2] == to[at - 1];
      if (swapped) now[at] = std::min(now[at], older[at - 2] + 1);
    }
    std::swap(older, last);
    std::swap(last, now);
  }
  return last[to.size()];
}

}  // namespace

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  if (name.size() > kLongest) return {};
  std::string nearest;
  size_t fewest = name.size() / 3 + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const size_t count = edits(name, candidate);
    if (count >= fewest) continue;
    fewest = count;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace pantoum::import
