#include "plan/baselines/chen.h"

#include <algorithm>
#include <cmath>

#include "plan/baselines/forward_backward_boundary.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan::baseline {
namespace {

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

Bytes bytes_of(const Question& question, int32_t op) {
  Bytes bytes = 0;
  for (const int32_t tensor : question.kernel(op).writes) bytes += question.model.tensors[z(tensor)].size;
  return bytes;
}

// Drops, between forward and backward, what was made ahead of the turn by other ops than the checkpoints.
Policy drop_between(const Question& question, int32_t turn, const std::vector<int32_t>& checkpoints) {
  const Model& model = question.model;
  Policy policy = keep_all(model, question.choices);
  for (size_t gap = 0; gap < model.intervals.size(); ++gap) {
    const Interval& span = model.intervals[gap];
    const int32_t producer = model.tensors[z(span.tensor)].producer;
    if (producer < 0 || producer >= turn || span.to <= turn || span.to >= model.end()) continue;
    if (std::binary_search(checkpoints.begin(), checkpoints.end(), producer)) continue;
    if (!may_drop(model, static_cast<int32_t>(gap))) continue;
    policy.intervals[gap].retain = span.from;  // a segment that is computed again stays
    if (span.from <= turn) policy.intervals[gap].evict = span.from;
  }
  return policy;
}

struct Candidate {
  Policy policy;
  double value = 0;
};

}  // namespace

std::vector<int32_t> articulation_points(const Question& question, int32_t turn) {
  std::vector<int32_t> last(question.model.tensors.size(), -1);
  std::vector<int32_t> ops = needed_in_order(question), points;
  std::erase_if(ops, [&](int32_t op) { return op >= turn; });
  for (const int32_t op : ops)
    for (const int32_t tensor : question.kernel(op).reads) last[z(tensor)] = op;
  int32_t reach = -1;  // the farthest reader of anything made before
  for (const int32_t op : ops) {
    if (reach <= op) points.push_back(op);
    for (const int32_t tensor : question.kernel(op).writes) reach = std::max(reach, last[z(tensor)]);
  }
  return points;
}

Result<Plan> chen_sqrt(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Question question, ask(graph, options, "chen-sqrt"));
  const int32_t turn = find_turn(question);
  const std::vector<int32_t> points = articulation_points(question, turn);
  const auto every = static_cast<size_t>(std::ceil(std::sqrt(static_cast<double>(points.size()))));
  std::vector<int32_t> checkpoints;
  for (size_t point = every; point <= points.size() && every > 0; point += every)
    checkpoints.push_back(points[point - 1]);
  return plan_policy(question, drop_between(question, turn, checkpoints));
}

Result<Plan> chen_greedy(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Question question, ask(graph, options, "chen-greedy"));
  const int32_t turn = find_turn(question);
  const std::vector<int32_t> points = articulation_points(question, turn);
  Bytes whole = 1;
  for (int32_t op = 0; op < turn; ++op) whole += bytes_of(question, op);
  Simulator simulator(question.model, {.question = {.budget = options.question.budget_bytes(),
                                                    .objective = options.question.objective}});
  std::vector<Candidate> fitting;
  constexpr int kGrid = 48;
  for (int step = 0; step <= kGrid && !question.out_of_time(); ++step) {  // b from 0, then whole / 2^11 up to 2 * whole
    const double b = step == 0 ? 0 : static_cast<double>(whole) * std::exp2(1 - 12.0 * (kGrid - step) / kGrid);
    std::vector<int32_t> checkpoints;
    double since = 0;
    for (int32_t op = 0; op < turn; ++op) {
      since += static_cast<double>(bytes_of(question, op));
      if (since <= b || !std::binary_search(points.begin(), points.end(), op)) continue;
      checkpoints.push_back(op);
      since = 0;
    }
    const Outcome& outcome = simulator.reset(drop_between(question, turn, checkpoints));
    if (outcome.fits()) fitting.push_back({simulator.policy(), outcome.value});
  }
  std::stable_sort(fitting.begin(), fitting.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
  Result<Plan> plan = no_schedule(question, "no spacing of the checkpoints fits");
  for (size_t at = 0; at < fitting.size() && !plan && !question.out_of_time(); ++at)
    if (at == 0 || !(fitting[at].policy == fitting[at - 1].policy)) plan = plan_policy(question, fitting[at].policy);
  return plan;
}

}  // namespace pantoum::plan::baseline
