#include "place/boxes.h"
#include "base/lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace pantoum::place {
namespace {

constexpr Bytes kMost = Bytes{1} << 60;  // of one size, offset or alignment; larger ones could overflow sums

Result<void> check_allocation(const Allocation& allocation, size_t index, Bytes align) {
  if (allocation.size < 0 || allocation.size > kMost)
    return fail("E0311", fmt::format("allocation {} has an impossible size of {}", index, allocation.size));
  if (allocation.fixed && (*allocation.fixed < 0 || *allocation.fixed > kMost))
    return fail("E0311", fmt::format("allocation {} is fixed at an impossible offset, {}", index, *allocation.fixed));
  if (allocation.fixed && *allocation.fixed % align != 0)
    return fail("E0311", fmt::format("allocation {} is fixed at {}, which is no multiple of {}", index,
                                     *allocation.fixed, align));
  return {};
}

// One box per group and per allocation without a group, in the order of their first allocations.
class Gatherer {
 public:
  Gatherer(const std::vector<Allocation>& allocations, Bytes align) : stays_(allocations), align_(align) {}

  Result<Boxes> run() {
    for (size_t allocation = 0; allocation < stays_.size(); ++allocation) {
      PANTOUM_TRY(check_allocation(stays_[allocation], allocation, align_));
      PANTOUM_TRY(add(allocation));
    }
    compress_time();
    drop_empty();
    PANTOUM_TRY(fixed_apart());
    return std::move(result_);
  }

 private:
  struct Lifetime {
    int64_t begin, end;
  };

  Result<void> add(size_t index) {
    const Allocation& allocation = stays_[index];
    size_t box = result_.boxes.size();
    if (allocation.group >= 0) box = box_of_group_.emplace(allocation.group, box).first->second;
    if (box == result_.boxes.size()) {
      result_.boxes.emplace_back();
      lifetimes_.emplace_back();
    }
    result_.box_of.push_back(static_cast<int32_t>(box));
    Box& target = result_.boxes[box];
    if (allocation.fixed && target.fixed && *target.fixed != *allocation.fixed)
      return fail("E0311",
                  fmt::format("group {} is fixed at {} and at {}", allocation.group, *target.fixed, *allocation.fixed));
    if (allocation.fixed) target.fixed = allocation.fixed;
    if (allocation.begin >= allocation.end) return {};
    target.bytes = std::max(target.bytes, allocation.size);
    target.size = (target.bytes + align_ - 1) / align_ * align_;
    lifetimes_[box].push_back({allocation.begin, allocation.end});
    return {};
  }

  void compress_time() {
    std::vector<int64_t> times;
    for (const auto& lifetimes : lifetimes_)
      for (const Lifetime& lifetime : lifetimes) times.insert(times.end(), {lifetime.begin, lifetime.end});
    base::make_set(times);
    result_.moments = times.empty() ? 0 : static_cast<int32_t>(times.size() - 1);
    const auto moment = [&](int64_t time) {
      return static_cast<int32_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
    };
    for (size_t box = 0; box < lifetimes_.size(); ++box) {
      std::vector<Interval>& live = result_.boxes[box].live;
      for (const Lifetime& lifetime : lifetimes_[box]) live.push_back({moment(lifetime.begin), moment(lifetime.end)});
      merge(live);
      for (const Interval& interval : live)
        result_.boxes[box].duration += times[position_of(interval.end)] - times[position_of(interval.begin)];
    }
  }

  static void merge(std::vector<Interval>& live) {
    std::ranges::sort(live, {}, &Interval::begin);
    size_t kept = 0;
    for (const Interval& interval : live) {
      if (kept > 0 && interval.begin <= live[kept - 1].end) {
        live[kept - 1].end = std::max(live[kept - 1].end, interval.end);
      } else {
        live[kept++] = interval;
      }
    }
    live.resize(kept);
  }

  void drop_empty() {
    std::vector<int32_t> renamed(result_.boxes.size(), -1);
    std::vector<Bytes> offset(result_.boxes.size(), 0);
    size_t kept = 0;
    for (size_t box = 0; box < result_.boxes.size(); ++box) {
      offset[box] = result_.boxes[box].fixed.value_or(0);
      if (result_.boxes[box].size == 0 || result_.boxes[box].live.empty()) continue;
      renamed[box] = static_cast<int32_t>(kept);
      if (kept != box) result_.boxes[kept] = std::move(result_.boxes[box]);
      ++kept;
    }
    result_.boxes.resize(kept);
    result_.offset_of.assign(stays_.size(), 0);
    for (size_t allocation = 0; allocation < stays_.size(); ++allocation) {
      const auto box = position_of(result_.box_of[allocation]);
      result_.offset_of[allocation] = offset[box];
      result_.box_of[allocation] = renamed[box];
    }
  }

  // Fixed boxes in the order of their offsets; those below reach up to `top_` at each moment.
  Result<void> fixed_apart() const {
    std::vector<const Box*> fixed;
    for (const Box& box : result_.boxes)
      if (box.fixed) fixed.push_back(&box);
    std::ranges::sort(fixed, {}, [](const Box* one) { return *one->fixed; });
    std::vector<Bytes> top(position_of(result_.moments), 0);
    for (const Box* box : fixed)
      for (const Interval& interval : box->live)
        for (int32_t moment = interval.begin; moment < interval.end; ++moment) {
          Bytes& reached = top[position_of(moment)];
          if (reached > *box->fixed)
            return fail("E0311", fmt::format("two allocations with fixed offsets collide at byte {}", *box->fixed));
          reached = *box->fixed + box->size;
        }
    return {};
  }

  const std::vector<Allocation>& stays_;
  const Bytes align_;
  Boxes result_;
  std::vector<std::vector<Lifetime>> lifetimes_;
  std::unordered_map<int32_t, size_t> box_of_group_;
};

}  // namespace

Result<Boxes> make_boxes(const std::vector<Allocation>& allocations, Bytes align) {
  if (align < 1 || align > kMost) return fail("E0311", fmt::format("an alignment of {} is impossible", align));
  return Gatherer(allocations, align).run();
}

std::vector<Bytes> live_bytes_by_moment(const Boxes& boxes) {
  std::vector<Bytes> live_bytes(position_of(boxes.moments) + 1, 0);
  for (const Box& box : boxes.boxes)
    for (const Interval& interval : box.live) {
      live_bytes[position_of(interval.begin)] += box.size;
      live_bytes[position_of(interval.end)] -= box.size;
    }
  Bytes sum = 0;
  for (Bytes& bytes : live_bytes) bytes = sum += bytes;
  if (!live_bytes.empty()) live_bytes.pop_back();
  return live_bytes;
}

Bytes least_arena(const Boxes& boxes) {
  const std::vector<Bytes> live_bytes = live_bytes_by_moment(boxes);
  std::vector<Bytes> spared(live_bytes.size(), 0);
  Bytes least = 0;
  for (const Box& box : boxes.boxes) {
    if (box.fixed) least = std::max(least, *box.fixed + box.bytes);
    if (box.size == box.bytes) continue;
    for (const Interval& interval : box.live)
      for (int32_t moment = interval.begin; moment < interval.end; ++moment)
        spared[position_of(moment)] = std::max(spared[position_of(moment)], box.size - box.bytes);
  }
  for (size_t moment = 0; moment < live_bytes.size(); ++moment)
    least = std::max(least, live_bytes[moment] - spared[moment]);
  return least;
}

}  // namespace pantoum::place
