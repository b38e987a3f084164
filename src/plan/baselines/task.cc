#include "plan/baselines/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "plan/baselines/schedule.h"
#include "plan/realize/realize.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan::baseline {

Result<Task> ask(const CostGraph& graph, const PlanOptions& options, const char* name) {
  if (options.question.budget_bytes() <= 0)
    return fail("E0300", "a budget of 0 bytes", "--ram", "give the RAM that the step may use, as in --ram 256KiB");
  const auto begin = std::chrono::steady_clock::now();
  Task task{graph, options, name, make_model(graph, options), {}, begin};
  task.choices = first_choices(task.model, options.question.objective);
  return task;
}

namespace {

// Why the stream of this peak has no plan.
std::string reason(const Realized& realized, Bytes peak, Bytes budget) {
  if (peak > budget) return fmt::format("its schedule needs {} bytes of RAM", peak);
  if (realized.byte_excess > 0)
    return fmt::format("its schedule needs an arena of {} bytes", budget + realized.byte_excess);
  return "its schedule misses the deadline, takes more energy than it may, or more storage than there is";
}

}  // namespace

Result<Plan> answer(const Task& task, const std::vector<Event>& events, const std::string& published) {
  const Bytes budget = task.options.question.budget_bytes();
  const Bytes peak = peak_of(task.model, events);
  Realized realized;
  if (peak <= budget) realized = realize(task.graph, task.model, events, task.options, budget);
  if (realized.plan) {
    Plan plan = std::move(*realized.plan);
    plan.method = task.name;
    plan.solver_seconds = task.options.effort > 0 ? 0 : task.elapsed();
    return plan;
  }
  Failure failure = no_schedule(task, reason(realized, peak, budget));
  if (!published.empty()) failure.error().notes.push_back(published);
  return failure;
}

Result<Plan> plan_schedule(const Task& task, const std::vector<Action>& actions, const std::string& published) {
  PANTOUM_ASSIGN(const std::vector<Event> events, complete(task.model, task.choices, actions));
  return answer(task, events, published);
}

Result<Plan> plan_policy(const Task& task, const Policy& policy) {
  Simulator simulator(task.model, task.limit());
  if (!simulator.reset(policy).sound) return no_schedule(task, "what it evicts cannot be rematerialized");
  return answer(task, simulator.events());
}

Failure no_schedule(const Task& task, std::string why) {
  return fail("E0302",
              fmt::format("{} has no plan for {} bytes: {}", task.name, task.options.question.budget_bytes(), why),
              task.graph.name, "give more --ram, or use --planner pantoum");
}

Failure does_not_apply(const Task& task, std::string why) {
  return fail("E0304", fmt::format("{} does not apply: {}", task.name, why), task.graph.name,
              "use another --planner; pantoum takes every graph");
}

namespace {

bool is_update(const Task& task, OpIndex op, const std::unordered_set<int64_t>& successors) {
  const auto& writes = task.kernel(op).writes;
  return std::any_of(writes.begin(), writes.end(),
                     [&](TensorIndex tensor) { return successors.contains(task.model.tensors[tensor].id); });
}

}  // namespace

std::vector<OpIndex> needed_in_order(const Task& task) {
  const auto needed = needed_ops(task.model, task.choices);
  std::vector<OpIndex> ops;
  for (const OpIndex op : needed.indices())
    if (needed[op]) ops.push_back(op);
  return ops;
}

Stage find_forward_backward_boundary(const Task& task) {
  std::unordered_set<int64_t> successors;
  for (const Tensor& tensor : task.graph.tensors)
    if (tensor.next >= 0) successors.insert(tensor.next);
  const Model& model = task.model;
  Indexed<TensorIndex, Stage> last(model.tensors.size(), 0);
  const std::vector<OpIndex> ops = needed_in_order(task);
  for (const OpIndex op : ops)
    if (!is_update(task, op, successors))
      for (const TensorIndex tensor : task.kernel(op).reads) last[tensor] = model.ops[op].stage;
  Indexed<Stage, int32_t> change(model.ops.size() + 3, 0);  // in tensors that cross the end of the stage
  for (const OpIndex op : ops)
    for (const TensorIndex tensor : task.kernel(op).writes) {
      if (last[tensor] <= model.ops[op].stage) continue;
      ++change[model.ops[op].stage];
      --change[last[tensor]];
    }
  Stage boundary = 0;
  int32_t most = 0, now = 0;
  for (Stage stage = 1; stage <= model.stages(); ++stage) {
    now += change[stage];
    if (now > most) most = now, boundary = stage;
  }
  return boundary;
}

}  // namespace pantoum::plan::baseline
