#include "base/nearest_name.h"

#include <algorithm>
#include <cctype>

#include "base/foreign_names.h"

namespace pantoum::base {
namespace {

constexpr size_t kLongest = 200;  // letters: longer names are nobody's slip of the finger

// The distance of Damerau (1964) and Levenshtein (1966); letters are swapped at most once.
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

// Without dashes, in small letters, '-' for '_'.
std::string plain(std::string word) {
  word.erase(0, word.find_first_not_of('-') == std::string::npos ? 0 : word.find_first_not_of('-'));
  for (char& letter : word)
    letter = letter == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return word;
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

std::string likely_name(const std::string& word, const std::vector<std::string>& names) {
  const std::string wanted = plain(word);
  if (wanted.empty()) return {};
  std::vector<std::string> bare;
  bare.reserve(names.size());
  for (const std::string& name : names) bare.push_back(plain(name));
  const auto of = [&](auto found) { return names[static_cast<size_t>(found - bare.begin())]; };
  if (const auto same = std::find(bare.begin(), bare.end(), wanted); same != bare.end()) return of(same);
  const auto begins = [&](const std::string& name) { return wanted.size() >= 3 && name.starts_with(wanted); };
  if (const auto longer = std::find_if(bare.begin(), bare.end(), begins); longer != bare.end()) return of(longer);
  const auto found = std::find(bare.begin(), bare.end(), nearest_name(wanted, bare));
  return found == bare.end() || found->empty() ? "" : of(found);
}

std::string hint_at(const std::string& word, const std::vector<std::string>& names) {
  const std::string likely = likely_name(word, names);
  if (const std::string known = foreign_name(word, names); !known.empty() && plain(word) != plain(likely))
    return known + "; ";
  return likely.empty() ? "" : "did you mean " + likely + "? ";
}

}  // namespace pantoum::base
