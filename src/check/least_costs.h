// What every plan takes at the least, whatever its order, read off the cost graph.
#pragma once

#include <cstdint>
#include <vector>

#include "check/words.h"

namespace pantoum::check {

class PricedCosts {
 public:
  // Joules with those of idling over these seconds, and seconds of the engine; rounded down.
  struct Costs {
    double joules = 0, seconds = 0;
  };
  // `ways`: of each op those that are permitted, at least one. `moved`: of all transfers.
  PricedCosts(std::vector<std::vector<Costs>> ways, Costs moved);

  // No plan costs less, joules and seconds together; rounded down. And what the cheapest ways take, to the nearest.
  struct Sum {
    double cost = 0;
    Costs taken = {};
  };
  Sum at(double joule, double second) const;

  // The least energy within a deadline, or the least time within a limit on the energy: at any price of what is limited,
  // the sum above less what the limit itself costs is a bound, and the most over some prices counts. 50 sums.
  double energy_within(double deadline) const;
  double time_within(double energy_limit) const;

  // energy + second * time >= least, for every plan, near the least product of both: at most 60.
  struct Line {
    double second = 0, least = 0;
  };
  std::vector<Line> lines_below_product() const;

 private:
  double at_best_price(double limit, bool limits_time) const;

  std::vector<std::vector<Costs>> ways_;
  Costs moved_;
};

// Rounded down.
//
//   - energy and time: the cheapest permitted choice of every op that must run, its energy with idle power over its own
//     seconds; every transfer that must happen, of what starts in storage and is read by every permitted choice of such
//     an op, and of what must end there and does not start there (its time, and idle power over that, only where a
//     transfer blocks the engine)
//   - RAM: what is there when the step starts, or while an op runs under its leanest choice, with what is pinned then.
//     Sizes are rounded up to the alignment, but for the topmost block
struct LeastCosts {
  double energy_j = 0, time_s = 0;
  int64_t ram_bytes = 0;
};

// Returns the least costs of plans with these freedoms; limits are not asked, and the budget only where there are several
// engines or streams: choices that do not fit it are left out. The graph has passed problem::validate. Cost: pinned tensors
// times ops.
LeastCosts least_costs(const CostGraph& graph, const Freedoms& freedoms, int64_t budget = INT64_MAX);

// Returns the costs of ops and transfers, which can be summed at any prices.
PricedCosts priced_costs(const CostGraph& graph, const Freedoms& freedoms, int64_t budget = INT64_MAX);

}  // namespace pantoum::check
