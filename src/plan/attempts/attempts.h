// Plans of a whole step within one time limit: all that asks the planner again.
//
//   plan_step            where transfers take time of the threads that compute: with and without that
//     plan_best_graph    which of the step's graphs
//       plan_programs    where training leaves its state, so that the other programs fit as well
//         make_plan      one program, by the planner and the objective that were asked for
//
// Each takes its shares of PlanOptions::time_limit from the table in plan/simulate/time_limit.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/attempts/objective_expression.h"
#include "plan/attempts/planners.h"
#include "plan/planner.h"

namespace pantoum::plan {

// A program of a network.
struct Program {
  bool backward = true;  // it is part of the training step, whose deadline and energy limit it keeps
  CostGraph graph;
  Plan plan = {};
};

// Another graph that may stand in the first program's place.
struct Candidate {
  CostGraph graph;
  double least = 0;    // value of its ops once, each by its best algorithm: no plan of it costs less
  double doubt = 1;    // factor on its value: above 1 where less of its time was measured than of the first graph's
  bool given = false;  // it is the graph of the plan to start from, and need not be clearly better than the first
};

// What the storage takes where a step waits for it, and what transfers take from the threads that compute.
struct StorageTimes {
  struct Engine {  // seconds of the threads that compute, for one transfer
    Seconds fixed = 0, per_byte = 0;
    Seconds of(Bytes bytes) const { return fixed + per_byte * static_cast<double>(bytes); }
  };
  Pager pager;    // the links as a step that waits finds them
  Pager delayed;  // the same, slowed by the threads that compute
  Engine in, out;
};

struct Step {
  std::vector<Program> programs;        // the first is the training step, or what stands in its place
  std::vector<Candidate> candidates;    // the cheapest first
  double worth = 1;                     // a candidate has to cost less than this share of the first graph's cost
  std::optional<StorageTimes> storage;  // where every core has a thread that computes, so that transfers take its time

  // Answers. Positions in `candidates`; none: the first program's own graph.
  std::optional<size_t> chosen;       // whose graph the first program has now
  std::optional<size_t> min_plan_of;  // of which graph Infeasible::min_plan is a plan
};

// What is asked of every program.
struct Asked {
  PlanOptions options;
  NamedPlanner planner;
  std::optional<ObjectiveExpression> formula = {};  // in place of the question's objective

  double value_of(const Plan& plan) const;
  bool by_time() const;  // is the least time asked for, and nothing else limited but the time?
};

// E0115 an unknown planner, E0117 a formula that is none. An empty formula is none.
Result<Asked> asked_of(PlanOptions options, const std::string& planner, const std::string& formula);

// The plan of one program. A start that is no plan of the graph is not taken.
Result<Plan> make_plan(const Asked& asked, const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible);

// Plans of all programs in one arena: training's state lies where training's plan is best, if the other programs fit as
// well; else packed at the bottom; else as in the plan of the smallest budget. `reuse`: taken as training's plan.
// Without `infeasible` it is a try: nothing is sought to tell more, and not for long where training has no plan.
//   errors  those of make_plan; E0231 `reuse` is of another step; those of check::replay where `reuse` is no plan
Result<void> plan_programs(Step& step, const Asked& asked, const PlanOptions& options, const Plan* reuse,
                           Infeasible* infeasible);

// Plans the graph whose plan costs least, of the first program's own graph and the candidates.
Result<void> plan_best_graph(Step& step, const Asked& asked, const PlanOptions& options, Infeasible* infeasible);

// Puts the storage's times into all graphs, before anything is planned: by time those that a waiting step finds, so that
// deadlines, starts and other planners' plans are told by the same times; otherwise the pager stays as it is (transfers held
// back), but for a start that was made with the former.
void choose_storage_times(Step& step, const Asked& asked);

// Plans the step. Where `storage` is known and the least time is asked, the answer is the plan whose step is expected to be
// the shortest; for other objectives without a deadline a step that waits for its storage is planned again with the times that
// it finds then. A start takes part in neither: the answer is no worse than it, by its own time.
Result<void> plan_step(Step& step, const Asked& asked, Infeasible* infeasible);

// How a planned step is expected to run: with the storage's times, and what transfers take of the engine where `taken`.
std::optional<Predicted> expected(const StorageTimes& storage, const Plan& plan, bool taken = true);

// Is the error of one graph to be told in place of another's? What is told of a budget in which no graph has a plan must hold
// for all graphs: an error without a proof comes first, then the lowest bound.
bool says_less(const Error& error, const Infeasible& none, const Error& than, const Infeasible& than_none);

// E0001 the checker rejects the proof that there is no plan.
Result<void> check_infeasibility(const Infeasible& infeasible);

// A warning where the plan to start from is of none of these graphs; "": it is of one, or there is none.
std::string warning_of_start(const PlanOptions& options, const std::vector<const CostGraph*>& graphs);

// Plans for an objective that no single question asks for: by its slopes, from step to step.

// The best of several plans by the expression's value: those of least energy and least time, then, again and again, the
// plan that is best by the slopes of the expression at the best one so far. Each gets an equal part of the time that is left.
// What a plan says to be proved is proved of the question that it was made for (weights that are those slopes); of the
// expression's own value nothing is proved. Where one more second makes the value less (power), choices of algorithms
// are compared so, and nothing waits on purpose; nothing is proved of such a plan.
//   errors  E0117 a limit on the energy, or an expression that has no value or no slope; those of `make` where no plan is found
Result<Plan> plan_by_slopes(const ObjectiveExpression& expression, const CostGraph& graph, const PlanOptions& options,
                            Infeasible* infeasible, const PlanMaker& make);

}  // namespace pantoum::plan
