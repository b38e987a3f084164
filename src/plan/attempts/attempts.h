// Plans a whole step within one time limit, by several calls of the planner.
//
//   plan_step            where transfers take time of the threads that compute: with and without that
//     plan_best_graph    which of the step's graphs
//       plan_programs    where training leaves its state, so that the other programs fit as well
//         make_plan      one program, by the planner and the objective that were asked for
//
// The table in plan/simulate/time_limit.cc has the share of PlanOptions::time_limit that each function uses.
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
  bool backward = true;  // the program is part of the training step, and keeps its deadline and energy limit
  CostGraph graph;
  Plan plan = {};
};

// Another graph that may stand in the first program's place.
struct Candidate {
  CostGraph graph;
  double least = 0;    // value of running its ops once, each by its best algorithm: no plan of the graph costs less
  double doubt = 1;    // factor on its value: above 1 where less of its time was measured than of the first graph's
  bool given = false;  // the graph of the plan to start from; it need not be clearly better than the first graph
};

// The times of the storage for a step that waits, and the time that transfers take from the threads that compute.
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
  std::vector<Program> programs;      // the first is the training step, or what stands in its place
  std::vector<Candidate> candidates;  // the cheapest first
  double worth = 1;                   // a candidate has to cost less than this share of the first graph's cost
  std::optional<StorageTimes>
      storage;  // set if every core has a computing thread, so that transfers take time from these threads

  // Results of planning: positions in `candidates`; nullopt: the first program's own graph.
  std::optional<size_t> chosen;       // the candidate whose graph the first program has now
  std::optional<size_t> min_plan_of;  // the candidate to whose graph Infeasible::min_plan belongs
};

// The request for every program.
struct Asked {
  PlanOptions options;
  NamedPlanner planner;
  std::optional<ObjectiveExpression> formula = {};  // in place of the question's objective

  double value_of(const Plan& plan) const;
  bool by_time() const;  // whether the objective is the least time and nothing else except time is limited
};

// E0115: the planner is unknown; E0117: the formula is invalid. An empty text means that there is no formula.
Result<Asked> asked_of(PlanOptions options, const std::string& planner, const std::string& formula);

// Plans one program. Ignores a start that is not a plan of the graph.
Result<Plan> make_plan(const Asked& asked, const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible);

// Plans all programs in one arena. Tries three placements of training's state: the best one for training's plan, then packed at the bottom of the
// arena, then as in the plan of the smallest budget; uses the first with which the other programs fit. `reuse`: becomes training's plan. `infeasible`
// null: the call is an attempt, which ends early if training has no plan and searches for no further facts.
//   errors  those of make_plan; E0231: `reuse` is of another step; those of check::replay if `reuse` is not valid
Result<void> plan_programs(Step& step, const Asked& asked, const PlanOptions& options, const Plan* reuse,
                           Infeasible* infeasible);

// Plans one more program in the arena of a planned step, with the step's tensors where they are: the first plan that fits the step's budget.
// E0301, E0302: there is none.
Result<Plan> plan_beside(const Step& step, const CostGraph& graph, const PlanOptions& options);

// Plans the first program's own graph and the candidates, and keeps the graph whose plan costs least.
Result<void> plan_best_graph(Step& step, const Asked& asked, const PlanOptions& options, Infeasible* infeasible);

// Puts the storage's times into all graphs, before anything is planned: by time those that a waiting step finds, so that
// deadlines, starts and other planners' plans are told by the same times; otherwise the pager stays as it is (transfers held
// back), but for a start that was made with the former.
void choose_storage_times(Step& step, const Asked& asked);

// Plans the step. If `storage` is known and the objective is the least time, returns the plan whose step is expected to be shortest. For other
// objectives without a deadline, a step that waits for its storage is planned again with the times that a waiting step finds. A plan to start from
// takes part in neither comparison: the result is no worse than this plan, by the plan's own time.
Result<void> plan_step(Step& step, const Asked& asked, Infeasible* infeasible);

// Returns the expected run of a planned step with the storage's times; if `taken`, also with the time that transfers take from the engine.
std::optional<Predicted> expected(const StorageTimes& storage, const Plan& plan, bool taken = true);

// Returns whether to report the error of one graph in place of another graph's. If no graph has a plan in the budget, the report must hold for all
// graphs: an error without a proof has precedence, then the error with the lowest bound.
bool says_less(const Error& error, const Infeasible& none, const Error& than, const Infeasible& than_none);

// E0001: the checker rejects the proof that there is no plan.
Result<void> check_infeasibility(const Infeasible& infeasible);

// Returns a warning if the plan to start from belongs to none of these graphs; "" if it belongs to one, or if there is no such plan.
std::string warning_of_start(const PlanOptions& options, const std::vector<const CostGraph*>& graphs);

// Plans for an objective that no single question has, iteratively by the slopes of the objective.

// Returns the best of several plans by the expression's value: the plans of least energy and of least time, then repeatedly the plan that is best by
// the slopes of the expression at the best plan so far. Each plan gets an equal part of the remaining time. A plan's bound holds for the question for
// which the plan was made (whose weights are those slopes); there is no bound for the expression's own value. Where one more second makes the value
// less (power), choices of algorithms
// are compared so, and nothing waits on purpose; nothing is proved of such a plan.
//   errors  E0117: the energy is limited, or the expression has no value or no slope; those of `make` if no plan is found
Result<Plan> plan_by_slopes(const ObjectiveExpression& expression, const CostGraph& graph, const PlanOptions& options,
                            Infeasible* infeasible, const PlanMaker& make);

}  // namespace pantoum::plan
