#include "place/skyline.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace pantoum::place {

Skyline::Skyline(const Boxes& boxes, Bytes budget)
    : boxes_(boxes.boxes), budget_(budget), words_((boxes.boxes.size() + 63) / 64) {
  const auto moments = static_cast<size_t>(boxes.moments);
  roof_.assign(moments, budget);
  left_.assign(moments, 0);
  crossing_.assign(moments + 1, 0);
  witness_.assign(moments, 0);
  open_set_.assign(words_, 0);
  for (size_t box = 0; box < boxes_.size(); ++box) enter(static_cast<int32_t>(box));
  at_.assign(boxes_.size(), 0);
  support_.assign(boxes_.size(), -1);
  find_alive();
  for (size_t moment = 0; moment < moments; ++moment)
    if (left_[moment] > 0) witness_[moment] = alive_[index(alive_from_[moment])];
}

void Skyline::enter(int32_t number) {
  const Box& box = boxes_[index(number)];
  size_.push_back(box.size);
  bytes_.push_back(box.bytes);
  span_.push_back({box.live.front().begin, box.live.back().end});
  offset_.push_back(0);
  bound_.push_back(box.fixed.value_or(0));
  open_.push_back(1);
  open_set_[index(number) / 64] |= uint64_t{1} << (number % 64);
  for (const Interval& interval : box.live)
    for (int32_t moment = interval.begin; moment < interval.end; ++moment)
      roof_[index(moment)] = std::max(roof_[index(moment)], budget_ + box.size - box.bytes);
  count(number, 1);
}

// Adds an open box to the sections, or takes it away.
void Skyline::count(int32_t box, int sign) {
  for (const Interval& interval : boxes_[index(box)].live)
    for (int32_t moment = interval.begin; moment < interval.end; ++moment)
      left_[index(moment)] += sign * size_[index(box)];
  const Interval span = span_[index(box)];
  for (int32_t moment = span.begin + 1; moment < span.end; ++moment) crossing_[index(moment)] += sign;
}

// Goes through time with the list of boxes that live; what begins to live is a neighbour of all in the list.
void Skyline::find_alive() {
  std::vector<std::vector<int32_t>> begins(left_.size() + 1), ends(left_.size() + 1);
  for (size_t box = 0; box < boxes_.size(); ++box)
    for (const Interval& interval : boxes_[box].live) {
      begins[index(interval.begin)].push_back(static_cast<int32_t>(box));
      ends[index(interval.end)].push_back(static_cast<int32_t>(box));
    }
  neighbours_.assign(boxes_.size() * words_, 0);
  alive_from_.push_back(0);
  std::vector<int32_t> live;
  std::vector<size_t> position(boxes_.size());
  for (size_t moment = 0; moment < left_.size(); ++moment) {
    for (const int32_t box : ends[moment]) {
      position[index(live.back())] = position[index(box)];
      live[position[index(box)]] = live.back();
      live.pop_back();
    }
    for (const int32_t box : begins[moment]) {
      for (const int32_t other : live) join(box, other);
      position[index(box)] = live.size();
      live.push_back(box);
    }
    alive_.insert(alive_.end(), live.begin(), live.end());
    alive_from_.push_back(static_cast<int32_t>(alive_.size()));
  }
}

void Skyline::join(int32_t a, int32_t b) {
  neighbours_[index(a) * words_ + index(b) / 64] |= uint64_t{1} << (b % 64);
  neighbours_[index(b) * words_ + index(a) / 64] |= uint64_t{1} << (a % 64);
}

template <typename Visit>
bool Skyline::each_open_neighbour(int32_t box, const Visit& visit) const {
  const uint64_t* const neighbours = &neighbours_[index(box) * words_];
  for (size_t word = 0; word < words_; ++word)
    for (uint64_t rest = neighbours[word] & open_set_[word]; rest != 0; rest &= rest - 1)
      if (!visit(static_cast<int32_t>(word * 64) + std::countr_zero(rest))) return false;
  return true;
}

bool Skyline::settle(int32_t box, Bytes at) {
  trail_.push_back({~box, 0, 0});
  at_[index(box)] = at;
  open_[index(box)] = 0;
  open_set_[index(box) / 64] &= ~(uint64_t{1} << (box % 64));
  count(box, -1);
  touched_ = span_[index(box)];
  return lift_neighbours(box, at + size_[index(box)]);
}

bool Skyline::lift_neighbours(int32_t box, Bytes top) {
  return each_open_neighbour(box, [&](int32_t other) {
    if (offset_[index(other)] >= top) return true;
    record(other);
    offset_[index(other)] = top;
    if (boxes_[index(other)].fixed) return top <= bound_[index(other)];
    if (bound_[index(other)] >= top) return true;
    bound_[index(other)] = top;
    touch(other);
    return top + bytes_[index(other)] <= budget_;
  });
}

bool Skyline::raise_sunk(const std::vector<int32_t>& sunk, Bytes level) {
  touched_ = {std::numeric_limits<int32_t>::max(), 0};
  for (const int32_t box : sunk)
    if (!raise(box, level)) return false;
  return has_headroom(touched_);
}

bool Skyline::raise(int32_t box, Bytes level) {
  if (boxes_[index(box)].fixed) return false;
  Bytes& bound = bound_[index(box)];
  int32_t& support = support_[index(box)];
  const auto top = [&](int32_t other) { return std::max(bound_[index(other)], level) + size_[index(other)]; };
  if (support >= 0 && open(support) && top(support) <= bound) return true;
  Bytes lowest = std::numeric_limits<Bytes>::max();
  const bool raised = each_open_neighbour(box, [&](int32_t other) {
    if (top(other) < lowest) {
      lowest = top(other);
      support = other;
    }
    return lowest > bound;
  });
  if (!raised) return true;
  if (lowest > budget_ - bytes_[index(box)]) return false;
  record(box);
  bound = lowest;
  touch(box);
  return true;
}

void Skyline::touch(int32_t box) {
  touched_.begin = std::min(touched_.begin, span_[index(box)].begin);
  touched_.end = std::max(touched_.end, span_[index(box)].end);
}

bool Skyline::has_headroom(Interval range) {
  for (int32_t moment = range.begin; moment < range.end; ++moment) {
    const int32_t witness = witness_[index(moment)];
    if (left_[index(moment)] == 0 || (open(witness) && bound_[index(witness)] <= headroom(moment))) continue;
    if (!find_witness(moment, headroom(moment))) return false;
  }
  return true;
}

bool Skyline::find_witness(int32_t moment, Bytes headroom) {
  for (int32_t at = alive_from_[index(moment)]; at < alive_from_[index(moment) + 1]; ++at) {
    const int32_t box = alive_[index(at)];
    if (!open(box) || bound_[index(box)] > headroom) continue;
    witness_[index(moment)] = box;
    return true;
  }
  return false;
}

Bytes Skyline::least_headroom(Interval range) const {
  Bytes least = std::numeric_limits<Bytes>::max();
  for (int32_t moment = range.begin; moment < range.end; ++moment) least = std::min(least, headroom(moment));
  return least;
}

void Skyline::undo(size_t mark) {
  for (; trail_.size() > mark; trail_.pop_back()) {
    const Change& change = trail_.back();
    if (change.box >= 0) {
      offset_[index(change.box)] = change.offset;
      bound_[index(change.box)] = change.bound;
      continue;
    }
    const int32_t box = ~change.box;
    open_[index(box)] = 1;
    open_set_[index(box) / 64] |= uint64_t{1} << (box % 64);
    count(box, 1);
  }
}

}  // namespace pantoum::place
