#include "plan/order/order_problem.h"

#include <algorithm>
#include <tuple>

#include "base/random.h"
#include "plan/order/order_profile.h"

namespace pantoum::plan {

using base::Random;
namespace {

constexpr uint64_t kSeed = 1;
constexpr int kTries = 12;           // to find an op that is worth a move
constexpr int64_t kShortReach = 32;  // places, of a move nearby

class Improver {
 public:
  Improver(const OrderProblem& problem, const std::vector<OpIndex>& order, OrderGoal goal, Bytes floor, Bytes threshold,
           OrderSteps& steps)
      : problem_(problem),
        goal_(goal),
        floor_(floor),
        threshold_(threshold),
        steps_(steps),
        profile_(problem, order, threshold, steps),
        value_(profile_.value()),
        marked_(problem.ops.size(), 0) {
    find_peaks();
  }

  std::vector<OpIndex> run() {
    while (!steps_.spent() && (value_.over > 0 || (goal_ == OrderGoal::kPeak && value_.peak > floor_))) {
      steps_.take(4 + static_cast<int64_t>(profile_.size() / 16));
      const size_t at = random_.one_in(4) ? any_place() : random_.any(peaks_);
      if (random_.one_in(2))
        try_delay(at);
      else
        try_advance(at);
    }
    return profile_.order();
  }

 private:
  using Value = OrderProfile::Value;

  size_t any_place() { return below(profile_.size()); }
  size_t below(size_t count) { return position_of(random_.below(static_cast<int32_t>(count))); }

  // The places where the peak is, or those over the threshold.
  void find_peaks() {
    peaks_.clear();
    const Bytes least = goal_ == OrderGoal::kPeak ? value_.peak : threshold_ + 1;
    for (size_t place = 0; place < profile_.size(); ++place)
      if (profile_.peak(place) >= least) peaks_.push_back(place);
    if (peaks_.empty()) peaks_.push_back(any_place());  // it is where the step starts
  }

  // An op before the place whose outputs are read behind it alone goes behind it.
  void try_delay(size_t at) {
    for (int tried = 0; tried < kTries && at > 0; ++tried) {
      const size_t first = near_before(at);
      const size_t reader = first_reader(profile_.order()[first]);
      if (reader <= at || problem_.ops[profile_.order()[first]].writes.empty()) continue;
      const size_t most = std::min(reader, profile_.size()) - 1;
      const size_t last = random_.one_in(2) ? at : at + below(most - at + 1);
      return rearrange(first, last, delayed(first, last));
    }
  }

  // An op behind the place that is the last to read what was made before it goes before it.
  void try_advance(size_t at) {
    for (int tried = 0; tried < kTries && at + 1 < profile_.size(); ++tried) {
      const size_t last = at + 1 + reach(profile_.size() - at - 1);
      if (!frees(profile_.order()[last], at)) continue;
      const size_t first = random_.one_in(2) ? at : at - reach(at + 1);
      return rearrange(first, last, advanced(first, last));
    }
  }

  size_t near_before(size_t at) { return at - 1 - reach(at); }

  // Less than `most`, small numbers more often; most > 0.
  size_t reach(size_t most) { return random_.one_in(2) ? below(most) : below(std::min<size_t>(most, kShortReach)); }

  // The place of the first op that waits for it; the size: none does.
  size_t first_reader(OpIndex op) {
    size_t first = profile_.size();
    steps_.take(1);
    for (const OrderOp::Write& write : problem_.ops[op].writes)
      for (const OpIndex user : problem_.tensors[write.tensor].users) first = std::min(first, profile_.place(user));
    return first;
  }

  // Does the op end something that was made before the place?
  bool frees(OpIndex op, size_t at) {
    steps_.take(1);
    const std::vector<TensorIndex>& reads = problem_.ops[op].reads;
    return std::ranges::any_of(reads, [&](TensorIndex read) {
      const OrderTensor& tensor = problem_.tensors[read];
      const bool made = !tensor.producer.exists() || profile_.place(tensor.producer) < at;
      return made && !tensor.kept && std::ranges::all_of(tensor.users, [&](OpIndex user) {
               return profile_.place(user) <= profile_.place(op);
             });
    });
  }

  std::vector<OpIndex> delayed(size_t first, size_t last) {
    std::vector<OpIndex> rest, moved;
    for (size_t place = first; place <= last; ++place) {
      const OpIndex op = profile_.order()[place];
      const std::vector<OpIndex>& before = problem_.ops[op].before;
      const bool hangs =
          place == first || std::ranges::any_of(before, [&](OpIndex other) { return marked_[other] != 0; });
      if (hangs) marked_[op] = 1;
      (hangs ? moved : rest).push_back(op);
    }
    for (const OpIndex op : moved) marked_[op] = 0;
    rest.insert(rest.end(), moved.begin(), moved.end());
    return rest;
  }

  std::vector<OpIndex> advanced(size_t first, size_t last) {
    std::vector<OpIndex> rest, moved;  // from behind
    for (size_t place = last + 1; place-- > first;) {
      const OpIndex op = profile_.order()[place];
      const std::vector<OpIndex>& after = problem_.ops[op].after;
      const bool needed =
          place == last || std::ranges::any_of(after, [&](OpIndex other) { return marked_[other] != 0; });
      if (needed) marked_[op] = 1;
      (needed ? moved : rest).push_back(op);
    }
    for (const OpIndex op : moved) marked_[op] = 0;
    rest.insert(rest.end(), moved.begin(), moved.end());
    std::ranges::reverse(rest);
    return rest;
  }

  void rearrange(size_t first, size_t last, const std::vector<OpIndex>& ops) {
    const auto begin = profile_.order().begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<OpIndex> before(begin, begin + static_cast<std::ptrdiff_t>(last - first + 1));
    steps_.take(static_cast<int64_t>(ops.size()));
    profile_.rearrange(first, ops);
    const Value now = profile_.value();
    if (key(now) > key(value_)) return profile_.rearrange(first, before);
    value_ = now;
    find_peaks();
  }

  std::tuple<Bytes, Bytes, Bytes> key(const Value& value) const {
    const bool peak_first = goal_ == OrderGoal::kPeak;
    return peak_first ? std::tuple(value.peak, value.over, value.sum) : std::tuple(value.over, value.peak, value.sum);
  }

  const OrderProblem& problem_;
  const OrderGoal goal_;
  const Bytes floor_, threshold_;
  OrderSteps& steps_;
  OrderProfile profile_;
  Value value_;
  Indexed<OpIndex, char> marked_;
  std::vector<size_t> peaks_;
  Random random_{kSeed};
};

}  // namespace

std::vector<OpIndex> improve_order(const OrderProblem& problem, const std::vector<OpIndex>& order, OrderGoal goal,
                                   Bytes floor, Bytes threshold, OrderSteps& steps) {
  return order.empty() ? order : Improver(problem, order, goal, floor, threshold, steps).run();
}

}  // namespace pantoum::plan
