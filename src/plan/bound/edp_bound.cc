#include "plan/bound/edp_bound.h"

#include <algorithm>
#include <cmath>

namespace pantoum::plan {
namespace {

constexpr int32_t kAllStages = 60;  // ops up to which every pressed stage is a boundary at once
constexpr int32_t kFewest = 8, kMost = 256;
constexpr int kMostLines = 8;          // of one set of boundaries
constexpr int64_t kShares = 4;         // a line takes at most one share of the iterations
constexpr double kMargin = 1 - 1e-9;   // a plan's figures are sums with rounding of their own
constexpr double kGain = 1e-6;         // a line that cuts off less is the last one
constexpr double kLongest = 64;        // times the least makespan: what takes longer is far above every line
constexpr double kLongestByValue = 4;  // times the makespan at which the least energy alone exceeds the value

}  // namespace

Corner least_corner(const std::vector<Line>& lines, Seconds least_time) {
  Corner start{.energy = 0, .time = least_time};
  for (const Line& line : lines)
    if (line.price == 0) start.energy = std::max(start.energy, line.least);
  const auto at = [&](Joules energy) {
    Corner corner{.energy = energy, .time = least_time};
    for (const Line& line : lines)
      if (line.price > 0) corner.time = std::max(corner.time, (line.least - energy) / line.price);
    return corner;
  };
  Corner best = at(start.energy);
  const auto consider = [&](Joules energy) {
    if (energy <= start.energy) return;
    if (const Corner corner = at(energy); corner.product() < best.product()) best = corner;
  };
  for (const Line& line : lines) {
    consider(line.least - line.price * least_time);
    for (const Line& other : lines)
      if (line.price > other.price && other.price > 0)
        consider((line.price * other.least - other.price * line.least) / (line.price - other.price));
  }
  return best;
}

EdpBound::EdpBound(const Model& model, const PlanOptions& options, const Bounds& least)
    : model_(model), options_(options), least_(least), bound_(least.energy * least.time * kMargin) {}

Corner EdpBound::corner() const {
  std::vector<Line> lines = lines_;
  lines.push_back({.least = least_.energy});
  return least_corner(lines, least_.time);
}

bool EdpBound::finished(const Limits& limits) const {
  if (bound() >= limits.value() * (1 - std::max(options_.gap, 1e-9))) return true;
  return limits.effort > 0 ? iterations_ >= iterations_for(limits.effort, model_) : limits.seconds_left() <= 0;
}

RelaxationOptions EdpBound::question(const Limits& limits) const {
  const double value = limits.value();
  const Seconds dear = std::isfinite(value) && least_.energy > 0 ? kLongestByValue * value / least_.energy : 0;
  Question energy = options_.question;
  energy.objective = Objective::kEnergy;
  return {.question = energy, .most_seconds = std::max(kLongest * least_.time, dear)};
}

void EdpBound::run(const Limits& limits) {
  const bool small = model_.stages() <= kAllStages;
  std::vector<int32_t> last;
  for (int32_t slices = small ? model_.end() : kFewest; slices <= kMost; slices *= 2) {
    std::vector<int32_t> boundaries = choose_boundaries(model_, options_.question.budget_bytes(), slices);
    if (boundaries == last || !lay_lines(boundaries, limits) || small) return;
    last = std::move(boundaries);
  }
}

// False: finished.
bool EdpBound::lay_lines(const std::vector<int32_t>& boundaries, const Limits& limits) {
  for (const Objective objective : {Objective::kEnergy, Objective::kTime}) {
    RelaxationOptions asked = question(limits);
    asked.question.objective = objective;
    if (finished(limits)) return false;
    lay(asked, boundaries, limits);
  }
  for (int line = 0; line < kMostLines; ++line) {
    if (finished(limits)) return false;
    const Corner before = corner();
    if (before.product() <= 0) return false;
    lay_through(before, boundaries, limits);
    if (corner().product() <= before.product() * (1 + kGain)) return true;
  }
  return true;
}

void EdpBound::lay_through(const Corner& corner, const std::vector<int32_t>& boundaries, const Limits& limits) {
  RelaxationOptions asked = question(limits);
  asked.second_price = corner.energy / corner.time;
  lay(asked, boundaries, limits);
}

void EdpBound::lay(RelaxationOptions asked, const std::vector<int32_t>& boundaries, const Limits& limits) {
  const Relaxation relaxation(model_, asked, boundaries);
  const int64_t most = iterations_for(limits.effort, model_);
  const int64_t left = limits.effort > 0 ? std::clamp<int64_t>(most - iterations_, 1, most / kShares) : 0;
  LpBound found = lp_bound(relaxation, options_,
                           {.seconds_left = limits.seconds_left,
                            .iterations = left,
                            .target = [] { return HUGE_VAL; },
                            .raised = [](double) {}});
  iterations_ += found.iterations;
  if (!found.certificate) return;
  const bool timed = asked.question.objective == Objective::kTime;
  const double second = timed ? 1 : model_.idle_w + asked.second_price;
  double& bound = found.certificate->bound;  // of all plans: those that take longer cost no less than by that alone
  if (!asked.question.deadline && second > 0)
    bound = std::min(bound, relaxation.constant() * kMargin + second * *asked.most_seconds);
  const double least = bound * kMargin;
  if (timed)
    least_.time = std::max(least_.time, least);
  else if (asked.second_price > 0)
    lines_.push_back({.price = asked.second_price, .least = least});
  else
    least_.energy = std::max(least_.energy, least);
  certified_.push_back(std::move(*found.certificate));
  bound_ = std::max(bound_.load(), corner().product() * kMargin);
}

std::vector<Certificate> EdpBound::lines() const {
  std::vector<Line> lines;
  Seconds least_time = 0;
  for (const Certificate& certificate : certified_) {
    if (certificate.question.objective == Objective::kTime)
      least_time = std::max(least_time, certificate.bound);
    else
      lines.push_back({certificate.second_price, certificate.bound});
  }
  return least_corner(lines, least_time).product() >= bound() ? certified_ : std::vector<Certificate>{};
}

}  // namespace pantoum::plan
