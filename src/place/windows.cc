#include "place/canonical_search.h"

#include <algorithm>
#include <functional>

namespace pantoum::place {
namespace {

constexpr int64_t kNodesPerWindow = 2000;

struct Window {
  Boxes boxes;
  std::vector<int32_t> rank;
};

Window cut_out(const Boxes& boxes, const std::vector<int32_t>& rank, Interval range) {
  Window window;
  window.boxes.moments = range.end - range.begin;
  for (size_t number = 0; number < boxes.boxes.size(); ++number) {
    const Box& box = boxes.boxes[number];
    std::vector<Interval> live;
    for (const Interval& interval : box.live) {
      const Interval part{std::max(interval.begin, range.begin), std::min(interval.end, range.end)};
      if (part.begin < part.end) live.push_back({part.begin - range.begin, part.end - range.begin});
    }
    if (live.empty()) continue;
    window.boxes.boxes.push_back({live, box.duration, box.size, box.bytes, box.fixed});
    window.rank.push_back(rank[number]);
  }
  return window;
}

// Returns the moments at which a box begins, by descending live bytes. Other moments need no search: every box that is live there is live at the
// moment before, too.
std::vector<int32_t> crowded_moments(const Boxes& boxes) {
  const std::vector<Bytes> live_bytes = live_bytes_by_moment(boxes);
  std::vector<uint8_t> begins(live_bytes.size(), 0);
  for (const Box& box : boxes.boxes)
    for (const Interval& interval : box.live) begins[position_of(interval.begin)] = 1;
  std::vector<int32_t> moments;
  for (int32_t moment = 0; moment < boxes.moments; ++moment)
    if (begins[position_of(moment)] != 0) moments.push_back(moment);
  std::ranges::stable_sort(moments, std::greater{}, [&](int32_t moment) { return live_bytes[position_of(moment)]; });
  return moments;
}

}  // namespace

bool some_window_overfull(const Boxes& boxes, Bytes budget, int32_t reach, SearchLimit& limit) {
  const std::vector<int32_t> rank = search_ranks(boxes)[2];
  std::vector<uint8_t> seen(position_of(boxes.moments), 0);
  for (const int32_t moment : crowded_moments(boxes)) {
    if (limit.nodes <= 0 || past(limit.deadline)) return false;
    if (seen[position_of(moment)] != 0) continue;
    std::fill(seen.begin() + std::max(0, moment - reach / 2),
              seen.begin() + std::min(boxes.moments, moment + reach / 2 + 1), uint8_t{1});
    const Window window =
        cut_out(boxes, rank, {std::max(0, moment - reach), std::min(boxes.moments, moment + reach + 1)});
    limit.nodes -= static_cast<int64_t>(
        window.rank.size());  // cutting the window out takes about as long as searching this many nodes
    SearchLimit some{std::clamp<int64_t>(limit.nodes, 1, kNodesPerWindow), limit.deadline};
    const int64_t granted = some.nodes;
    if (CanonicalSearch(window.boxes, budget).run(window.rank, some) == Outcome::kNone) return true;
    limit.nodes -= granted - some.nodes;
  }
  return false;
}

}  // namespace pantoum::place
