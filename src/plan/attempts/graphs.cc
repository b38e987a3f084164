// Plans of the graph that costs least in the budget, of a step's several graphs.
#include "plan/attempts/attempts.h"
#include "plan/planner.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {
namespace {

Step with_graph(const Step& step, const std::vector<Candidate>& candidates, size_t at) {
  Step other = step;
  other.programs.front() = {.backward = step.programs.front().backward, .graph = candidates[at].graph};
  other.chosen = at;
  return other;
}

class GraphPlanner {
 public:
  GraphPlanner(Step& step, const Asked& asked, const PlanOptions& options, Infeasible* infeasible)
      : step_(step),
        candidates_(std::exchange(step.candidates, {})),
        asked_(asked),
        options_(options),
        infeasible_(infeasible),
        time_(options.time_limit) {}

  Result<void> run() {
    const bool in_time = options_.effort == 0 && asked_.planner.name == kOwnPlanner;
    if (candidates_.empty()) {
      const bool begins_anew = in_time && options_.warm_start == nullptr;
      if (begins_anew && go_on_from(with_first_choices(step_))) return {};
      return plan_programs(step_, asked_, for_seconds(time_.rest()), nullptr, infeasible_);
    }
    if (in_time && find_by_short_plans()) return {};
    return plan_each();
  }

 private:
  PlanOptions for_seconds(Seconds seconds) const {
    PlanOptions part = options_;
    part.time_limit = seconds;
    return part;
  }
  double value_of(const Step& planned) const { return asked_.value_of(planned.programs.front().plan); }

  // Returns the factor on a candidate's values when they are compared with the first graph's.
  double factor_of(const Candidate& candidate) const { return candidate.given ? step_.worth : candidate.doubt; }

  // Short plans choose a graph; then the rest of the time goes to it. False: no graph has a plan yet.
  bool find_by_short_plans() {
    const TimeLimit choosing(time_.for_attempt(Attempt::kChooseGraph));
    std::optional<Step> chosen = choose_graph(choosing);
    if (chosen && time_.over()) {
      step_ = std::move(*chosen);
      return true;
    }
    std::optional<Step> first;
    if (!chosen || !choosing.over()) first = with_first_choices(chosen ? *chosen : step_);
    if (first && (!chosen || value_of(*first) < value_of(*chosen))) chosen = std::move(first);
    return go_on_from(std::move(chosen));
  }

  // Plans each graph for a short while, and returns the step with the graph that is worth most. The first graph stays
  // unless another is worth clearly more. Nothing: the first graph has no plan yet.
  std::optional<Step> choose_graph(const TimeLimit& choosing) const {
    const PlanOptions options = for_seconds(time_.for_attempt(Attempt::kTryGraph));
    std::optional<Step> chosen(step_);
    if (!plan_programs(*chosen, asked_, options, nullptr, nullptr)) return std::nullopt;
    double best = step_.worth * value_of(*chosen);
    for (size_t at = 0; at < candidates_.size(); ++at) {
      const Candidate& each = candidates_[at];
      if (!each.given && (choosing.over() || options.stop.stop_requested())) break;
      if (factor_of(each) * each.least >= best) continue;
      Step other = with_graph(*chosen, candidates_, at);  // with the plans of its other programs
      if (!plan_programs(other, asked_, options, nullptr, nullptr)) continue;
      const double value = factor_of(each) * value_of(other);
      if (!(value < best)) continue;
      best = value;
      chosen = std::move(other);
    }
    return chosen;
  }

  // Plans of all programs, where training may take each op's first choice alone: among fewer plans a good one is found sooner.
  // What is proved of that plan is not proved of the step. None: no op has another choice, or there are no such plans.
  std::optional<Step> with_first_choices(const Step& step) const {
    Step first = step;
    Program& training = first.programs.front();
    bool fewer = false;
    for (Op& op : training.graph.ops)
      if (op.choices.size() > 1) op.choices.resize(1), fewer = true;
    const PlanOptions options = for_seconds(time_.for_attempt(Attempt::kFirstChoices));
    if (!fewer || !plan_programs(first, asked_, options, nullptr, nullptr)) return std::nullopt;
    training.graph = training.plan.graph = step.programs.front().graph;
    training.plan = without_proof(std::move(training.plan));
    return first;
  }

  // The search among all choices, with the time that is left, from these plans; which are the answer where it finds none.
  // False: there are no plans to go on from.
  bool go_on_from(const std::optional<Step>& planned) {
    if (!planned) return false;
    PlanOptions options = for_seconds(time_.rest());
    options.warm_start = &planned->programs.front().plan, options.goes_on = true;
    Step better = *planned;
    step_ = plan_programs(better, asked_, options, nullptr, nullptr) ? std::move(better) : *planned;
    return true;
  }

  // One after the other, the first for the greater part of the time.
  Result<void> plan_each() {
    Result<void> answer =
        plan_programs(step_, asked_, for_seconds(time_.for_attempt(Attempt::kFirstGraph)), nullptr, infeasible_);
    std::optional<double> best;  // with what another graph has to be worth more
    if (answer) best = step_.worth * value_of(step_);
    for (size_t at = 0; at < candidates_.size() && !options_.stop.stop_requested(); ++at) {
      const double factor = factor_of(candidates_[at]);
      if (best && factor * candidates_[at].least >= *best) continue;
      Step other = with_graph(step_, candidates_, at);
      Infeasible none;
      const Seconds seconds = time_.rest() / static_cast<double>(candidates_.size() - at);
      Result<void> found = plan_programs(other, asked_, for_seconds(seconds), nullptr, &none);
      if (found) {
        const double value = factor * value_of(other);
        if (best && !(value < *best)) continue;
        best = value;
        step_ = std::move(other);
      } else if (!best && says_less(found.error(), none, answer.error(), *infeasible_)) {
        answer = std::move(found), *infeasible_ = std::move(none);
        step_.min_plan_of = other.min_plan_of;
      }
    }
    return best ? Result<void>() : answer;
  }

  Step& step_;
  const std::vector<Candidate> candidates_;
  const Asked& asked_;
  const PlanOptions& options_;
  Infeasible* const infeasible_;
  const TimeLimit time_;
};

}  // namespace

bool says_less(const Error& error, const Infeasible& none, const Error& than, const Infeasible& than_none) {
  if ((error.code == "E0301") != (than.code == "E0301")) return error.code != "E0301";
  return none.min_ram_bound_bytes < than_none.min_ram_bound_bytes;
}

Result<void> plan_best_graph(Step& step, const Asked& asked, const PlanOptions& options, Infeasible* infeasible) {
  return GraphPlanner(step, asked, options, infeasible).run();
}

}  // namespace pantoum::plan
