// A judge of placements for tests and benchmarks: pairs against pairs, straight from the contract in place.h.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "place/place.h"

namespace pantoum::place {
inline Result<void> check_one(const Allocation& allocation, Bytes at, size_t index, const Placement& placement,
                              const PlaceOptions& options) {
  if (at < 0 || at % std::max<Bytes>(1, options.align) != 0)
    return fail("E0312", fmt::format("allocation {} is at {}, which is no multiple of {}", index, at, options.align));
  if (allocation.fixed && *allocation.fixed != at)
    return fail("E0312", fmt::format("allocation {} is at {} and was fixed at {}", index, at, *allocation.fixed));
  if (allocation.begin >= allocation.end) return {};  // never lives: takes no bytes
  if (allocation.size > placement.arena_bytes || at > placement.arena_bytes - allocation.size)
    return fail("E0312", fmt::format("allocation {} ends above the arena of {} bytes", index, placement.arena_bytes));
  return {};
}

inline bool same_group(const Allocation& a, const Allocation& b) {
  return a.group >= 0 && a.group == b.group;
}

inline bool collide(const Allocation& a, Bytes at_a, const Allocation& b, Bytes at_b) {
  const bool in_time = a.begin < b.end && b.begin < a.end && a.begin < a.end && b.begin < b.end;
  const bool in_space = at_a < at_b + b.size && at_b < at_a + a.size && a.size > 0 && b.size > 0;
  return in_time && in_space;
}

// E0312 unless no two allocations overlap, groups share offsets, alignment and budget hold. O(n^2), shares nothing with
// the search.
inline Result<void> validate(const std::vector<Allocation>& allocations, const Placement& placement,
                             const PlaceOptions& options) {
  if (placement.at.size() != allocations.size())
    return fail("E0312", fmt::format("{} allocations and {} offsets", allocations.size(), placement.at.size()));
  if (options.budget && placement.arena_bytes > *options.budget)
    return fail("E0312",
                fmt::format("the arena has {} bytes, and may have {}", placement.arena_bytes, *options.budget));
  std::unordered_map<int32_t, Bytes> offset_of_group;
  for (size_t allocation = 0; allocation < allocations.size(); ++allocation) {
    const Bytes at = placement.at[allocation];
    PANTOUM_TRY(check_one(allocations[allocation], at, allocation, placement, options));
    if (allocations[allocation].group >= 0 &&
        offset_of_group.emplace(allocations[allocation].group, at).first->second != at)
      return fail("E0312", fmt::format("the allocations of group {} have two offsets", allocations[allocation].group));
  }
  for (size_t first = 0; first < allocations.size(); ++first)
    for (size_t second = first + 1; second < allocations.size(); ++second)
      if (!same_group(allocations[first], allocations[second]) &&
          collide(allocations[first], placement.at[first], allocations[second], placement.at[second]))
        return fail("E0312", fmt::format("allocations {} and {} overlap in time and space", first, second));
  return {};
}

}  // namespace pantoum::place
