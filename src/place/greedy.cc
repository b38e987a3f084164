#include "place/greedy.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace pantoum::place {
namespace {

struct Placed {  // one interval of a placed box
  int32_t begin, end;
  Bytes at, top;
};

bool meets(const Box& box, const Placed& placed) {
  for (const Interval& interval : box.live)
    if (interval.begin < placed.end && placed.begin < interval.end) return true;
  return false;
}

// Offset of a gap for `box` among `placed`, which ascend by offset.
Bytes find_gap(const Box& box, const std::vector<Placed>& placed, Fit fit) {
  Bytes free_from = 0, best_at = -1, best_gap = std::numeric_limits<Bytes>::max();
  for (const Placed& other : placed) {
    if (other.top <= free_from || !meets(box, other)) continue;
    const Bytes gap = other.at - free_from;
    if (gap >= box.size && gap < best_gap) {
      best_at = free_from;
      best_gap = gap;
      if (fit == Fit::kFirst) return best_at;
    }
    free_from = std::max(free_from, other.top);
  }
  return best_at >= 0 ? best_at : free_from;
}

void insert(const Box& box, Bytes at, std::vector<Placed>& placed) {
  const auto before = [](Bytes offset, const Placed& other) { return offset < other.at; };
  for (const Interval& interval : box.live)
    placed.insert(std::upper_bound(placed.begin(), placed.end(), at, before),
                  {interval.begin, interval.end, at, at + box.size});
}

// Each box of `rest` goes on top of all that has been placed.
void pile(const Boxes& boxes, const std::vector<int32_t>& rest, const std::vector<Placed>& placed, Offsets& result) {
  std::vector<Bytes> top(position_of(boxes.moments), 0);
  for (const Placed& one : placed)
    for (int32_t moment = one.begin; moment < one.end; ++moment)
      top[position_of(moment)] = std::max(top[position_of(moment)], one.top);
  for (const int32_t number : rest) {
    const Box& box = boxes.boxes[position_of(number)];
    if (box.fixed) continue;
    Bytes at = 0;
    for (const Interval& interval : box.live)
      at = std::max(at, *std::max_element(top.begin() + interval.begin, top.begin() + interval.end));
    for (const Interval& interval : box.live)
      std::fill(top.begin() + interval.begin, top.begin() + interval.end, at + box.size);
    result.at[position_of(number)] = at;
    result.arena = std::max(result.arena, at + box.bytes);
  }
}

int64_t lifetime(const Box& box) {
  int64_t sum = 0;
  for (const Interval& interval : box.live) sum += interval.end - interval.begin;
  return sum;
}

struct Measures {  // by box; larger goes first
  std::vector<double> size, length, area, begin, end, crowd, duration, extent;
};

Measures measure(const Boxes& boxes) {
  const std::vector<Bytes> live_bytes = live_bytes_by_moment(boxes);
  Measures measures;
  for (const Box& box : boxes.boxes) {
    const auto size = static_cast<double>(box.size), length = static_cast<double>(lifetime(box));
    measures.size.push_back(size);
    measures.length.push_back(length);
    measures.area.push_back(size * length);
    measures.duration.push_back(static_cast<double>(box.duration));
    measures.extent.push_back(size * static_cast<double>(box.duration));
    measures.begin.push_back(-static_cast<double>(box.live.front().begin));
    measures.end.push_back(static_cast<double>(box.live.back().end));
    Bytes most = 0;
    for (const Interval& interval : box.live)
      most = std::max(most, *std::max_element(live_bytes.begin() + interval.begin, live_bytes.begin() + interval.end));
    measures.crowd.push_back(static_cast<double>(most));
  }
  return measures;
}

using Scores = std::vector<const std::vector<double>*>;

// Order by descending scores, the first of which counts most; ties by begin, then by number: the same on every machine.
std::vector<int32_t> descending(const Boxes& boxes, const Scores& scores) {
  std::vector<int32_t> order(boxes.boxes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) {
    const auto left = position_of(a), right = position_of(b);
    for (const std::vector<double>* score : scores)
      if ((*score)[left] != (*score)[right]) return (*score)[left] > (*score)[right];
    return boxes.boxes[left].live.front().begin < boxes.boxes[right].live.front().begin;
  });
  return order;
}

}  // namespace

Offsets greedy(const Boxes& boxes, const std::vector<int32_t>& order, Fit fit, const Deadline& deadline) {
  Offsets result{std::vector<Bytes>(boxes.boxes.size(), 0), 0};
  std::vector<Placed> placed;
  placed.reserve(boxes.boxes.size());
  const auto put = [&](size_t box, Bytes at) {
    result.at[box] = at;
    result.arena = std::max(result.arena, at + boxes.boxes[box].bytes);
    insert(boxes.boxes[box], at, placed);
  };
  for (size_t box = 0; box < boxes.boxes.size(); ++box)
    if (boxes.boxes[box].fixed) put(box, *boxes.boxes[box].fixed);
  for (size_t next = 0; next < order.size(); ++next) {
    if (next % 16 == 0 && past(deadline)) {
      pile(boxes, {order.begin() + static_cast<std::ptrdiff_t>(next), order.end()}, placed, result);
      break;
    }
    const auto box = position_of(order[next]);
    if (!boxes.boxes[box].fixed) put(box, find_gap(boxes.boxes[box], placed, fit));
  }
  return result;
}

std::vector<std::vector<int32_t>> greedy_orders(const Boxes& boxes) {
  const Measures measures = measure(boxes);
  std::vector<std::vector<int32_t>> orders;
  for (const auto* score :
       {&measures.size, &measures.area, &measures.length, &measures.crowd, &measures.begin, &measures.end})
    orders.push_back(descending(boxes, {score}));
  return orders;
}

std::vector<std::vector<int32_t>> search_ranks(const Boxes& boxes) {
  const Measures measures = measure(boxes);
  const auto& [size, length, area, begin, end, crowd, duration, extent] = measures;
  std::vector<std::vector<int32_t>> ranks;
  for (const auto& scores :
       {Scores{&duration, &extent, &crowd}, Scores{&crowd, &extent, &duration}, Scores{&crowd, &duration, &extent},
        Scores{&extent, &crowd, &duration}, Scores{&crowd, &area, &length}, Scores{&length, &area, &crowd}}) {
    ranks.push_back(ranks_in(descending(boxes, scores)));
  }
  return ranks;
}

std::vector<int32_t> ranks_in(const std::vector<int32_t>& order) {
  std::vector<int32_t> ranks(order.size());
  for (size_t place = 0; place < order.size(); ++place) ranks[position_of(order[place])] = static_cast<int32_t>(place);
  return ranks;
}

Bytes arena_of(const Boxes& boxes, const std::vector<Bytes>& at) {
  Bytes arena = 0;
  for (size_t box = 0; box < at.size(); ++box) arena = std::max(arena, at[box] + boxes.boxes[box].bytes);
  return arena;
}

}  // namespace pantoum::place
