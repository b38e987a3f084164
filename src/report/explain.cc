#include "report/explain.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "problem/objective_values.h"

namespace pantoum::report {
namespace {

constexpr double kWorth = 1e-9;  // a relative saving below this is rounding

double value_of(const problem::Plan& plan, const problem::Predicted& predicted) {
  return value_of(plan.question, predicted);
}

bool cheaper(const problem::Plan& plan, const problem::Predicted& other) {
  const double own = value_of(plan, plan.predicted);
  return value_of(plan, other) < own - kWorth * own;
}

size_t peak_of(const problem::Plan& plan) {
  const std::vector<TracePoint> trace = trace_memory(plan);
  const auto top = std::max_element(trace.begin(), trace.end(),
                                    [](const TracePoint& a, const TracePoint& b) { return a.ram_bytes < b.ram_bytes; });
  return static_cast<size_t>(top - trace.begin());
}

// Ops that run more than once, and what all computes cost.
std::vector<ComputedAgain> computed_again(const problem::Plan& plan, Energy& energy) {
  std::unordered_map<int64_t, const problem::Op*> ops;
  for (const problem::Op& op : plan.graph.ops) ops[op.id] = &op;
  std::unordered_map<int64_t, bool> computed;
  std::map<int64_t, ComputedAgain> again;
  for (const problem::Instruction& step : plan.instructions) {
    if (step.what != problem::Do::kCompute) continue;
    const problem::Choice& choice = ops.at(step.subject)->choices.at(static_cast<size_t>(step.choice));
    if (!std::exchange(computed[step.subject], true)) {
      energy.first_j += choice.energy_j;
      continue;
    }
    ComputedAgain& entry = again[step.subject];
    entry.op = step.subject;
    entry.times += 1;
    entry.seconds += choice.time_s;
    entry.energy_j += choice.energy_j;
    energy.again_j += choice.energy_j;
  }
  std::vector<ComputedAgain> found;
  found.reserve(again.size());
  for (const auto& [op, entry] : again) found.push_back(entry);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.energy_j > b.energy_j; });
  return found;
}

std::vector<Paged> paged(const Timeline& timeline, Energy& energy) {
  std::map<int64_t, Paged> by_tensor;
  for (const Transfer& one : timeline.transfers) {
    Paged& entry = by_tensor[one.tensor];
    entry.tensor = one.tensor;
    (one.out ? entry.outs : entry.ins) += 1;
    entry.bytes = one.bytes;
    entry.seconds += one.end_s - one.begin_s;
    entry.hidden_s += one.hidden_s;
    entry.stall_s += one.stall_s;
    entry.energy_j += one.energy_j;
    energy.paging_j += one.energy_j;
  }
  std::vector<Paged> found;
  found.reserve(by_tensor.size());
  for (const auto& [tensor, entry] : by_tensor) found.push_back(entry);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.energy_j != b.energy_j ? a.energy_j > b.energy_j : a.stall_s > b.stall_s;
  });
  return found;
}

}  // namespace

bool Explanation::ram_binds() const {
  return cheaper(plan, next.unplanned);
}

bool Explanation::deadline_binds() const {
  return next.no_deadline && cheaper(plan, next.no_deadline->predicted);
}

Explanation explain(const problem::Plan& plan, const check::Found& found, const std::vector<check::Span>& spans,
                    NextBytes next) {
  Explanation why{.plan = plan, .found = found, .timeline = timeline_of(plan, spans), .next = std::move(next)};
  if (!plan.instructions.empty()) {
    why.peak_instruction = peak_of(plan);
    why.at_peak = residents_at(plan, why.peak_instruction);
  }
  why.again = computed_again(plan, why.energy);
  why.paged = paged(why.timeline, why.energy);
  why.energy.idle_j = plan.graph.device.idle_w * found.time_s;
  return why;
}

}  // namespace pantoum::report
