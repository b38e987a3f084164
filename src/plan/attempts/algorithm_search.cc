#include "plan/attempts/algorithm_search.h"

#include <cmath>
#include <utility>

namespace pantoum::plan {
namespace {

constexpr size_t kMostPairs = 2'000'000;  // that a round of distance 2 looks at

class AlgorithmSearch {
 public:
  AlgorithmSearch(const CostGraph& graph, const Aim& aim) : graph_(graph), aim_(aim) {
    for (const Op& op : graph.ops) {
      found_.choices.push_back(0);
      if (op.optional) continue;  // it need not run
      found_.energy_j += op.choices.front().energy_j;
      found_.time_s += op.choices.front().time_s;
    }
    for (size_t op = 0; op < graph.ops.size(); ++op)
      for (size_t choice = 0; choice < graph.ops[op].choices.size() && !graph.ops[op].optional; ++choice)
        if (is_allowed(graph.ops[op], choice)) moves_.push_back({op, static_cast<int>(choice)});
  }

  Assignment run() {
    found_.value = aim_.value(found_.energy_j, found_.time_s);
    bool changed = true;
    while (changed) changed = change_one() || (!is_sum() && change_two());
    return std::move(found_);
  }

 private:
  struct Move {
    size_t op;
    int choice;
  };

  bool is_allowed(const Op& op, size_t choice) const {
    return aim_.question.freedoms.numerics || op.choices[choice].numerics == op.choices.front().numerics;
  }
  bool is_sum() const { return aim_.expression == nullptr && aim_.question.objective != Objective::kEdp; }

  // Returns what a move adds to the sums.
  std::pair<double, double> difference(const Move& move) const {
    const std::vector<Choice>& choices = graph_.ops[move.op].choices;
    const Choice &to = choices[position_of(move.choice)], &from = choices[position_of(found_.choices[move.op])];
    return {to.energy_j - from.energy_j, to.time_s - from.time_s};
  }

  bool is_less(double value) const {
    constexpr double kLess = 1e-12;  // rounding must not turn in circles
    return value < found_.value - kLess * std::abs(found_.value);
  }

  void take(const Move& move) {
    const auto [energy, time] = difference(move);
    found_.energy_j += energy;
    found_.time_s += time;
    found_.choices[move.op] = move.choice;
    found_.value = aim_.value(found_.energy_j, found_.time_s);
  }

  bool change_one() {
    bool changed = false;
    for (const Move& move : moves_) {
      const auto [energy, time] = difference(move);
      if (!is_less(aim_.value(found_.energy_j + energy, found_.time_s + time))) continue;
      take(move);
      changed = true;
    }
    return changed;
  }

  bool change_two() {
    if (moves_.size() * moves_.size() / 2 > kMostPairs) return false;
    for (size_t first = 0; first < moves_.size(); ++first) {
      const auto [energy, time] = difference(moves_[first]);
      if (energy == 0 && time == 0) continue;
      for (size_t second = first + 1; second < moves_.size(); ++second) {
        if (moves_[second].op == moves_[first].op) continue;
        const auto [more_energy, more_time] = difference(moves_[second]);
        if (!is_less(aim_.value(found_.energy_j + energy + more_energy, found_.time_s + time + more_time))) continue;
        take(moves_[first]);
        take(moves_[second]);
        return true;
      }
    }
    return false;
  }

  const CostGraph& graph_;
  const Aim& aim_;
  std::vector<Move> moves_;
  Assignment found_;
};

// The least sum of costs with sums of times within the deadline: a second costs more and more until they are. What such a
// plan costs, less what the deadline's seconds cost, is less than any plan that is in time (Lagrangian duality).
class InTime {
 public:
  InTime(const CostGraph& graph, const Aim& aim) : graph_(graph), aim_(aim) {}

  // Starts from the assignment that takes too long.
  Assignment run(Assignment slow) {
    double low = 0, high = std::max(1e-9, std::abs(slow.value)) / std::max(1e-9, slow.time_s);
    Assignment fast = at(high);
    for (int round = 0; round < kDoublings && !in_time(fast); ++round) {
      low = high, high *= 2;
      fast = at(high);
    }
    double bound = std::max(slow.value, fast.value);
    for (int round = 0; round < kHalvings; ++round) {
      const double middle = (low + high) / 2;
      Assignment now = at(middle);
      bound = std::max(bound, now.value);
      if (in_time(now)) {
        high = middle;
        fast = std::move(now);
      } else {
        low = middle;
      }
    }
    fast.value = bound;
    return fast;
  }

 private:
  static constexpr int kDoublings = 60, kHalvings = 30;
  static constexpr double kRounding = 1e-9;

  bool in_time(const Assignment& made) const { return made.time_s <= *aim_.question.deadline * (1 + kRounding); }

  // Each op's cheapest way where a second costs so much; the value is the bound.
  Assignment at(double second) const {
    Assignment made;
    double sum = 0;  // of costs as the aim has them
    for (const Op& op : graph_.ops) {
      int best = 0;
      double least = HUGE_VAL;
      for (size_t choice = 0; choice < op.choices.size(); ++choice) {
        const Choice& way = op.choices[choice];
        if (!aim_.question.freedoms.numerics && way.numerics != op.choices.front().numerics) continue;
        const double cost = aim_.value(way.energy_j, way.time_s) + second * way.time_s;
        if (cost < least) least = cost, best = static_cast<int>(choice);
      }
      made.choices.push_back(op.optional ? 0 : best);
      if (op.optional) continue;
      const Choice& way = op.choices[position_of(best)];
      sum += aim_.value(way.energy_j, way.time_s);
      made.energy_j += way.energy_j;
      made.time_s += way.time_s;
    }
    const double late = made.time_s - *aim_.question.deadline;
    made.value = sum + (late > 0 && in_time(made) ? 0 : second * late);
    return made;
  }

  const CostGraph& graph_;
  const Aim& aim_;
};

}  // namespace

double Aim::value(Joules energy, Seconds time) const {
  if (expression == nullptr) return value_of(question, energy, time);
  return expression->at({.time_s = time, .energy_j = energy}).value;
}

Assignment assign_algorithms(const CostGraph& graph, const Aim& aim) {
  Assignment found = AlgorithmSearch(graph, aim).run();
  const std::optional<Seconds>& deadline = aim.question.deadline;
  const bool is_sum = aim.expression == nullptr && aim.question.objective != Objective::kEdp;
  return is_sum && deadline && found.time_s > *deadline ? InTime(graph, aim).run(std::move(found)) : found;
}

}  // namespace pantoum::plan
