#include <algorithm>
#include <bit>
#include <map>

#include "plan/search/neighbours.h"
#include "plan/search/search.h"

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

// Isomorphic parts of the step, as the layers of a deep net are: what is good for one is a good guess for another.
class IsomorphicParts {
 public:
  explicit IsomorphicParts(const Model& model) : model_(model) {
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

  // Are no two tensors alike?
  bool empty() const { return starts_.empty(); }
  // A tensor and a like one, and around them, pair by pair, what is made of and from them alike: the policies of one
  // side's intervals for the other's, or both exchanged. May be empty.
  const std::vector<Simulator::Change>& draw(const Policy& policy, Random& random) {
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

 private:
  using Group = Index<struct GroupTag>;
  struct Pair {
    TensorIndex here, there;
  };
  void pair_up(TensorIndex here, TensorIndex there) {
    if (here == there || kind_[here] != kind_[there]) return;
    if (stamp_[here] == draw_ || stamp_[there] == draw_) return;
    stamp_[here] = stamp_[there] = draw_;
    pairs_.push_back({here, there});
  }

  // Pairs what the two are made of, and what is made of them.
  void pair_around(const Pair& pair) {
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

  void group_kinds() {
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

  // The policies of one tensor's intervals for another's; thresholds at the same distance from the interval's nearer end.
  void copy(const Policy& policy, TensorIndex from, TensorIndex to) {
    const TensorModel &source = model_.tensors[from], &target = model_.tensors[to];
    for (int32_t each = 0; each < std::min(source.intervals.size(), target.intervals.size()); ++each) {
      const Interval &there = model_.intervals[source.intervals[each]],
                     &here = model_.intervals[target.intervals[each]];
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

  const Model& model_;
  Indexed<TensorIndex, std::vector<OpIndex>> users_;  // ascending
  Indexed<TensorIndex, uint64_t> kind_;               // equal where the surroundings are alike
  Indexed<Group, std::vector<TensorIndex>> alike_;    // tensors of one kind, by stage
  Indexed<TensorIndex, Group> group_;                 // none: the only one of its kind
  std::vector<TensorIndex> starts_;                   // tensors that have a group
  std::vector<Pair> pairs_;
  Indexed<TensorIndex, uint64_t> stamp_;  // the last draw that paired it
  uint64_t draw_ = 0;
  std::vector<Simulator::Change> changes_;
};

// Returns the first price of what is beyond a limit; 0 without a limit.
double start_price(double known, double limit, double scale) {
  return limit <= 0 ? 0 : known > 0 ? known : 10 * scale / limit;
}

class Annealer {
 public:
  Annealer(const Model& model, const Limit& limit, const SearchResult& start, uint64_t seed, const SearchLimits& limits)
      : model_(model),
        limits_(limits),
        best_(start),
        simulator_(model, limit),
        random_(seed),
        neighbours_(model, limit.question.budget_bytes(), simulator_, random_),
        parts_(model) {
    for (const OpIndex op : model.ops.indices())
      if (model.uses(Switch::kChoices) && model.ops[op].choices.size() > 1) choosy_.push_back(op);
    const double scale = std::max(1e-30, start.outcome.value);
    overhead_ = std::max(1e-3 * scale,
                         start.outcome.value - (limits.unavoidable ? *limits.unavoidable : unavoidable(model, limit)));
    price_ = {start.price.byte_price > 0
                  ? start.price.byte_price
                  : scale / static_cast<double>(std::max<Bytes>(1, limit.question.budget_bytes())),
              start_price(start.price.second_price, limit.question.deadline.value_or(0), scale),
              start_price(start.price.joule_price, limit.question.energy_limit.value_or(0), scale)};
  }

  SearchResult run() {
    if ((neighbours_.empty() && choosy_.empty()) || !best_.outcome.sound) return best_;
    simulator_.reset(best_.policy);
    while (!finished()) {
      if (neighbours_.empty() || random_.below(2 * (neighbours_.count() + choosy_count())) < choosy_count())
        choose();
      else if (model_.uses(Switch::kExchange) && random_.one_in(kExchangeEvery))
        exchange();
      else if (try_changes(neighbours_.draw(), temperature() * random_.exponential()))
        adapt_price();
    }
    best_.price = price_;
    return best_;
  }

 private:
  static constexpr int64_t kAskEvery = 64;
  static constexpr int32_t kExchangeEvery = 300;
  static constexpr size_t kTriesPerInterval = 16;

  bool finished() {
    if (limits_.rounds > 0 && round_ >= limits_.rounds) return true;
    if (best_.outcome.fits() && best_.outcome.value <= limits_.target) return true;
    if (round_ < ask_at_) return false;
    ask_at_ = round_ + kAskEvery;
    return limits_.stop && limits_.stop();
  }

  double temperature() const {
    if (limits_.rounds <= 0) return limits_.heat * overhead_ / 4;
    const double heat = 1 - static_cast<double>(round_) / static_cast<double>(limits_.rounds);
    return limits_.heat * overhead_ * heat * heat;
  }

  // Accepts what costs at most `slack` more.
  bool try_changes(const std::vector<Simulator::Change>& changes, double slack) {
    const double before = price_(simulator_.outcome());
    return settled(before + slack, simulator_.propose(changes, {price_, before + slack}));
  }

  int32_t choosy_count() const { return static_cast<int32_t>(choosy_.size()); }

  // Another choice of an op that has several.
  void choose() {
    const OpIndex op = random_.any(choosy_);
    const auto count = static_cast<int32_t>(model_.ops[op].choices.size());
    int32_t choice = random_.below(count - 1);
    if (choice >= simulator_.policy().choices[op]) ++choice;
    const double most = price_(simulator_.outcome()) + temperature() * random_.exponential();
    if (settled(most, simulator_.propose_choice(op, choice, {price_, most}))) adapt_price();
  }

  // Takes what was proposed if it costs at most `most`.
  bool settled(double most, const Outcome& after) {
    ++round_;
    if (!after.sound || price_(after) > most) {
      simulator_.reject();
      return false;
    }
    simulator_.accept();
    if (better(after, best_.outcome)) best_ = {simulator_.policy(), after, price_};
    return true;
  }

  // Adapts the prices so that a quarter to two thirds of the accepted policies fit, as many are in time, and as many
  // meet the limit on energy.
  void adapt_price() {
    ++accepted_;
    fitting_ += simulator_.outcome().excess == 0;
    punctual_ += simulator_.outcome().time_excess == 0;
    thrifty_ += simulator_.outcome().energy_excess == 0;
    if (accepted_ < 64) return;
    adapt(price_.byte_price, fitting_);
    adapt(price_.second_price, punctual_);
    adapt(price_.joule_price, thrifty_);
    accepted_ = fitting_ = punctual_ = thrifty_ = 0;
  }
  static void adapt(double& price, int64_t met) {
    if (met < 16) price *= 1.5;
    if (met > 44) price /= 1.5;
  }

  // A large change is made whatever it costs, and the intervals around make the best of that; all of it is taken or none.
  void exchange() {
    bool copy = true;
    std::vector<Simulator::Change> turned;
    if (limits_.guide != nullptr && random_.one_in(2)) {
      turned = neighbours_.follow(*limits_.guide);
    } else if (model_.uses(Switch::kIsomorphicParts) && !parts_.empty() && random_.one_in(2)) {
      turned = parts_.draw(simulator_.policy(), random_);
    } else {
      copy = false;
      turned = {neighbours_.turn()};
    }
    if (turned.empty()) return;
    const Indexed<IntervalIndex, IntervalPolicy> before = simulator_.policy().intervals;
    const double price = price_(simulator_.outcome());
    if (!try_changes(turned, 1e300)) return;
    const IntervalIndex interval = random_.any(turned).interval;
    neighbours_.focus(interval, 8 << random_.below(6));
    if (!neighbours_.focused().empty()) settle(interval, !copy);
    neighbours_.focus_on_all();
    if (price_(simulator_.outcome()) <= price + temperature() * random_.exponential()) return;
    std::vector<Simulator::Change> back;
    for (const IntervalIndex each : before.indices())
      if (!(before[each] == simulator_.policy().intervals[each])) back.push_back({each, before[each]});
    simulator_.propose(back);
    simulator_.accept();
  }

  // The intervals in focus, first in the opposite sense of the one that was turned, then in any.
  void settle(IntervalIndex turned, bool opposite) {
    std::vector<IntervalIndex> intervals = neighbours_.focused();
    for (size_t last = intervals.size(); last > 1; --last)
      std::swap(intervals[last - 1], intervals[position_of(random_.below(static_cast<int32_t>(last)))]);
    for (const IntervalIndex interval : intervals)
      if (!opposite || neighbours_.is_retained(interval) == neighbours_.is_retained(turned) ||
          model_.intervals[interval].to == model_.never())
        try_changes({neighbours_.turned(interval)}, 0);
    for (size_t tries = kTriesPerInterval * intervals.size(); tries > 0; --tries) try_changes(neighbours_.draw(), 0);
  }

  const Model& model_;
  const SearchLimits& limits_;
  SearchResult best_;
  Simulator simulator_;
  Random random_;
  Neighbours neighbours_;
  IsomorphicParts parts_;
  std::vector<OpIndex> choosy_;  // ops with several choices
  Priced price_;
  double overhead_ = 0;
  int64_t round_ = 0, ask_at_ = 0, fitting_ = 0, punctual_ = 0, thrifty_ = 0, accepted_ = 0;
};

}  // namespace

bool better(const Outcome& a, const Outcome& b) {
  if (a.fits() != b.fits()) return a.fits();
  const double far = a.excess + a.time_excess + a.energy_excess, other = b.excess + b.time_excess + b.energy_excess;
  if (!a.fits() && far != other) return far < other;
  return a.value < b.value;
}

double unavoidable(const Model& model, const Limit& limit) {
  Simulator simulator(model, {.question = {.objective = limit.question.objective}});
  return simulator.reset(keep_all(model, first_choices(model, limit.question))).value;
}

SearchResult anneal(const Model& model, const Limit& limit, const SearchResult& start, uint64_t seed,
                    const SearchLimits& limits) {
  return Annealer(model, limit, start, seed, limits).run();
}

}  // namespace pantoum::plan
