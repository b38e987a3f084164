// What the ops that must run, and the transfers that must happen, cost at the least, at prices of a joule and a second.
#pragma once

#include <vector>

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
  [[nodiscard]] Sum at(double joule, double second) const;

  // The least energy within a deadline, or the least time within a limit on the energy: at any price of what is limited,
  // the sum above less what the limit itself costs is a bound, and the most over some prices counts. 50 sums.
  [[nodiscard]] double energy_within(double deadline) const;
  [[nodiscard]] double time_within(double energy_limit) const;

  // energy + second * time >= least, for every plan, near the least product of both: at most 60.
  struct Line {
    double second = 0, least = 0;
  };
  [[nodiscard]] std::vector<Line> lines_below_product() const;

 private:
  [[nodiscard]] double at_best_price(double limit, bool limits_time) const;

  std::vector<std::vector<Costs>> ways_;
  Costs moved_;
};

}  // namespace pantoum::check
