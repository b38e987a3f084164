#include "plan/search/isomorphic_parts.h"

#include <algorithm>
#include <bit>
#include <map>

namespace pantoum::plan {
namespace {

constexpr int kDepth = 2;  // how far around a tensor its surroundings reach

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

uint64_t mix(uint64_t seed, uint64_t value) {
  uint64_t x = (seed ^ value) + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t first_kind(const Model& model, const TensorModel& tensor) {
  uint64_t kind = mix(static_cast<uint64_t>(tensor.size), static_cast<uint64_t>(tensor.intervals.size()));
  kind = mix(kind, static_cast<uint64_t>(tensor.start) * 2 + (tensor.pinned ? 1 : 0));
  if (tensor.producer < 0) return kind;
  const ChoiceModel& how = model.ops[z(tensor.producer)].choices.front();
  return mix(mix(kind, std::bit_cast<uint64_t>(how.joules)), how.reads.size());
}

}  // namespace

IsomorphicParts::IsomorphicParts(const Model& model) : model_(model) {
  const size_t count = model.tensors.size();
  users_.resize(count);
  for (size_t op = 0; op < model.ops.size(); ++op)
    for (const int32_t read : model.ops[op].choices.front().reads) users_[z(read)].push_back(static_cast<int32_t>(op));
  for (const TensorModel& tensor : model.tensors) kind_.push_back(first_kind(model, tensor));
  for (int depth = 0; depth < kDepth; ++depth) {
    std::vector<uint64_t> next = kind_;
    for (size_t tensor = 0; tensor < count; ++tensor) {
      if (const int32_t op = model.tensors[tensor].producer; op >= 0)
        for (const int32_t read : model.ops[z(op)].choices.front().reads)
          next[tensor] = mix(next[tensor], kind_[z(read)]);
      for (const int32_t user : users_[tensor])
        for (const int32_t made : model.ops[z(user)].choices.front().writes)
          next[tensor] = mix(next[tensor], kind_[z(made)] + 1);
    }
    kind_ = std::move(next);
  }
  std::map<uint64_t, std::vector<int32_t>> kinds;
  for (size_t tensor = 0; tensor < count; ++tensor) kinds[kind_[tensor]].push_back(static_cast<int32_t>(tensor));
  group_.assign(count, -1);
  for (auto& [kind, members] : kinds) {
    if (members.size() < 2) continue;
    for (const int32_t tensor : members) group_[z(tensor)] = static_cast<int32_t>(alike_.size());
    alike_.push_back(std::move(members));
  }
  for (size_t tensor = 0; tensor < count; ++tensor)
    if (group_[tensor] >= 0) starts_.push_back(static_cast<int32_t>(tensor));
  stamp_.assign(count, 0);
}

void IsomorphicParts::pair_up(int32_t here, int32_t there) {
  if (here == there || kind_[z(here)] != kind_[z(there)]) return;
  if (stamp_[z(here)] == draw_ || stamp_[z(there)] == draw_) return;
  stamp_[z(here)] = stamp_[z(there)] = draw_;
  pairs_.push_back({here, there});
}

const std::vector<Simulator::Change>& IsomorphicParts::draw(const Policy& policy, Random& random) {
  ++draw_;
  pairs_.clear();
  changes_.clear();
  const int32_t here = starts_[z(random.below(static_cast<int32_t>(starts_.size())))];
  const std::vector<int32_t>& alike = alike_[z(group_[z(here)])];
  pair_up(here, alike[z(random.below(static_cast<int32_t>(alike.size())))]);
  const size_t most = size_t{2} << random.below(6);
  for (size_t at = 0; at < pairs_.size() && pairs_.size() < most; ++at) {
    const Pair pair = pairs_[at];
    const int32_t made = model_.tensors[z(pair.here)].producer, made_there = model_.tensors[z(pair.there)].producer;
    if (made >= 0 && made_there >= 0) {
      const auto &reads = model_.ops[z(made)].choices.front().reads,
                 &others = model_.ops[z(made_there)].choices.front().reads;
      for (size_t read = 0; read < std::min(reads.size(), others.size()); ++read) pair_up(reads[read], others[read]);
    }
    const auto &users = users_[z(pair.here)], &others = users_[z(pair.there)];
    for (size_t user = 0; user < std::min(users.size(), others.size()); ++user) {
      const auto& made_here = model_.ops[z(users[user])].choices.front().writes;
      const auto& made_other = model_.ops[z(others[user])].choices.front().writes;
      for (size_t write = 0; write < std::min(made_here.size(), made_other.size()); ++write)
        pair_up(made_here[write], made_other[write]);
    }
  }
  const bool both = random.one_in(2);
  for (const Pair& pair : pairs_) {
    copy(policy, pair.here, pair.there);
    if (both) copy(policy, pair.there, pair.here);
  }
  return changes_;
}

// The policies of one tensor's intervals for another's; thresholds at the same distance from the interval's nearer end.
void IsomorphicParts::copy(const Policy& policy, int32_t from, int32_t to) {
  const TensorModel &source = model_.tensors[z(from)], &target = model_.tensors[z(to)];
  for (int32_t each = 0; each < std::min(source.intervals.size(), target.intervals.size()); ++each) {
    const Interval &there = model_.intervals[z(source.intervals[each])],
                   &here = model_.intervals[z(target.intervals[each])];
    if ((there.to == model_.never()) != (here.to == model_.never())) continue;
    const IntervalPolicy& old = policy.intervals[z(source.intervals[each])];
    const auto moved = [&](int32_t stage) {
      if (stage >= there.to) return here.to;
      const bool near_end = there.to != model_.never() && there.to - stage < stage - there.from;
      const int32_t at = near_end ? here.to - (there.to - stage) : here.from + (stage - there.from);
      return std::clamp(at, here.from, here.to);
    };
    IntervalPolicy copied{.evict = moved(old.evict),
                          .retain = moved(old.retain),
                          .until = moved(old.until),
                          .fetch = here.to,
                          .page = old.page};
    if (copied.evict >= here.to) copied = {.evict = here.to, .retain = here.to, .until = here.to, .fetch = here.to};
    if (copied.retain <= copied.evict) copied.retain = std::min(here.to, copied.evict + 1);
    if (copied.until <= copied.retain) copied.until = here.to;
    changes_.push_back({target.intervals[each], copied});
  }
}

}  // namespace pantoum::plan
