#include "plan/bound/separator.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/lists.h"
#include "plan/bound/relaxation.h"

namespace pantoum::plan {
namespace {

std::vector<Row> paths(const Relaxation& relaxation, const Point& point, const SeparationLimits& limits) {
  return path_cuts(relaxation, point, limits.violation.indicators, limits.stop);
}

std::vector<Row> memory(const Relaxation& relaxation, const Point& point, const SeparationLimits& limits) {
  if (relaxation.model().ops.size() > limits.knapsack_ops) return {};
  return memory_cuts(relaxation, point, limits.violation.knapsacks, limits.stop);
}

std::vector<Row> flows(const Relaxation& relaxation, const Point& point, const SeparationLimits& limits) {
  return flow_cuts(relaxation, point, limits.violation.indicators);
}

bool is_on(const Separator& separator, const Model& model) {
  return std::ranges::any_of(separator.switches, [&](Switch rule) { return model.uses(rule); });
}

size_t separator_of(Rule rule) {
  const auto has_rule = [rule](const Separator& separator) { return base::contains(separator.rules, rule); };
  const auto found = std::ranges::find_if(separators(), has_rule);
  return position_of(found - separators().begin());
}

}  // namespace

const std::vector<Separator>& separators() {
  static const std::vector<Separator> list{
      {"path-cuts", {Switch::kPathCuts}, {Rule::kPath, Rule::kWindow}, paths},
      {"memory-cuts", {Switch::kBoundaryCuts, Switch::kRecomputeCuts}, {Rule::kRounding, Rule::kCover}, memory},
      {"flow-cuts", {Switch::kFlowCuts}, {Rule::kFlow}, flows},
  };
  return list;
}

Separation::Separation(const Relaxation& relaxation, SeparationLimits limits)
    : relaxation_(relaxation), limits_(std::move(limits)) {
  for (const Separator& separator : separators())
    counts_.push_back({.name = separator.name, .on = is_on(separator, relaxation.model())});
}

std::vector<Row> Separation::violated(const Point& point) {
  using Clock = std::chrono::steady_clock;
  std::vector<Row> all;
  for (size_t each = 0; each < counts_.size(); ++each) {
    SeparatorCount& count = counts_[each];
    if (!count.on) continue;
    const Clock::time_point begin = limits_.clocked ? Clock::now() : Clock::time_point();
    std::vector<Row> rows = separators()[each].separate(relaxation_, point, limits_);
    if (limits_.clocked) count.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    count.found += static_cast<int64_t>(rows.size());
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

bool Separation::violates(const Point& point, const Row& row) const {
  const bool seconds = row.rule == Rule::kFlow;
  const double unit = seconds ? relaxation_.columns()[relaxation_.makespan()].upper : 1;
  return sum_at(row.terms, point, -row.lower) < -limits_.violation.indicators * unit;
}

void Separation::kept(const std::vector<Row>& rows) {
  leader_.reset();
  for (const Row& row : rows) {
    const size_t separator = separator_of(row.rule);
    ++counts_[separator].kept;
    leader_ = std::min(leader_.value_or(separator), separator);
  }
}

void Separation::solved(double bound) {
  if (leader_ && bound_ && bound > *bound_) counts_[*leader_].bound_moved += bound - *bound_;
  leader_.reset();
  bound_ = std::max(bound_.value_or(bound), bound);
}

void add_counts(std::vector<SeparatorCount>& total, std::span<const SeparatorCount> more) {
  if (total.empty()) return total.assign(more.begin(), more.end());
  for (size_t each = 0; each < more.size(); ++each) {
    total[each].found += more[each].found;
    total[each].kept += more[each].kept;
    total[each].bound_moved += more[each].bound_moved;
    total[each].seconds += more[each].seconds;
  }
}

}  // namespace pantoum::plan
