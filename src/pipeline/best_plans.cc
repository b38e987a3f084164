#include "pipeline/best_plans.h"

#include <optional>
#include <utility>
#include <vector>

#include "pipeline/plan_programs.h"
#include "pipeline/planners.h"
#include "plan/finalize.h"
#include "plan/planner.h"

namespace pantoum::pipeline {

using problem::CostGraph;
using problem::Seconds;

double worth_of_another_graph(const Compiled& compiled) {
  constexpr double kWorthByMeasuredTimes = 0.97;
  return compiled.measured.share > 0 ? kWorthByMeasuredTimes : 1;
}

namespace {

// The step with another of its graphs.
Compiled with_graph(const Compiled& compiled, Alternative alternative) {
  Compiled other = compiled;
  other.training() = std::move(alternative.program);
  other.made_by = std::move(alternative.made_by);
  other.remakes = alternative.remakes;
  return other;
}

// With plans, of the graph that is worth most when each is planned for a short while; the first unless another is worth
// clearly more. None: the first has no plan yet.
std::optional<Compiled> choose_graph(const Compiled& compiled, const std::vector<Alternative>& alternatives,
                                     const PlanRequest& request, const plan::PlanOptions& options,
                                     const Patience& patience) {
  std::optional<Compiled> chosen(compiled);
  if (!find_plans(*chosen, request, options, nullptr, nullptr)) return std::nullopt;
  const double worth = worth_of_another_graph(compiled);
  double best = worth * value_of_plan(chosen->training().plan, request);
  for (const Alternative& each : alternatives) {
    if (!each.given && (patience.over() || options.stop.stop_requested())) break;
    const double share = each.given ? worth : each.doubt;
    if (share * each.least >= best) continue;
    Compiled other = with_graph(*chosen, each);  // with the plans of its other programs
    if (!find_plans(other, request, options, nullptr, nullptr)) continue;
    const double value = share * value_of_plan(other.training().plan, request);
    if (!(value < best)) continue;
    best = value;
    chosen = std::move(other);
  }
  return chosen;
}

// Plans of all programs, the training step's of each op's first choice alone: of fewer plans a good one is found sooner. What
// is proved of it is not of the step. None: there is no other choice, or no such plans.
std::optional<Compiled> with_first_choices(const Compiled& compiled, const PlanRequest& request,
                                           const plan::PlanOptions& options) {
  std::optional<Compiled> first(compiled);
  CostGraph& graph = first->training().cost.graph;
  bool fewer = false;
  for (problem::Op& op : graph.ops) {
    fewer = fewer || op.choices.size() > 1;
    if (op.choices.size() > 1) op.choices.resize(1);
  }
  if (!fewer || !find_plans(*first, request, options, nullptr, nullptr)) return std::nullopt;
  graph = compiled.training().cost.graph;
  problem::Plan& plan = first->training().plan;
  plan.graph = graph;
  plan = plan::without_proof(std::move(plan));
  return first;
}

// The plans of the graph that is worth most, within the limits.
class BestPlans {
 public:
  BestPlans(Compiled& compiled, const PlanRequest& request, const plan::PlanOptions& options,
            plan::Infeasible* infeasible)
      : compiled_(compiled),
        request_(request),
        options_(options),
        infeasible_(infeasible),
        patience_(options.time_limit) {}

  Result<void> find() {
    const bool in_time = options_.effort == 0 && request_.settings.planner == kOwnPlanner;
    const std::vector<Alternative> alternatives = std::exchange(compiled_.alternatives, {});
    if (alternatives.empty()) {
      const bool begins_anew = in_time && options_.warm_start == nullptr;
      if (begins_anew && go_on_from(with_first_choices(compiled_, request_, for_share(kShareOfStart)))) return {};
      return find_plans(compiled_, request_, for_seconds(patience_.next()), nullptr, infeasible_);
    }
    if (in_time && find_by_short_plans(alternatives)) return {};
    return find_of_each(alternatives);
  }

 private:
  // For each graph, and for looking at further ones; the rest is for the one that is chosen.
  static constexpr double kShareOfChoice = 0.08, kShareOfChoices = 0.5;
  static constexpr double kShareOfStart = 0.35;  // of the plan of first choices, which are far fewer plans
  static constexpr double kShareOfFirst = 0.6;

  [[nodiscard]] plan::PlanOptions for_seconds(Seconds seconds) const {
    plan::PlanOptions part = options_;
    part.time_limit = seconds;
    return part;
  }
  [[nodiscard]] plan::PlanOptions for_share(double share) const { return for_seconds(share * options_.time_limit); }

  [[nodiscard]] double value_of(const Compiled& planned) const {
    return value_of_plan(planned.training().plan, request_);
  }

  // The search among all choices, with the time that is left; the plans that it goes on from where it finds none. False:
  // there are none.
  bool go_on_from(std::optional<Compiled> planned) {
    if (!planned) return false;
    Compiled better = *planned;
    plan::PlanOptions rest = for_seconds(patience_.next());
    rest.warm_start = &planned->training().plan, rest.goes_on = true;
    const bool found = find_plans(better, request_, rest, nullptr, nullptr).has_value();
    compiled_ = found ? std::move(better) : std::move(*planned);
    return true;
  }

  bool find_by_short_plans(const std::vector<Alternative>& alternatives) {
    const Patience choice(kShareOfChoices * options_.time_limit);
    std::optional<Compiled> chosen = choose_graph(compiled_, alternatives, request_, for_share(kShareOfChoice), choice);
    if (chosen && patience_.over()) {
      compiled_ = std::move(*chosen);
      return true;
    }
    std::optional<Compiled> first;
    if (!chosen || !choice.over())
      first = with_first_choices(chosen ? *chosen : compiled_, request_, for_share(kShareOfStart));
    if (first && (!chosen || value_of(*first) < value_of(*chosen))) chosen = std::move(first);
    return go_on_from(std::move(chosen));
  }

  // One after the other, the first for the greater part of the time.
  Result<void> find_of_each(const std::vector<Alternative>& alternatives) {
    Result<void> answer =
        find_plans(compiled_, request_, for_seconds(kShareOfFirst * patience_.next()), nullptr, infeasible_);
    const double worth = worth_of_another_graph(compiled_);
    std::optional<double> best;  // and with what another graph has to be worth more
    if (answer) best = worth * value_of(compiled_);
    for (size_t at = 0; at < alternatives.size() && !options_.stop.stop_requested(); ++at) {
      const double share = alternatives[at].given ? worth : alternatives[at].doubt;
      if (best && share * alternatives[at].least >= *best) continue;
      Compiled other = with_graph(compiled_, alternatives[at]);
      plan::Infeasible none;
      const Seconds seconds = patience_.next() / static_cast<double>(alternatives.size() - at);
      Result<void> found = find_plans(other, request_, for_seconds(seconds), nullptr, &none);
      if (found) {
        const double value = share * value_of(other);
        if (best && !(value < *best)) continue;
        best = value;
        compiled_ = std::move(other);
      } else if (!best && says_less(found.error(), none, answer.error(), *infeasible_)) {
        answer = std::move(found), *infeasible_ = std::move(none);
      }
    }
    return best ? Result<void>() : answer;
  }

  Compiled& compiled_;
  const PlanRequest& request_;
  const plan::PlanOptions& options_;
  plan::Infeasible* infeasible_;
  Patience patience_;
};

}  // namespace

Result<void> find_best_plans(Compiled& compiled, const PlanRequest& request, const plan::PlanOptions& options,
                             plan::Infeasible* infeasible) {
  return BestPlans(compiled, request, options, infeasible).find();
}

}  // namespace pantoum::pipeline
