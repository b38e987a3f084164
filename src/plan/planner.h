// The planner: a cost graph, a budget, a deadline -> a plan that the checker accepts, with a proved bound.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "plan/simulate/plan_options.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {

// What is known of a question for which no plan was found. Where plans may choose their order, a proof for one order
// proves nothing of others, so both proofs are kept.
struct Infeasible {
  Bytes min_ram_bytes = 0;        // the smallest budget for which a plan is known
  Bytes min_ram_bound_bytes = 0;  // below which it is proved that none exists, by exactly the question asked
  std::string why;
  std::optional<Plan> min_plan;     // proves min_ram_bytes
  bool without_limits = false;      // min_plan ignores deadline and energy limit: no plan is known that meets them
  Bytes order_ram_bound_bytes = 0;  // below which no plan of the planned order exists; >= min_ram_bound_bytes
  std::optional<Certificate> ram_certificate;  // of min_ram_bound_bytes, where a linear program has proved it
  struct Least {                               // of all plans in the RAM asked for
    std::optional<double> known;
    double proved = 0;                       // by exactly the question asked
    double of_order = 0;                     // of plans of the planned order; >= proved
    std::optional<Certificate> certificate;  // of proved where a linear program has proved that, or else of of_order
  };
  std::optional<Least> time_s, energy_j;  // where there is a limit on it
  std::optional<Refusal> refusal;         // where it is proved that no plan answers the question
};

// A plan within the budget, its offsets placed, its predictions exact. Every plan returned has passed `check::replay`'s
// rules (asserted by the pipeline, which runs the checker before anything is written).
//   errors  E0300 budget of 0, E0301 proved infeasible for exactly the question, E0302 limit reached without a plan; for the last two
//           `infeasible`, when given, is filled
//   cost    honours options.time_limit to within 200 ms, but for a first plan, which is sought for a moment longer (0.7 s
//           in all, and 3 s where orders differ; one that is known to exist, by evicting what can be, is found however
//           short the limit), and for a deadline that no plan was found for, which is asked again by time alone
Result<Plan> make_plan(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible = nullptr);

// The plan without budget, paging and recomputing: given order, freed after last use, in-place used (when options say
// so), first choices. Its predicted.peak_bytes is the unplanned peak.
Result<Plan> unplanned(const CostGraph& graph, const PlanOptions& options = {});

// A weighted sum of energy and makespan is planned as the energy of another graph.
using PlanMaker = std::function<Result<Plan>(const CostGraph& graph, const PlanOptions& options, Infeasible*)>;

// What `make` answers. Where the question is of a weighted sum, it is asked for the least energy of the weighted graph
// (problem/objective_values.h), and its answer is told of `graph`: joules are joules, the bound is one of the sum.
//   errors  E0117 a limit on the energy beside a weighted objective; those of `make`
Result<Plan> weighted_or_plain(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible,
                               const PlanMaker& make);

// Why there is no plan: what is known, in words and as a proof that can be given away.

// For a question for which no plan was found: a plan that meets the budget and the limits after all, in the rest of the time;
// or nothing, and `known` says what is known. `smallest`: the original graph in the order that needs least RAM. Bound and
// status of the smallest plan are those of its own question.
std::optional<Plan> plan_after_all(const CostGraph& smallest, const CostGraph& original, const PlanOptions& options,
                                   const TimeLimit& time, Infeasible& known);

// The proof as one that can be given away, where there is one of exactly the question asked.
std::optional<Refusal> refusal_of(const CostGraph& graph, const PlanOptions& options, const Infeasible& known);

// E0301 where it is proved that there is no plan, E0302 otherwise.
Error infeasibility_report(const std::string& graph, const PlanOptions& options, const Infeasible& known);

class Solver;

// Functions that finish a plan before it is answered, and that decide whether a plan answers a question.

// Method, bound with its certificates, gap and status: what `solver` has proved of the plan's question. `original`: the
// user's graph, of which the solver's may be another order.
void finalize(Plan& plan, const CostGraph& original, const Solver& solver, const PlanOptions& options);

// The plan with no bound: what it was proved to be was another question, or another graph's.
Plan without_proof(Plan plan);

// The plan that is worth less, if any, in place of `best`.
void keep_better(std::optional<Plan>& best, std::optional<Plan> plan);

// Does the plan, which holds on the graph, do nothing that these freedoms leave out? Cost: near linear.
bool keeps_freedoms(const CostGraph& graph, const Plan& plan, const Freedoms& freedoms);

// Is a plan that was made for another question an answer to this one?
bool answers(const Plan& other, const CostGraph& graph, const PlanOptions& options);

// options.warm_start in place of `best`, where it answers the question and is no worse; where it may leave other programs no
// room, only where it is better.
void keep_better_warm_start(std::optional<Plan>& best, const CostGraph& graph, const PlanOptions& options);

}  // namespace pantoum::plan
