#include "plan/update_selection.h"

#include <Cbc_C_Interface.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>

#include "base/index.h"
#include "base/no_unwinding.h"

namespace pantoum::plan {
namespace {

using base::position_of;

// A sum of costs in another order may be larger by rounding.
constexpr double kRounding = 1e-9;
// The limit's row in the program, whose tolerance is 1e-7: costs are kept to 1e-12 of the limit.
constexpr double kScale = 1e5;

using Marks = std::vector<char>;

// Marks the part and all parts before it; returns the cost of those that were not marked yet.
double mark(const UpdateProblem& problem, int part, Marks& marked) {
  double cost = 0;
  std::vector<int> open{part};
  while (!open.empty()) {
    const size_t at = position_of(open.back());
    open.pop_back();
    if (marked[at]) continue;
    marked[at] = 1;
    cost += problem.cost[at];
    open.insert(open.end(), problem.needs[at].begin(), problem.needs[at].end());
  }
  return cost;
}

double mark_item(const UpdateProblem& problem, size_t item, Marks& marked) {
  double cost = 0;
  for (const int part : problem.parts[item]) cost += mark(problem, part, marked);
  return cost;
}

Marks marked_always(const UpdateProblem& problem) {
  Marks marked(problem.cost.size(), 0);
  for (const int part : problem.always) mark(problem, part, marked);
  return marked;
}

// Is another item of the same group chosen?
bool is_excluded(const UpdateProblem& problem, const Marks& chosen, size_t item) {
  for (size_t other = 0; other < problem.group.size(); ++other)
    if (other != item && chosen[other] && problem.group[other] == problem.group[item]) return true;
  return false;
}

// Of every group what contributes most; the first of equal ones.
Marks largest_of_groups(const UpdateProblem& problem) {
  Marks largest(problem.contribution.size(), 0);
  for (size_t item = 0; item < largest.size(); ++item) {
    largest[item] = problem.contribution[item] > 0;
    for (size_t other = 0; other < item && !problem.group.empty(); ++other) {
      if (!largest[other] || problem.group[other] != problem.group[item]) continue;
      const bool more = problem.contribution[item] > problem.contribution[other];
      largest[more ? other : item] = 0;
    }
  }
  return largest;
}

UpdateSelection selection_of(const UpdateProblem& problem, Marks chosen) {
  UpdateSelection selection{.cost = cost_of_updates(problem, chosen)};
  for (size_t item = 0; item < chosen.size(); ++item)
    if (chosen[item]) selection.contribution += problem.contribution[item];
  selection.chosen = std::move(chosen);
  return selection;
}

// Adds, as long as one fits, the item that contributes most for what it costs beside those that are there.
void add_greedily(const UpdateProblem& problem, double limit, Marks& chosen) {
  Marks marked = marked_always(problem);
  double cost = 0;
  for (size_t part = 0; part < marked.size(); ++part)
    if (marked[part]) cost += problem.cost[part];
  for (size_t item = 0; item < chosen.size(); ++item)
    if (chosen[item]) cost += mark_item(problem, item, marked);
  while (true) {
    std::optional<size_t> best;
    double best_rate = 0;
    for (size_t item = 0; item < chosen.size(); ++item) {
      if (chosen[item] || problem.contribution[item] <= 0 || is_excluded(problem, chosen, item)) continue;
      Marks with = marked;
      const double more = mark_item(problem, item, with);
      if (cost + more > limit) continue;
      const double rate = problem.contribution[item] / std::max(more, std::numeric_limits<double>::min());
      if (best && rate <= best_rate) continue;
      best = item, best_rate = rate;
    }
    if (!best) return;
    chosen[*best] = 1;
    cost += mark_item(problem, *best, marked);
  }
}

// Maximizes the sum of c_i x_i with x_i <= y_p for every part p of item i, y_p <= y_q for every part q before p, the sum of x_i of a group at most 1,
// and the sum of cost_p y_p at most the limit. Items are integers; then the least y are integers, too.
class Program {
 public:
  Program(const UpdateProblem& problem, double rest) : problem_(problem), always_(marked_always(problem)) {
    const double most = *std::max_element(problem.contribution.begin(), problem.contribution.end());
    for (size_t item = 0; item < problem.parts.size(); ++item)
      add_column(-problem.contribution[item] / most, problem.contribution[item] > 0 ? 1 : 0);
    column_of_.assign(problem.cost.size(), -1);
    for (size_t part = 0; part < problem.cost.size(); ++part)
      if (!always_[part]) column_of_[part] = add_column(0, 1);
    add_orders();
    add_groups();
    for (size_t part = 0; part < problem.cost.size(); ++part)
      if (!always_[part]) entries_.push_back({rows_, column_of_[part], problem.cost[part] * kScale / rest});
    upper_row_.push_back(kScale);
    ++rows_;
  }

  // Returns the best items that were found within `seconds`, or none; `share` of the limit may be used.
  Marks solve(double share, double seconds, bool& optimal) {
    const base::NoUnwinding solving;
    upper_row_.back() = kScale * share;
    const std::unique_ptr<Cbc_Model, decltype(&Cbc_deleteModel)> model(Cbc_newModel(), Cbc_deleteModel);
    const int columns = static_cast<int>(cost_.size());
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.column < b.column; });
    std::vector<CoinBigIndex> start(cost_.size() + 1, 0);
    std::vector<int> row;
    std::vector<double> value;
    for (const Entry& entry : entries_) {
      ++start[position_of(entry.column) + 1];
      row.push_back(entry.row), value.push_back(entry.value);
    }
    std::partial_sum(start.begin(), start.end(), start.begin());
    const std::vector<double> lower(cost_.size(), 0), lower_row(upper_row_.size(), -std::numeric_limits<double>::max());
    Cbc_setLogLevel(model.get(), 0);
    Cbc_loadProblem(model.get(), columns, rows_, start.data(), row.data(), value.data(), lower.data(), upper_.data(),
                    cost_.data(), lower_row.data(), upper_row_.data());
    for (int item = 0; item < static_cast<int>(problem_.parts.size()); ++item) Cbc_setInteger(model.get(), item);
    Cbc_setParameter(model.get(), "log", "0");
    Cbc_setParameter(model.get(), "timeMode", "elapsed");
    Cbc_setMaximumSeconds(model.get(), seconds);
    Cbc_setAllowableFractionGap(model.get(), 1e-6);
    Cbc_solve(model.get());
    Marks chosen(problem_.parts.size(), 0);
    optimal = Cbc_isProvenOptimal(model.get()) != 0;
    const double* best = Cbc_bestSolution(model.get());
    for (size_t item = 0; best != nullptr && item < chosen.size(); ++item) chosen[item] = best[item] > 0.5;
    return chosen;
  }

 private:
  struct Entry {
    int row, column;
    double value;
  };

  int add_column(double cost, double upper) {
    cost_.push_back(cost);
    upper_.push_back(upper);
    return static_cast<int>(cost_.size()) - 1;
  }

  // column <= other
  void add_order(int column, int other) {
    entries_.push_back({rows_, column, 1});
    entries_.push_back({rows_, other, -1});
    upper_row_.push_back(0);
    ++rows_;
  }

  void add_orders() {
    const auto order = [&](int column, std::vector<int> parts) {
      std::sort(parts.begin(), parts.end());
      parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
      for (const int part : parts)
        if (!always_[position_of(part)]) add_order(column, column_of_[position_of(part)]);
    };
    for (size_t item = 0; item < problem_.parts.size(); ++item) order(static_cast<int>(item), problem_.parts[item]);
    for (size_t part = 0; part < problem_.cost.size(); ++part)
      if (!always_[part]) order(column_of_[part], problem_.needs[part]);
  }

  void add_groups() {
    std::map<int, std::vector<int>> groups;
    for (size_t item = 0; item < problem_.group.size(); ++item)
      groups[problem_.group[item]].push_back(static_cast<int>(item));
    for (const auto& [group, items] : groups) {
      if (items.size() < 2) continue;
      for (const int item : items) entries_.push_back({rows_, item, 1});
      upper_row_.push_back(1);
      ++rows_;
    }
  }

  const UpdateProblem& problem_;
  Marks always_;
  std::vector<int> column_of_;  // by part
  std::vector<double> cost_, upper_, upper_row_;
  std::vector<Entry> entries_;
  int rows_ = 0;
};

// The solver keeps the limit to its tolerance: asked again with as much less as it was exceeded by.
std::optional<UpdateSelection> solve(const UpdateProblem& problem, double limit, double rest, double seconds) {
  constexpr int kTries = 4;
  Program program(problem, rest);
  double share = 1;
  for (int at = 0; at < kTries; ++at) {
    bool optimal = false;
    UpdateSelection found = selection_of(problem, program.solve(share, seconds, optimal));
    found.optimal = optimal && at == 0;
    if (found.cost <= limit * (1 + kRounding)) return found;
    share -= 2 * (found.cost - limit) / rest;
    if (share <= 0) break;
  }
  return std::nullopt;
}

}  // namespace

double cost_of_updates(const UpdateProblem& problem, const std::vector<char>& chosen) {
  Marks marked(problem.cost.size(), 0);
  double cost = 0;
  for (const int part : problem.always) cost += mark(problem, part, marked);
  for (size_t item = 0; item < chosen.size(); ++item)
    if (chosen[item]) cost += mark_item(problem, item, marked);
  return cost;
}

std::optional<UpdateSelection> cheapest_update(const UpdateProblem& problem) {
  std::optional<UpdateSelection> least;
  for (size_t item = 0; item < problem.contribution.size(); ++item) {
    if (problem.contribution[item] <= 0) continue;
    Marks one(problem.contribution.size(), 0);
    one[item] = 1;
    UpdateSelection selection = selection_of(problem, std::move(one));
    if (!least || selection.cost < least->cost) least = std::move(selection);
  }
  return least;
}

std::optional<UpdateSelection> select_updates(const UpdateProblem& problem, double limit, double seconds) {
  Marks none(problem.contribution.size(), 0);
  UpdateSelection nothing = selection_of(problem, none), everything = selection_of(problem, largest_of_groups(problem));
  if (nothing.cost > limit * (1 + kRounding)) return std::nullopt;
  everything.optimal = nothing.optimal = true;
  if (everything.cost <= limit) return everything;
  Marks greedy = none;
  add_greedily(problem, limit, greedy);
  UpdateSelection best = selection_of(problem, std::move(greedy));
  if (limit - nothing.cost <= 0) return best;  // what costs nothing alone
  std::optional<UpdateSelection> solved = solve(problem, limit, limit - nothing.cost, seconds);
  if (!solved) return best;
  if (solved->contribution >= best.contribution) return solved;
  best.optimal = false;
  return best;
}

}  // namespace pantoum::plan
