// One question: search for a plan and, beside it, the proof of how good a plan can be.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "plan/bound/bound_search.h"
#include "plan/bound/edp_bound.h"
#include "plan/planner.h"
#include "plan/search/search.h"

namespace pantoum::plan {

class Solver {
 public:
  using Clock = std::chrono::steady_clock;
  using Until = std::optional<Clock::time_point>;  // nothing: no clock, or only the options' own

  // Keeps `graph` by reference.
  Solver(const CostGraph& graph, const PlanOptions& options, Until until = {});

  // A plan for the budget, or nothing within the limits; by the clock the bound is raised beside the search.
  std::optional<Plan> solve_and_prove();

  // Raises the bound, where that is not done yet, towards a plan's value.
  void prove_for(double value);

  // A plan for the budget, or nothing within the limits.
  std::optional<Plan> solve();

  std::optional<Plan> keep_everything();

  [[nodiscard]] const Model& model() const { return model_; }
  // What is proved of the question: the objective's bound raised by the search for one.
  [[nodiscard]] Bounds bounds() const;
  [[nodiscard]] double bound() const { return by_product() ? product_.bound() : proof_.bound(); }
  // Of bound(), where a linear program has proved it.
  [[nodiscard]] std::optional<Certificate> certificate() const;
  [[nodiscard]] std::vector<Certificate> lines() const;
  [[nodiscard]] Seconds elapsed() const;

 private:
  [[nodiscard]] bool by_product() const { return options_.question.objective == Objective::kEdp; }
  void prove();
  void take_up(const Relaxation& relaxation, const std::vector<double>& point);

  [[nodiscard]] int thread_count() const;
  [[nodiscard]] Seconds seconds_left() const;
  [[nodiscard]] bool out_of_time() const;
  [[nodiscard]] double target() const;
  [[nodiscard]] SearchLimits limits(int64_t rounds) const;

  void lean_reads(const Limit& limit, const Choices& choices, SearchResult& found);
  void lean_choices(const Limit& limit, SearchResult& found);
  SearchResult best_chain(const Limit& limit, const SearchResult& start);
  SearchResult aside(const Limit& limit, const SearchResult& start, const std::function<bool(double)>& stagnant);
  SearchResult cheapest(const Limit& limit);
  SearchResult with_fewest_transfers(const Limit& limit, const SearchResult& fast);
  [[nodiscard]] bool stagnant(Seconds improved_at) const;
  void report(double best);

  std::optional<Plan> realize(const Limit& limit, const SearchResult& found, std::optional<Bytes> budget);
  std::optional<Plan> place_policy(const Limit& limit, const Policy& policy, std::optional<Bytes> budget);

  const CostGraph& graph_;
  PlanOptions options_;
  Clock::time_point begin_;
  Until until_;
  Model model_;
  Bounds bounds_;
  BoundSearch proof_;
  EdpBound product_;                                                    // in its place for edp
  std::atomic<double> value_{std::numeric_limits<double>::infinity()};  // of the best policy so far
  std::atomic<bool> searched_for_nothing_{false};
  std::atomic<bool> first_{false};  // attempt
  Bytes excess_ = 0;                // of the last policy whose offsets were sought, where they did not fit
  Seconds late_ = 0;                // where they cost too much time
  std::mutex progress_mutex_;
  std::mutex near_mutex_;
  std::optional<Policy> near_solution_;  // of the relaxation's last solution, not yet taken up by the search
};

}  // namespace pantoum::plan
