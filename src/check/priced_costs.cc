#include "check/priced_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "check/rounding.h"

namespace pantoum::check {
namespace {

const Rounded kDown{Rounding::kDown};

// Exact at a price of 1.
double at_price(double price, double figure) {
  return price == 1 ? figure : kDown.product(price, figure);
}

constexpr int kHalvings = 50;  // of the range of prices
// The planner's constants (plan/bound/bounds.cc) are stricter: it draws fewer of the same lines, so that what it claims is proved.
constexpr size_t kLines = 60;
constexpr double kApart = 1.0001;  // prices that are nearer tell less than the rounding of where lines meet
constexpr double kFlattest = 1e-5, kSteepest = 1e5;  // nor do prices beyond these, times the least joules a second

}  // namespace

PricedCosts::PricedCosts(std::vector<std::vector<Costs>> ways, Costs moved) : ways_(std::move(ways)), moved_(moved) {}

PricedCosts::Sum PricedCosts::at(double joule, double second) const {
  const auto priced = [&](const Costs& costs) {
    return kDown.sum(at_price(joule, costs.joules), at_price(second, costs.seconds));
  };
  Sum sum{.cost = priced(moved_), .taken = moved_};
  for (const std::vector<Costs>& ways : ways_) {
    const Costs* best = nullptr;
    double least = HUGE_VAL;
    for (const Costs& way : ways)
      if (const double cost = priced(way); best == nullptr || cost < least) best = &way, least = cost;
    sum.cost = kDown.sum(sum.cost, least);
    sum.taken = {sum.taken.joules + best->joules, sum.taken.seconds + best->seconds};
  }
  return sum;
}

double PricedCosts::energy_within(double deadline) const {
  return at_best_price(deadline, true);
}

double PricedCosts::time_within(double energy_limit) const {
  return at_best_price(energy_limit, false);
}

// By halving: at a price that is too low, more is taken than the limit allows.
double PricedCosts::at_best_price(double limit, bool limits_time) const {
  const Costs cheapest = at(1, 0).taken;
  if (cheapest.joules <= 0 || cheapest.seconds <= 0) return 0;
  const double second = cheapest.joules / cheapest.seconds;  // where both count the same
  double most = 0, below = 0, above = 1;
  for (int halving = 0; halving < kHalvings; ++halving) {
    const double share = (below + above) / 2;
    const double price = share / (1 - share) * (limits_time ? second : 1 / second);
    const auto [cost, taken] = limits_time ? at(1, price) : at(price, 1);
    most = std::max(most, sum_down(cost, -up(price * limit)));
    ((limits_time ? taken.seconds : taken.joules) > limit ? below : above) = share;
  }
  return most;
}

// Of the ranges of prices between plans that are known, always the one whose lines leave the least product: its price is the
// slope between its plans, and parts it until no plan lies below that slope.
std::vector<PricedCosts::Line> PricedCosts::lines_below_product() const {
  struct Range {
    Line slow, fast;       // the fast one of the time alone has an infinite price
    Costs thrifty, quick;  // what the plans take that these touch
    double product = 0;
  };
  const Sum thrifty = at(1, 0), quick = at(0, 1);
  const double scale = thrifty.taken.joules / quick.taken.seconds;
  const auto with_product = [&](Range range) {
    const bool last = std::isinf(range.fast.second);
    const double time =
        last ? quick.cost : (range.fast.least - range.slow.least) / (range.fast.second - range.slow.second);
    range.product = std::max(0.0, time) * std::max(0.0, range.slow.least - range.slow.second * time);
    return range;
  };
  std::vector<Line> lines{{0, thrifty.cost}};
  std::vector<Range> open{with_product({lines.front(), {HUGE_VAL, 0}, thrifty.taken, quick.taken})};
  while (lines.size() < kLines) {
    const auto least = std::min_element(open.begin(), open.end(),
                                        [](const Range& a, const Range& b) { return a.product < b.product; });
    const Range range = *least;
    const double more = range.quick.joules - range.thrifty.joules, sooner = range.thrifty.seconds - range.quick.seconds;
    const double price = more / sooner;
    const bool apart = price > kApart * range.slow.second && price * kApart < range.fast.second;
    if (!(more > 0 && sooner > 0 && apart && price > kFlattest * scale && price < kSteepest * scale)) break;
    const Sum sum = at(1, price);
    const Line line{price, sum.cost};
    lines.push_back(line);
    *least = with_product({range.slow, line, range.thrifty, sum.taken});
    open.push_back(with_product({line, range.fast, sum.taken, range.quick}));
  }
  return lines;
}

}  // namespace pantoum::check
