#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/lists.h"
#include "check/replay.h"
#include "plan/attempts/attempts.h"
#include "plan/baselines/methods.h"
#include "plan/planner.h"
#include "plan/realize/realize.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {
namespace {

// A plan of another graph, of the same structure and other sizes, is a start where it is a plan of this one too.
bool is_start(const Plan& given, const CostGraph& graph, const Question& question) {
  if (structure_hash(given.graph) != structure_hash(graph)) return false;
  Plan start = given;
  start.predicted = problem::kNothingPredicted;
  start.bound = {};
  return check::replay(graph, start, question).has_value();
}

}  // namespace

Result<Asked> asked_of(PlanOptions options, const std::string& planner, const std::string& formula) {
  PANTOUM_ASSIGN(const std::vector<NamedPlanner> named, planners_named({planner}));
  Asked asked{.options = std::move(options), .planner = named.front()};
  if (!formula.empty()) {
    PANTOUM_ASSIGN(asked.formula, ObjectiveExpression::parse(formula, "--objective"));
  }
  return asked;
}

double Asked::value_of(const Plan& plan) const {
  return formula ? formula->at(plan.predicted).value : problem::value_of(plan);
}

bool Asked::by_time() const {
  return !formula && options.question.objective == Objective::kTime && !options.question.energy_limit;
}

Result<Plan> make_plan(const Asked& asked, const CostGraph& graph, const PlanOptions& given, Infeasible* infeasible) {
  PlanOptions options = given;
  if (options.warm_start != nullptr && !is_start(*options.warm_start, graph, options.question))
    options.warm_start = nullptr;
  if (!asked.formula) return asked.planner.plan(graph, options, infeasible);
  return plan_by_slopes(*asked.formula, graph, options, infeasible, asked.planner.plan);
}

std::string warning_of_start(const PlanOptions& options, const std::vector<const CostGraph*>& graphs) {
  if (options.warm_start == nullptr) return {};
  const uint64_t start = structure_hash(options.warm_start->graph);
  for (const CostGraph* graph : graphs)
    if (structure_hash(*graph) == start) return {};
  return "the plan of --warm-start is of another step, so planning begins without it: model, loss, optimizer, frozen "
         "parameters, device, threads and the switches of graphs and algorithms have to be the same";
}

std::vector<NamedPlanner> planners() {
  const auto without = [](bool Freedoms::*freedom) {
    return [freedom](const CostGraph& graph, PlanOptions options, Infeasible* infeasible) {
      options.question.freedoms.*freedom = false;
      return make_plan(graph, options, infeasible);
    };
  };
  const auto own = [](const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible) {
    return make_plan(graph, options, infeasible);
  };
  std::vector<NamedPlanner> all{
      {kOwnPlanner, "recomputes and pages", own},
      {"pantoum-paging-only", "the same without recomputing", without(&Freedoms::recomputing)},
      {"pantoum-remat-only", "the same without paging", without(&Freedoms::paging)}};
  for (const Baseline& baseline : baselines())
    all.push_back({baseline.name, baseline.source,
                   [make = baseline.plan, name = baseline.name](const CostGraph& graph, const PlanOptions& options,
                                                               Infeasible* infeasible) -> Result<Plan> {
                     if (problem::streams(graph))
                       return fail("E0304", fmt::format("{} does not apply: some choices stream from storage", name),
                                   graph.name, "use another --planner; pantoum takes every graph");
                     return weighted_or_plain(
                         graph, options, infeasible,
                         [&](const CostGraph& of, const PlanOptions& with, Infeasible*) { return make(of, with); });
                   }});
  return all;
}

Result<std::vector<NamedPlanner>> planners_named(const std::vector<std::string>& names) {
  std::vector<NamedPlanner> all = planners();
  std::vector<std::string> known;
  known.reserve(all.size());
  for (const NamedPlanner& planner : all) known.push_back(planner.name);
  for (const std::string& name : names)
    if (!base::contains(known, name))
      return fail("E0115", fmt::format("there is no planner '{}'", name), "--planners",
                  fmt::format("use some of {}", fmt::join(known, ",")));
  std::erase_if(all, [&](const NamedPlanner& planner) { return !base::contains(names, planner.name); });
  return all;
}

namespace {

using Slope = ObjectiveExpression::Slope;

constexpr int kMostRounds = 4;         // of slopes, after the plans of least energy and least time
constexpr double kWorthARound = 1e-4;  // that the value fell by, as a share
constexpr Seconds kLeast = 0.05;       // for each plan

// Returns the graph for a formula in which more seconds are worth something: a choice pays for each second by which
// the op's slowest choice is slower. That adds a constant for every op that runs once, so that costs stay above 0.
CostGraph with_seconds_worth(const CostGraph& graph, const Slope& slope) {
  const double joule = std::max(slope.per_joule, 0.0), worth = -slope.per_second;
  CostGraph shifted = graph;
  for (Op& op : shifted.ops) {
    double slowest = 0;
    const auto seconds = [&](const Choice& choice) { return problem::costs_of(graph.device.pager, choice).seconds; };
    for (const Choice& choice : op.choices) slowest = std::max(slowest, seconds(choice));
    for (Choice& choice : op.choices) choice.energy_j = joule * choice.energy_j + worth * (slowest - seconds(choice));
  }
  shifted.device.pager.in.w *= joule;
  shifted.device.pager.out.w *= joule;
  shifted.device.idle_w *= joule;
  for (problem::Engine& engine : shifted.device.engines) engine.idle_w *= joule;
  return shifted;
}

class SlopeSearch {
 public:
  SlopeSearch(const ObjectiveExpression& expression, const CostGraph& graph, const PlanOptions& options,
              const PlanMaker& make)
      : expression_(expression), graph_(graph), options_(options), make_(make), time_(options.time_limit) {}

  Result<Plan> run(Infeasible* infeasible) {
    for (const Objective objective : {Objective::kEnergy, Objective::kTime}) {
      Question question = options_.question;
      question.objective = objective;
      Result<Plan> plan = plan_of(question, infeasible);
      if (!plan && !best_) return plan;
      if (plan) (void)keep(*std::move(plan));
    }
    const Slope slope = expression_.at(best_->predicted);
    if (!std::isfinite(value_))
      return fail("E0117",
                  fmt::format("'{}' has no value for a step of {:.6g} J and {:.6g} s", expression_.text(),
                              best_->predicted.energy_j, best_->predicted.time_s),
                  "--objective", "give a formula that has one, whatever a step takes");
    if (slope.per_joule <= 0 && slope.per_second <= 0)
      return fail("E0117", fmt::format("'{}' is no less with less energy or less time", expression_.text()),
                  "--objective", "give what is to be least: a formula that grows with energy, time or both");
    for (int round = 0; round < kMostRounds && !options_.stop.stop_requested(); ++round)
      if (!follow_slope()) break;
    keep_given();
    best_->method += fmt::format("; by the slopes of {}", expression_.text());
    return *std::move(best_);
  }

 private:
  // Divides the time that is left equally among the plans that may still be made.
  PlanOptions next_options() {
    PlanOptions options = options_;
    options.time_limit = std::max(kLeast, time_.left() / std::max(1, plans_left_--));
    if (best_) options.warm_start = &*best_;
    options.goes_on = false;  // what the search starts from was found by another objective
    return options;
  }

  Result<Plan> plan_of(const Question& question, Infeasible* infeasible) {
    PlanOptions options = next_options();
    options.question = question;
    return weighted_or_plain(graph_, options, infeasible, make_);
  }

  Result<Plan> plan_where_seconds_are_worth(const Slope& slope) {
    PlanOptions options = next_options();
    options.question.objective = Objective::kEnergy;
    PANTOUM_ASSIGN(Plan plan, make_(with_seconds_worth(graph_, slope), options, nullptr));
    plan.graph = graph_;
    if (const auto predicted = predict(graph_, plan)) plan.predicted = *predicted;
    return without_proof(std::move(plan));
  }

  // The plan that was given, where it answers the question and is better.
  void keep_given() {
    if (options_.warm_start == nullptr || !answers(*options_.warm_start, graph_, options_)) return;
    Plan given = *options_.warm_start;
    given.graph = graph_, given.question = best_->question, given.method = best_->method;
    if (const auto predicted = predict(graph_, given)) given.predicted = *predicted;
    (void)keep(without_proof(std::move(given)));
  }

  // The larger of both is 1 or -1: what one is worth in the other says all.
  std::optional<Slope> slope_of_best() const {
    const Slope slope = expression_.at(best_->predicted);
    const double larger = std::max(std::abs(slope.per_joule), std::abs(slope.per_second));
    if (!std::isfinite(slope.per_joule) || !std::isfinite(slope.per_second) || !std::isnormal(larger))
      return std::nullopt;
    return Slope{slope.value, slope.per_joule / larger, slope.per_second / larger};
  }

  bool follow_slope() {
    const std::optional<Slope> scaled = slope_of_best();
    if (!scaled) return false;
    const Slope& slope = *scaled;
    if (slope.per_second < 0) {
      Result<Plan> plan = plan_where_seconds_are_worth(slope);
      return plan && keep(*std::move(plan));
    }
    Question question = options_.question;
    question.objective = Objective::kWeighted;
    question.weights = {std::max(slope.per_joule, 0.0), slope.per_second};
    Result<Plan> plan = plan_of(question, nullptr);
    return plan && keep(*std::move(plan));
  }

  // Whether it is better by enough to go on. A plan for which the formula has no value is worse than any other.
  bool keep(Plan plan) {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    const double told = expression_.at(plan.predicted).value, value = std::isfinite(told) ? told : kNone;
    if (best_ && !(value < value_)) return false;
    const bool worth = !best_ || value_ == kNone || value < value_ - kWorthARound * std::abs(value_);
    best_ = std::move(plan);
    value_ = value;
    return worth;
  }

  const ObjectiveExpression& expression_;
  const CostGraph& graph_;
  const PlanOptions& options_;
  const PlanMaker& make_;
  std::optional<Plan> best_;
  double value_ = 0;
  int plans_left_ = 2 + kMostRounds;
  const TimeLimit time_;
};

}  // namespace

Result<Plan> plan_by_slopes(const ObjectiveExpression& expression, const CostGraph& graph, const PlanOptions& options,
                            Infeasible* infeasible, const PlanMaker& make) {
  if (options.question.energy_limit)
    return fail("E0117", "a limit on the energy beside a formula as the objective", "--energy-limit",
                "put the energy into the formula, or leave the limit out");
  return SlopeSearch(expression, graph, options, make).run(infeasible);
}

}  // namespace pantoum::plan
