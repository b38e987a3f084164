#include "place/place.h"

#include <fmt/format.h>

#include <algorithm>

#include "place/boxes.h"
#include "place/greedy.h"

namespace pantoum::place {
namespace {

Placement by_stay(const std::vector<Stay>& stays, const Boxes& boxes, const Offsets& offsets) {
  Placement placement;
  placement.at.reserve(stays.size());
  for (size_t stay = 0; stay < stays.size(); ++stay) {
    const int32_t box = boxes.box_of[stay];
    placement.at.push_back(box < 0 ? boxes.offset_of[stay] : offsets.at[static_cast<size_t>(box)]);
    placement.arena_bytes = std::max(placement.arena_bytes, placement.at.back() + stays[stay].size);
  }
  return placement;
}

}  // namespace

Bytes load_of(const std::vector<Stay>& stays, Bytes align) {
  const Result<Boxes> boxes = make_boxes(stays, align);
  return boxes ? least_arena(*boxes) : 0;
}

Result<Placement> place(const std::vector<Stay>& stays, const PlaceOptions& options, bool* proved) {
  if (proved != nullptr) *proved = false;
  PANTOUM_ASSIGN(const Boxes boxes, make_boxes(stays, options.align));
  const Bytes least = least_arena(boxes);
  if (options.capacity > 0 && least > options.capacity) {
    if (proved != nullptr) *proved = true;
    return fail("E0310", fmt::format("the stays need {} bytes at one moment, and the arena may have {}", least,
                                     options.capacity));
  }
  Offsets best;
  bool any = false;
  for (const auto& order : greedy_orders(boxes))
    for (const Fit fit : {Fit::kFirst, Fit::kBest}) {
      Offsets found = greedy(boxes, order, fit);
      if (!any || found.arena < best.arena) best = std::move(found);
      any = true;
      if (best.arena <= std::max(least, options.capacity)) return by_stay(stays, boxes, best);
    }
  if (options.capacity == 0) return by_stay(stays, boxes, best);
  return fail("E0310",
              fmt::format("the smallest arena found has {} bytes, and it may have {}", best.arena, options.capacity));
}

}  // namespace pantoum::place
