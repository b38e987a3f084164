#include "plan/baselines/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "plan/realize/realize.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan::baseline {

Result<Task> ask(const CostGraph& graph, const PlanOptions& options, const char* name) {
  if (options.question.budget_bytes() <= 0)
    return fail("E0300", "a budget of 0 bytes", "--ram", "give the RAM that the step may use, as in --ram 256KiB");
  const TimeLimit time(options.time_limit);
  Task task{graph, options, name, make_model(graph, options), {}, time};
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
    plan.solver_seconds = task.options.effort > 0 ? 0 : task.time.elapsed();
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
  return std::ranges::any_of(writes,
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

namespace {

Result<void> add_forward(const Task& task, OpIndex op, Indexed<TensorIndex, int32_t>& state_of, Chain& chain) {
  const OpModel& model = task.model.ops[op];
  if (!model.recomputable)
    return does_not_apply(task, fmt::format("op {} of the forward chain may run once only", model.id));
  bool linked = chain.forward.empty();
  for (const TensorIndex tensor : task.kernel(op).reads) {
    const int32_t state = state_of[tensor];
    if (state < 0) continue;
    if (state != chain.length() - 1)
      return does_not_apply(task, fmt::format("the forward part is no chain: op {} reads what was made before its "
                                              "predecessor",
                                              model.id));
    linked = true;
  }
  if (!linked)
    return does_not_apply(task,
                          fmt::format("the forward part is no chain: op {} does not read its predecessor", model.id));
  for (const TensorIndex tensor : task.kernel(op).writes) state_of[tensor] = chain.length();
  chain.forward.push_back(op);
  return {};
}

Result<void> add_backward(const Task& task, OpIndex op, const Indexed<TensorIndex, int32_t>& state_of, Chain& chain,
                          int32_t& step) {
  int32_t least = chain.length(), most = -1;
  for (const TensorIndex tensor : task.kernel(op).reads) {
    const int32_t state = state_of[tensor];
    if (state >= 0) least = std::min(least, state), most = std::max(most, state);
  }
  if (most >= 0) step = std::min(step, least + 1);
  if (most > step)
    return does_not_apply(task, fmt::format("the backward part does not run the forward chain back: op {} reads "
                                            "state {} after state {}",
                                            task.model.ops[op].id, most, step - 1));
  chain.steps[step].push_back(op);
  return {};
}

}  // namespace

Result<Chain> find_chain(const Task& task) {
  const Stage boundary = find_forward_backward_boundary(task);
  if (boundary == 0) return does_not_apply(task, "no tensor waits for a later op: there is nothing to plan");
  Chain chain;
  Indexed<TensorIndex, int32_t> state_of(task.model.tensors.size(), -1);
  const std::vector<OpIndex> ops = needed_in_order(task);
  for (const OpIndex op : ops)
    if (task.model.ops[op].stage <= boundary) PANTOUM_TRY(add_forward(task, op, state_of, chain));
  chain.steps.resize(chain.forward.size() + 1);
  int32_t step = chain.length();
  for (const OpIndex op : ops)
    if (task.model.ops[op].stage > boundary) PANTOUM_TRY(add_backward(task, op, state_of, chain, step));
  return chain;
}

}  // namespace pantoum::plan::baseline
