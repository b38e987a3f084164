// The planner: a cost graph, a budget, a deadline -> a plan that the checker accepts, with a proved bound.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "plan/plan.h"
#include "plan/switches.h"

namespace pantoum::plan {

struct Progress {
  Seconds elapsed = 0;
  double best = 0;   // objective value of the best plan so far; infinity before the first
  double bound = 0;  // proved lower bound
};

struct PlanOptions {
  Bytes ram = 0;                             // 0 is an error (E0300)
  std::optional<Seconds> deadline;           // on the makespan
  std::optional<Joules> most_energy;         // on a step's energy
  Objective objective = Objective::kEnergy;  // kTime: then fewest bytes transferred
  bool paging = true, remat = true, in_place = true;
  bool allow_numerics_change = false;
  bool reorder = true;
  Without without;                   // rules of bounds and search that are switched off
  double gap = 1e-4;                 // stop when proved within
  Seconds time_limit = 60;           // honoured to within 200 ms
  int64_t effort = 0;                // > 0: a fixed amount of search instead of a clock: the same plan on any machine
  int threads = 0;                   // 0: all
  const Plan* warm_start = nullptr;  // a plan of the same graph; the answer is never worse than it where it fits
  std::map<int64_t, Bytes>
      fixed_initial;     // tensors whose arena offset is given (a second program that shares the arena)
  std::stop_token stop;  // asks for the best so far
  std::function<void(const Progress&)> progress;
};

// Carried by E0301's notes too: the smallest budget for which a plan is known, and one below which none exists.
struct Infeasible {
  Bytes min_ram_bytes = 0, min_ram_bound_bytes = 0;
  std::string why;
  std::optional<Plan> min_plan;  // proves min_ram_bytes
  bool without_limits = false;   // min_plan is late or takes too much energy: no plan is known that does not
  std::optional<Certificate> ram_certificate;  // of min_ram_bound_bytes, where a linear program has proved it
  struct Least {                               // of all plans in the RAM asked for
    std::optional<double> known;
    double proved = 0;
  };
  std::optional<Least> time_s, energy_j;  // where there is a limit on it
};

// A plan within the budget, its offsets placed, its predictions exact. Every plan returned has passed `check::replay`'s
// rules (asserted by the pipeline, which runs the checker before anything is written).
//   errors  E0300 budget of 0, E0301 proved infeasible, E0302 limit reached without a plan; for the last two
//           `infeasible`, when given, is filled
//   cost    honours options.time_limit to within 200 ms
[[nodiscard]] Result<Plan> make_plan(const CostGraph& graph, const PlanOptions& options,
                                     Infeasible* infeasible = nullptr);

// The plan without budget, paging and recomputing: given order, freed after last use, in-place used (when options say
// so), first choices. Its predicted.peak_bytes is the unplanned peak.
[[nodiscard]] Result<Plan> unplanned(const CostGraph& graph, const PlanOptions& options = {});

}  // namespace pantoum::plan
