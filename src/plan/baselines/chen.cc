#include "plan/baselines/chen.h"

#include <algorithm>
#include <cmath>

#include "plan/baselines/methods.h"
#include "plan/baselines/task.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan::baseline {
namespace {

Bytes bytes_of(const Task& task, OpIndex op) {
  Bytes bytes = 0;
  for (const TensorIndex tensor : task.kernel(op).writes) bytes += task.model.tensors[tensor].size;
  return bytes;
}

// Drops, between forward and backward, what was made ahead of the boundary by other ops than the checkpoints.
Policy drop_between(const Task& task, Stage boundary, const std::vector<OpIndex>& checkpoints) {
  const Model& model = task.model;
  Policy policy = keep_all(model, task.choices);
  for (const IntervalIndex interval : model.intervals.indices()) {
    const Interval& span = model.intervals[interval];
    const OpIndex producer = model.tensors[span.tensor].producer;
    if (!producer.exists() || model.ops[producer].stage > boundary || span.to <= boundary || span.to >= model.end())
      continue;
    if (std::binary_search(checkpoints.begin(), checkpoints.end(), producer)) continue;
    if (!may_drop(model, interval)) continue;
    policy.intervals[interval].retain = span.from;  // what is recomputed is retained
    if (span.from <= boundary) policy.intervals[interval].evict = span.from;
  }
  return policy;
}

struct Candidate {
  Policy policy;
  double value = 0;
};

}  // namespace

std::vector<OpIndex> articulation_points(const Task& task, Stage boundary) {
  Indexed<TensorIndex, OpIndex> last(task.model.tensors.size());
  std::vector<OpIndex> ops = needed_in_order(task), points;
  std::erase_if(ops, [&](OpIndex op) { return task.model.ops[op].stage > boundary; });
  for (const OpIndex op : ops)
    for (const TensorIndex tensor : task.kernel(op).reads) last[tensor] = op;
  OpIndex reach;  // the farthest reader of anything made before
  for (const OpIndex op : ops) {
    if (reach <= op) points.push_back(op);
    for (const TensorIndex tensor : task.kernel(op).writes) reach = std::max(reach, last[tensor]);
  }
  return points;
}

// sqrt(n): every ceil(sqrt(k))-th of the k articulation points is a checkpoint. The budget plays no part: E0302 where
// the one plan does not fit.
Result<Plan> chen_sqrt(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask(graph, options, "chen-sqrt"));
  const Stage boundary = find_forward_backward_boundary(task);
  const std::vector<OpIndex> points = articulation_points(task, boundary);
  const auto every = static_cast<size_t>(std::ceil(std::sqrt(static_cast<double>(points.size()))));
  std::vector<OpIndex> checkpoints;
  for (size_t point = every; point <= points.size() && every > 0; point += every)
    checkpoints.push_back(points[point - 1]);
  return plan_policy(task, drop_between(task, boundary, checkpoints));
}

// Algorithm 3: a checkpoint wherever more than b bytes have come since the last. b is searched on a grid; of the plans
// that fit the cheapest is taken.
Result<Plan> chen_greedy(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask(graph, options, "chen-greedy"));
  const Stage boundary = find_forward_backward_boundary(task);
  const std::vector<OpIndex> points = articulation_points(task, boundary);
  Bytes whole = 1;
  for (const OpIndex op : IndexRange<OpIndex>(OpIndex(0), boundary)) whole += bytes_of(task, op);
  Simulator simulator(task.model, task.limit());
  std::vector<Candidate> fitting;
  constexpr int kGrid = 48;
  for (int step = 0; step <= kGrid && !task.out_of_time(); ++step) {  // b from 0, then whole / 2^11 up to 2 * whole
    const double b = step == 0 ? 0 : static_cast<double>(whole) * std::exp2(1 - 12.0 * (kGrid - step) / kGrid);
    std::vector<OpIndex> checkpoints;
    double since = 0;
    for (const OpIndex op : IndexRange<OpIndex>(OpIndex(0), boundary)) {
      since += static_cast<double>(bytes_of(task, op));
      if (since <= b || !std::binary_search(points.begin(), points.end(), op)) continue;
      checkpoints.push_back(op);
      since = 0;
    }
    const Outcome& outcome = simulator.reset(drop_between(task, boundary, checkpoints));
    if (outcome.fits()) fitting.push_back({simulator.policy(), outcome.value});
  }
  std::ranges::stable_sort(fitting, [](const auto& a, const auto& b) { return a.value < b.value; });
  Result<Plan> plan = no_schedule(task, "no spacing of the checkpoints fits");
  for (size_t at = 0; at < fitting.size() && !plan && !task.out_of_time(); ++at)
    if (at == 0 || !(fitting[at].policy == fitting[at - 1].policy)) plan = plan_policy(task, fitting[at].policy);
  return plan;
}

}  // namespace pantoum::plan::baseline
