// What lists of values are asked for again and again.
#pragma once

#include <algorithm>

namespace pantoum::base {

// Is the value in the list? Cost: linear.
template <class List, class Value>
[[nodiscard]] constexpr bool contains(const List& list, const Value& value) {
  return std::ranges::find(list, value) != list.end();
}

// Sorts the list, and leaves each value once.
template <class List>
constexpr void make_set(List& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());  // clang 14 does not take the subrange of std::ranges::unique
}

}  // namespace pantoum::base
