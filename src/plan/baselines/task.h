// What every method starts from and ends with: the question as a model, and a stream made into a judged plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/simulate/model.h"
#include "plan/simulate/outcome.h"
#include "plan/simulate/plan_options.h"
#include "plan/simulate/policy.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan::baseline {

struct Action;

struct Task {
  const CostGraph& graph;
  const PlanOptions& options;
  const char* name;  // of the method
  Model model;
  Choices choices;  // by op: the cheapest for the objective; the literature has one per op
  TimeLimit time;

  bool out_of_time() const { return options.stop.stop_requested() || time.left() <= 0; }
  const ChoiceModel& kernel(OpIndex op) const { return model.chosen(op, choices); }
  // What the simulator is asked: the budget and the objective, and no other limit.
  Limit limit() const {
    return {.question = {.budget = options.question.budget, .objective = options.question.objective}};
  }
  double price(const ChoiceModel& kernel) const {
    return options.question.objective == Objective::kEnergy ? kernel.joules : kernel.seconds;
  }
};

// E0300 a budget of nothing. `graph` and `options` outlive the task.
Result<Task> ask(const CostGraph& graph, const PlanOptions& options, const char* name);

// The stream's plan: offsets within the budget, exact figures; no bound. E0302 with the exact figures where the stream
// does not fit or misses the deadline; `published` says what the method's own account leaves out ("": nothing).
Result<Plan> answer(const Task& task, const std::vector<Event>& events, const std::string& published = "");

// The plan of a schedule: its stream as complete() gives it. E0302 as above.
Result<Plan> plan_schedule(const Task& task, const std::vector<Action>& actions, const std::string& published = "");

// The plan of a policy: its stream is the simulator's. E0302 as above.
Result<Plan> plan_policy(const Task& task, const Policy& policy);

// E0302: the method has no schedule for this budget.
Failure no_schedule(const Task& task, std::string why);
// E0304: the method is not made for this task.
Failure does_not_apply(const Task& task, std::string why);

// The ops that the choices need, by stage order.
std::vector<OpIndex> needed_in_order(const Task& task);

// Returns the stage where forward ends and backward begins, on a graph that does not say so: the first stage whose
// end most op-made tensors cross. A step makes activations until the loss and uses them up behind it. Reads by
// updates do not count, because weight gradients pile up until then. 0: nothing crosses.
Stage find_forward_backward_boundary(const Task& task);

// From what a method decides (computes and transfers, in their order) to a whole instruction stream.
//
//   compute a | compute b | page_out a | compute c | page_in a | compute d        as decided
//   compute a | compute b | page_out a, free a | compute c, free b | ...          as issued
//
// What is decided nowhere follows from semantics.md: a tensor is freed as soon as nothing reads it before it is made or
// fetched again; an output takes over the bytes of an input that dies there; what must end in storage is written after
// its last use; what starts in storage is fetched before its first. A recomputation or transfer that nobody uses is
// left out. So matrices R and S turn into actions by listing R: S says only what the frees say.

struct Action {
  Do what = Do::kCompute;  // never kFree
  int32_t subject = 0;     // op or tensor
};
inline Action computing(OpIndex op) {
  return {Do::kCompute, op.value()};
}
inline Action moving(Do what, TensorIndex tensor) {  // kPageIn or kPageOut
  return {what, tensor.value()};
}

// The stream that the actions give, each op with its choice of `choices`. E0302 where there is none: an op that may run
// once only is asked for twice, a tensor is lost, or a parameter cannot end where the next step looks for it.
// Cost: linear.
Result<std::vector<Event>> complete(const Model& model, const Choices& choices, const std::vector<Action>& actions);

// The largest sum of live bytes of a stream, workspaces and staging buffer included, sizes rounded to the alignment.
Bytes peak_of(const Model& model, const std::vector<Event>& events);

// The matrices of Checkmate, POET and PORT, by stage (stage t first computes op t, 0-based).
struct StageActions {
  std::vector<TensorIndex> page_in, page_out;  // at the stage's start, in this order
  std::vector<OpIndex> compute;                // ascending, the stage's own last
};
std::vector<Action> in_stages(const Indexed<int32_t, StageActions>& stages);

struct Task;

// A step whose forward part is a chain and whose backward part runs it back: what revolve and POFO are made for.
//
//   forward   f0 -> f1 -> ... -> f(n-1)         state i: what f(i) writes; state -1: what is there at the start
//   backward  step n, step n-1, ..., step 0     step i: the ops that read states i-1 and i, or neither

struct Chain {
  Indexed<int32_t, OpIndex> forward;             // by state
  Indexed<int32_t, std::vector<OpIndex>> steps;  // n + 1 of them: the backward ops of step i, in order
  int32_t length() const { return static_cast<int32_t>(forward.size()); }
};

// E0304 where an op of the forward part reads more than its predecessor (and what is there at the start), may run once
// only, or where the backward part goes back and forth.
Result<Chain> find_chain(const Task& task);

}  // namespace pantoum::plan::baseline
