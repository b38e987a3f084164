// The planner. From a cost graph, a budget and a deadline it makes a plan that the checker accepts, with a proved bound.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "plan/simulate/plan_options.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {

// The facts known about a question for which no plan was found. If plans may choose their order, a proof for one order does not hold for other
// orders, so both proofs are kept.
struct Infeasible {
  Bytes min_ram_bytes = 0;        // the smallest budget for which a plan is known
  Bytes min_ram_bound_bytes = 0;  // proved: for exactly the question asked, no plan exists below this budget
  std::string why;
  std::optional<Plan> min_plan;     // proves min_ram_bytes
  bool without_limits = false;      // min_plan ignores deadline and energy limit: no plan is known that meets them
  Bytes order_ram_bound_bytes = 0;  // no plan of the planned order exists below this budget; >= min_ram_bound_bytes
  std::optional<Certificate> ram_certificate;  // proves min_ram_bound_bytes, if a linear program proved it
  struct Least {                               // the least value of all plans in the RAM asked for
    std::optional<double> known;
    double proved = 0;                       // lower bound for exactly the question asked
    double of_order = 0;                     // lower bound for plans of the planned order; >= proved
    std::optional<Certificate> certificate;  // proves `proved` if a linear program proved it, otherwise `of_order`
  };
  std::optional<Least> time_s, energy_j;  // if the question limits it
  std::optional<Refusal> refusal;         // if it is proved that no plan answers the question
  bool of_some_slices = false;            // what is proved holds for the slices of the graph: the ops have others, too
};

// Returns a plan within the budget, with offsets and exact predictions. Every returned plan obeys the rules of `check::replay`; the pipeline runs
// this checker before it writes anything.
//   errors  E0300: the budget is 0; E0301: proved infeasible for exactly the question; E0302: the limit was reached without a plan. E0301 and E0302
//   fill `infeasible` if it is not null
//   cost    keeps options.time_limit to within 200 ms, with two exceptions. The search for a first plan may take longer: 0.7 s in all, or 3 s if
//   orders differ; a plan that is known to exist, because evicting tensors makes it fit, is found even with a shorter limit. If no plan was found for
//   a deadline, the question is planned again by time alone
Result<Plan> make_plan(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible = nullptr);

// Returns the plan without budget, paging and recomputing: in the given order, with first choices, freeing each tensor after its last use, in place
// if the options allow it. Its predicted.peak_bytes is the unplanned peak.
Result<Plan> unplanned(const CostGraph& graph, const PlanOptions& options = {});

// Plans a weighted sum of energy and makespan as the energy of another graph.
using PlanMaker = std::function<Result<Plan>(const CostGraph& graph, const PlanOptions& options, Infeasible*)>;

// Returns the answer of `make`. For a weighted sum, calls `make` for the least energy of the weighted graph (problem/objective_values.h) and converts
// the answer to `graph`: its joules are those of `graph`, and its bound is a bound of the sum.
//   errors  E0117: the question has a weighted objective and a limit on the energy; those of `make`
Result<Plan> weighted_or_plain(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible,
                               const PlanMaker& make);

// Reports why there is no plan, in words and as a proof that others can check.

// Uses the rest of the time after no plan was found. Returns a plan that meets the budget and the limits, if one is found now; otherwise nullopt, and
// `known` has the known facts. `smallest`: the original graph in the order that needs least RAM. Bound and
// status of the smallest plan are those of its own question.
std::optional<Plan> plan_after_all(const CostGraph& smallest, const CostGraph& original, const PlanOptions& options,
                                   const TimeLimit& time, Infeasible& known);

// Returns the proof in a form that others can check, if there is a proof for exactly the question asked.
std::optional<Refusal> refusal_of(const CostGraph& graph, const PlanOptions& options, const Infeasible& known);

// Returns the option that asks for so much RAM, as the help of an error names it.
std::string ram_option(Bytes bytes);

// Returns E0301 if it is proved that there is no plan, E0302 otherwise.
Error infeasibility_report(const std::string& graph, const PlanOptions& options, const Infeasible& known);

class Solver;

// Functions that complete a plan before it is returned, and that decide whether a plan answers a question.

// Sets method, bound, certificates, gap and status from the proofs of `solver`. `original`: the user's graph; the solver's graph may have another
// order.
void finalize(Plan& plan, const CostGraph& original, const Solver& solver, const PlanOptions& options);

// Returns the plan without its bound, because the bound was proved for another question or another graph.
Plan without_proof(Plan plan);

// Replaces `best` by the other plan if that plan exists and has a smaller value.
void keep_better(std::optional<Plan>& best, std::optional<Plan> plan);

// Returns whether the plan, which must be valid for the graph, uses only these freedoms. Cost: near linear.
bool keeps_freedoms(const CostGraph& graph, const Plan& plan, const Freedoms& freedoms);

// Returns whether a plan that was made for another question answers this one.
bool answers(const Plan& other, const CostGraph& graph, const PlanOptions& options);

// Replaces `best` by options.warm_start if that plan answers the question and is no worse. If warm_start may leave no room for other programs, it has
// to be better.
void keep_better_warm_start(std::optional<Plan>& best, const CostGraph& graph, const PlanOptions& options);

}  // namespace pantoum::plan
