// The planner: a cost graph, a budget, a deadline -> a plan that the checker accepts, with a proved bound.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

// What is known of a question for which no plan was found. A proof for one order of first computations proves nothing of
// others: where plans may choose theirs, it stands beside.
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
// (problem/weighted_graph.h), and its answer is told of `graph`: joules are joules, the bound is one of the sum.
//   errors  E0117 a limit on the energy beside a weighted objective; those of `make`
Result<Plan> weighted_or_plain(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible,
                               const PlanMaker& make);

}  // namespace pantoum::plan
