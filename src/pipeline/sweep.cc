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
#include "plan/planner.h"
#include "problem/cost_graph_json.h"
#include "problem/objective_values.h"
#include "problem/time_source.h"

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
  Curve(const CostGraph& graph, const report::SweepHead& head, const NamedPlanner& planner, SweepFolder& folder)
      : graph_(graph), head_(head), planner_(planner), folder_(folder) {}

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
    Result<problem::Plan> plan = planner_.plan(graph_, options, &none);
    if (!plan && !last_) return set_infeasible(plan.error(), none, row);
    row.carried = last_ && (!plan || value_of(*last_) <= value_of(*plan));
    if (row.carried)
      carry(plan ? &*plan : nullptr, options);
    else
      last_ = std::move(*plan);
    PANTOUM_ASSIGN(row.found, checked(graph_, *last_, planner_.name));
    describe(row, *last_);
    return {};
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

  const CostGraph& graph_;
  const report::SweepHead& head_;
  const NamedPlanner& planner_;
  SweepFolder& folder_;
  std::optional<problem::Plan> last_;  // of the largest budget so far
  plan::Infeasible none_;              // of the largest budget that was proved infeasible
};

// By planner as planners() has them, budgets upward: the same whatever the order of the runs.
std::vector<SweepRow> sorted(std::vector<SweepRow> rows) {
  const std::vector<NamedPlanner> all = planners();
  const auto rank = [&](const SweepRow& row) {
    return std::find_if(all.begin(), all.end(), [&](const NamedPlanner& known) { return known.name == row.planner; });
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const SweepRow& a, const SweepRow& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.ram_bytes < b.ram_bytes;
  });
  return rows;
}

Result<void> draw_curves(const CostGraph& graph, const SweepRequest& request, const report::SweepHead& head,
                         SweepFolder& folder) {
  for (const NamedPlanner& planner : request.planners) {
    Curve curve(graph, head, planner, folder);
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

std::string kept_costs(const std::string& folder) {
  return (std::filesystem::path(folder) / "measured.costgraph.json").string();
}

Result<CostGraph> with_kept_costs(CostGraph graph, const std::string& folder) {
  const std::string path = kept_costs(folder);
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return graph;
  PANTOUM_ASSIGN(CostGraph kept, problem::read_cost_graph(path));
  const bool same = problem::structure_hash(kept) == problem::structure_hash(graph) && kept.name == graph.name &&
                    kept.device.name == graph.device.name;
  return same ? std::move(kept) : std::move(graph);
}

Result<report::Sweep> run_sweep(const CostGraph& graph, const SweepRequest& request) {
  PANTOUM_ASSIGN(report::SweepHead head, head_of(graph, request));
  PANTOUM_ASSIGN(SweepFolder folder, SweepFolder::open(request.folder, head));
  // Times that were measured since make another question: a sweep goes on with those that it began with.
  if (request.keeps_costs) PANTOUM_TRY(problem::write_cost_graph(graph, kept_costs(request.folder)));
  PANTOUM_TRY(draw_curves(graph, request, head, folder));
  report::Sweep sweep{.head = std::move(head), .rows = sorted(folder.rows())};
  PANTOUM_TRY(folder.write_results(sweep));
  return sweep;
}

}  // namespace pantoum::pipeline
