#include "pipeline/sweep.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_text.h"
#include "base/units.h"
#include "check/claims.h"
#include "pipeline/sweep_folder.h"
#include "plan/attempts/attempts.h"
#include "problem/cost_graph.h"
#include "problem/cost_graph_json.h"
#include "problem/objective_values.h"

namespace pantoum::pipeline {
namespace {

using problem::Bytes;
using problem::CostGraph;
using report::SweepRow;
using report::SweepStatus;

Result<report::SweepHead> head_of(const CostGraph& graph, const SweepRequest& request) {
  PANTOUM_ASSIGN(const problem::Predicted unplanned, unplanned_step(graph, request.plan));
  PlanRequest smallest = request.plan;
  smallest.options.question.budget = request.budgets.front();
  PANTOUM_ASSIGN(const plan::PlanOptions options, planner_options(graph, smallest, unplanned));
  return report::SweepHead{.version = request.version,
                           .question = question_of(graph),
                           .name = graph.name,
                           .device = graph.device.name,
                           .time_source = problem::time_source(graph.device),
                           .options = options,
                           .reserve = request.plan.reserve,
                           .budgets = request.budgets,
                           .unplanned = unplanned};
}

// Gap and status, as the checker finds them; false where it finds the bound unproved.
bool set_gap(problem::Plan& plan, double gap) {
  plan.gap = 1;
  plan.asked_gap = gap;
  plan.status = problem::Status::kFeasible;
  const Result<check::Judgement> judged = check::judge(plan);
  if (!judged) return false;
  plan.gap = judged->gap;
  plan.status = plan.gap <= gap ? problem::Status::kOptimal : problem::Status::kFeasible;
  return true;
}

// The curve of one planner, from the smallest budget up.
class Curve {
 public:
  Curve(const SweptGraphs& graphs, const report::SweepHead& head, const plan::NamedPlanner& planner,
        SweepFolder& folder)
      : graphs_(graphs), head_(head), planner_(planner), folder_(folder) {}

  // False: stopped.
  Result<bool> budget(Bytes ram) {
    if (const SweepRow* done = folder_.find(planner_.name, ram)) {
      PANTOUM_TRY(take_up(*done));
      return true;
    }
    SweepRow row{.planner = planner_.name, .ram_bytes = ram};
    if (head_.options.stop.stop_requested()) return false;
    if (ram - head_.reserve < none_.min_ram_bound_bytes) {
      row.status = SweepStatus::kInfeasible;
      row.none = none_;
    } else {
      PANTOUM_TRY(ask(row));
      if (head_.options.stop.stop_requested()) return false;
    }
    PANTOUM_TRY(folder_.add(row, row.has_plan() ? &*last_ : nullptr));
    return true;
  }

  // A bound for more RAM is one for less: once all budgets are planned, each takes up the next larger one's where that
  // is higher, with its certificate.
  Result<void> carry_bounds_down() {
    for (size_t at = head_.budgets.size(); at-- > 1;) {
      const SweepRow *less = folder_.find(planner_.name, head_.budgets[at - 1]),
                     *more = folder_.find(planner_.name, head_.budgets[at]);
      if (less == nullptr || more == nullptr || !less->has_plan() || !more->has_plan()) continue;
      PANTOUM_ASSIGN(const problem::Plan from, folder_.plan_of(*more));
      PANTOUM_ASSIGN(problem::Plan to, folder_.plan_of(*less));
      if ((!from.certificate && from.lines.empty()) || bound_of(from).value_or(0) <= bound_of(to).value_or(0)) continue;
      to.certificate = from.certificate;
      to.lines = from.lines;
      to.bound.any_order = from.bound.any_order;
      bound_of(to.bound, to.question.objective) = bound_of(from);
      if (!set_gap(to, head_.options.gap)) continue;  // it is for another order
      SweepRow row = *less;
      describe(row, to);
      PANTOUM_TRY(folder_.add(row, &to));
    }
    return {};
  }

 private:
  Result<void> take_up(const SweepRow& row) {
    if (row.status == SweepStatus::kInfeasible) none_ = row.none;
    if (!row.has_plan()) return {};
    PANTOUM_ASSIGN(last_, folder_.plan_of(row));
    return {};
  }

  Result<void> ask(SweepRow& row) {
    plan::PlanOptions options = head_.options;
    options.question.budget = row.ram_bytes - head_.reserve;
    options.warm_start = last_ ? &*last_ : nullptr;
    plan::Infeasible none;
    Result<problem::Plan> plan = best_plan(options, none);
    if (!plan && !last_) return set_infeasible(plan.error(), none, row);
    row.carried = last_ && (!plan || value_of(*last_) <= value_of(*plan));
    if (row.carried)
      carry(plan ? &*plan : nullptr, options);
    else
      last_ = std::move(*plan);
    PANTOUM_ASSIGN(row.found, checked(last_->graph, *last_, planner_.name));
    describe(row, *last_);
    return {};
  }

  // Of the graph whose plan costs least; the last plan's graph where others cost the same.
  Result<problem::Plan> best_plan(const plan::PlanOptions& options, plan::Infeasible& none) const {
    Result<problem::Plan> best = planned(graphs_.front(), options, none);
    const size_t count = planner_.name == plan::kOwnPlanner ? graphs_.size() : 1;
    for (size_t at = 1; at < count && !options.stop.stop_requested(); ++at) {
      plan::Infeasible other_none;
      Result<problem::Plan> other = planned(graphs_[at], options, other_none);
      if (best ? other && is_better(*other, *best)
               : other || plan::says_less(other.error(), other_none, best.error(), none))
        best = std::move(other), none = std::move(other_none);
    }
    return best;
  }

  Result<problem::Plan> planned(const CostGraph& graph, plan::PlanOptions options, plan::Infeasible& none) const {
    const bool of_another = last_ && problem::structure_hash(last_->graph) != problem::structure_hash(graph);
    if (of_another) options.warm_start = nullptr;
    return planner_.plan(graph, options, &none);
  }

  bool is_better(const problem::Plan& plan, const problem::Plan& than) const {
    if (value_of(plan) != value_of(than)) return value_of(plan) < value_of(than);
    return last_ && problem::structure_hash(last_->graph) == problem::structure_hash(plan.graph);
  }

  // The last plan answers this budget too; a bound is that of this budget's own question.
  void carry(const problem::Plan* fresh, const plan::PlanOptions& options) {
    last_->question.budget = options.question.budget_bytes();
    last_->bound = fresh ? fresh->bound : problem::Bound{};
    last_->certificate = fresh ? fresh->certificate : std::nullopt;
    last_->lines = fresh ? fresh->lines : std::vector<problem::Certificate>{};
    if (!set_gap(*last_, options.gap)) {  // the fresh plan's bound is of another order
      last_->bound = {}, last_->certificate.reset(), last_->lines.clear();
      (void)set_gap(*last_, options.gap);
    }
    last_->solver_seconds = fresh ? fresh->solver_seconds : 0;
  }

  static void describe(SweepRow& row, const problem::Plan& plan) {
    row.status = plan.status == problem::Status::kOptimal ? SweepStatus::kOptimal : SweepStatus::kFeasible;
    row.bound = plan.bound;
    row.gap = plan.gap;
    row.seconds = plan.solver_seconds;
  }

  Result<void> set_infeasible(const Error& error, plan::Infeasible& none, SweepRow& row) {
    if (error.code == "E0301")
      row.status = SweepStatus::kInfeasible;
    else if (error.code == "E0302")
      row.status = SweepStatus::kNotFound;
    else if (error.code == "E0304")
      row.status = SweepStatus::kNotApplicable;
    else
      return Failure(error);
    none.min_plan.reset(), none.refusal.reset();
    if (none.why.empty() || row.status == SweepStatus::kNotFound) none.why = error.message;
    row.none = none;
    if (row.status == SweepStatus::kInfeasible) none_ = std::move(none);
    return {};
  }

  const SweptGraphs& graphs_;
  const report::SweepHead& head_;
  const plan::NamedPlanner& planner_;
  SweepFolder& folder_;
  std::optional<problem::Plan> last_;  // of the largest budget so far
  plan::Infeasible none_;              // of the largest budget that was proved infeasible
};

// By planner as planners() has them, budgets upward: the same whatever the order of the runs.
std::vector<SweepRow> sorted(std::vector<SweepRow> rows) {
  const std::vector<plan::NamedPlanner> all = plan::planners();
  const auto rank = [&](const SweepRow& row) {
    return std::find_if(all.begin(), all.end(),
                        [&](const plan::NamedPlanner& known) { return known.name == row.planner; });
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const SweepRow& a, const SweepRow& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.ram_bytes < b.ram_bytes;
  });
  return rows;
}

Result<void> draw_curves(const SweptGraphs& graphs, const SweepRequest& request, const report::SweepHead& head,
                         SweepFolder& folder) {
  for (const plan::NamedPlanner& planner : request.planners) {
    Curve curve(graphs, head, planner, folder);
    for (size_t at = 0; at < request.budgets.size(); ++at) {
      if (request.started) request.started(planner.name, at);
      PANTOUM_ASSIGN(const bool done, curve.budget(request.budgets[at]));
      if (!done) return {};
    }
    PANTOUM_TRY(curve.carry_bounds_down());
  }
  return {};
}

}  // namespace

std::string question_of(const CostGraph& graph) {
  const std::string text = base::ascii_json(problem::to_json(graph));
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::string kept_costs(const std::string& folder, size_t graph) {
  const std::string name = graph == 0 ? "measured" : fmt::format("measured-{}", graph);
  return (std::filesystem::path(folder) / (name + ".costgraph.json")).string();
}

Result<SweptGraphs> with_kept_costs(SweptGraphs graphs, const std::string& folder) {
  SweptGraphs kept;
  std::error_code none;
  for (std::string path; path = kept_costs(folder, kept.size()), std::filesystem::exists(path, none);) {
    PANTOUM_ASSIGN(CostGraph graph, problem::read_cost_graph(path));
    kept.push_back(std::move(graph));
  }
  if (kept.empty()) return graphs;
  const CostGraph &first = kept.front(), &now = graphs.front();
  const bool same = problem::structure_hash(first) == problem::structure_hash(now) && first.name == now.name &&
                    first.device.name == now.device.name;
  return same ? std::move(kept) : std::move(graphs);
}

Result<report::Sweep> run_sweep(const SweptGraphs& graphs, const SweepRequest& request) {
  PANTOUM_ASSIGN(report::SweepHead head, head_of(graphs.front(), request));
  PANTOUM_ASSIGN(SweepFolder folder, SweepFolder::open(request.folder, head));
  // Times that were measured since make another question: a sweep goes on with those that it began with.
  for (size_t at = 0; request.keeps_costs && at < graphs.size(); ++at)
    PANTOUM_TRY(problem::write_cost_graph(graphs[at], kept_costs(request.folder, at)));
  PANTOUM_TRY(draw_curves(graphs, request, head, folder));
  report::Sweep sweep{.head = std::move(head), .rows = sorted(folder.rows())};
  PANTOUM_TRY(folder.write_results(sweep));
  return sweep;
}

}  // namespace pantoum::pipeline
