#include "plan/search/isomorphic_parts.h"

#include <algorithm>
#include <bit>
#include <map>

namespace pantoum::plan {
namespace {

constexpr int kDepth = 2;  // how far around a tensor its surroundings reach

uint64_t mix(uint64_t seed, uint64_t value) {
  uint64_t x = (seed ^ value) + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t first_kind(const Model& model, const TensorModel& tensor) {
  uint64_t kind = mix(static_cast<uint64_t>(tensor.size), static_cast<uint64_t>(tensor.intervals.size()));
  kind = mix(kind, static_cast<uint64_t>(tensor.start) * 2 + (tensor.pinned ? 1 : 0));
  if (!tensor.producer.exists()) return kind;
  const ChoiceModel& how = model.ops[tensor.producer].choices.front();
  return mix(mix(kind, std::bit_cast<uint64_t>(how.joules)), how.reads.size());
}

}  // namespace

IsomorphicParts::IsomorphicParts(const Model& model) : model_(model) {
  const size_t count = model.tensors.size();
  users_.resize(count);
  for (const OpIndex op : model.ops.indices())
    for (const TensorIndex read : model.ops[op].choices.front().reads) users_[read].push_back(op);
  for (const TensorModel& tensor : model.tensors) kind_.push_back(first_kind(model, tensor));
  for (int depth = 0; depth < kDepth; ++depth) {
    Indexed<TensorIndex, uint64_t> next = kind_;
    for (const TensorIndex tensor : kind_.indices()) {
      if (const OpIndex op = model.tensors[tensor].producer; op.exists())
        for (const TensorIndex read : model.ops[op].choices.front().reads)
          next[tensor] = mix(next[tensor], kind_[read]);
      for (const OpIndex user : users_[tensor])
        for (const TensorIndex made : model.ops[user].choices.front().writes)
          next[tensor] = mix(next[tensor], kind_[made] + 1);
    }
    kind_ = std::move(next);
  }
  group_kinds();
  stamp_.assign(count, 0);
}

void IsomorphicParts::group_kinds() {
  std::map<uint64_t, std::vector<TensorIndex>> kinds;
  for (const TensorIndex tensor : kind_.indices()) kinds[kind_[tensor]].push_back(tensor);
  group_.resize(kind_.size());
  for (auto& [kind, members] : kinds) {
    if (members.size() < 2) continue;
    for (const TensorIndex tensor : members) group_[tensor] = alike_.next_index();
    alike_.push_back(std::move(members));
  }
  for (const TensorIndex tensor : group_.indices())
    if (group_[tensor].exists()) starts_.push_back(tensor);
}

void IsomorphicParts::pair_up(TensorIndex here, TensorIndex there) {
  if (here == there || kind_[here] != kind_[there]) return;
  if (stamp_[here] == draw_ || stamp_[there] == draw_) return;
  stamp_[here] = stamp_[there] = draw_;
  pairs_.push_back({here, there});
}

const std::vector<Simulator::Change>& IsomorphicParts::draw(const Policy& policy, Random& random) {
  ++draw_;
  pairs_.clear();
  changes_.clear();
  const TensorIndex here = random.any(starts_);
  pair_up(here, random.any(alike_[group_[here]]));
  const size_t most = size_t{2} << random.below(6);
  for (size_t at = 0; at < pairs_.size() && pairs_.size() < most; ++at) pair_around(Pair(pairs_[at]));
  const bool both = random.one_in(2);
  for (const Pair& pair : pairs_) {
    copy(policy, pair.here, pair.there);
    if (both) copy(policy, pair.there, pair.here);
  }
  return changes_;
}

// Pairs what the two are made of, and what is made of them.
void IsomorphicParts::pair_around(const Pair& pair) {
  const auto pair_lists = [&](const std::vector<TensorIndex>& here, const std::vector<TensorIndex>& there) {
    for (size_t at = 0; at < std::min(here.size(), there.size()); ++at) pair_up(here[at], there[at]);
  };
  const auto plain = [&](OpIndex op) -> const ChoiceModel& { return model_.ops[op].choices.front(); };
  const OpIndex made = model_.tensors[pair.here].producer, made_there = model_.tensors[pair.there].producer;
  if (made.exists() && made_there.exists()) pair_lists(plain(made).reads, plain(made_there).reads);
  const std::vector<OpIndex>&users = users_[pair.here], &others = users_[pair.there];
  for (size_t user = 0; user < std::min(users.size(), others.size()); ++user)
    pair_lists(plain(users[user]).writes, plain(others[user]).writes);
}

// The policies of one tensor's intervals for another's; thresholds at the same distance from the interval's nearer end.
void IsomorphicParts::copy(const Policy& policy, TensorIndex from, TensorIndex to) {
  const TensorModel &source = model_.tensors[from], &target = model_.tensors[to];
  for (int32_t each = 0; each < std::min(source.intervals.size(), target.intervals.size()); ++each) {
    const Interval &there = model_.intervals[source.intervals[each]], &here = model_.intervals[target.intervals[each]];
    if ((there.to == model_.never()) != (here.to == model_.never())) continue;
    const IntervalPolicy& old = policy.intervals[source.intervals[each]];
    const auto moved = [&](Stage stage) {
      if (stage >= there.to) return here.to;
      const bool near_end = there.to != model_.never() && there.to - stage < stage - there.from;
      const Stage at = near_end ? here.to - (there.to - stage) : here.from + (stage - there.from);
      return std::clamp(at, here.from, here.to);
    };
    IntervalPolicy copied{.evict = moved(old.evict),
                          .retain = moved(old.retain),
                          .until = moved(old.until),
                          .fetch = here.to,
                          .page = old.page};
    if (copied.evict >= here.to) copied = retained(here);
    if (copied.retain <= copied.evict) copied.retain = std::min(here.to, copied.evict + 1);
    if (copied.until <= copied.retain) copied.until = here.to;
    changes_.push_back({target.intervals[each], copied});
  }
}

}  // namespace pantoum::plan
