#include "pipeline/plan_programs.h"

#include <algorithm>
#include <cmath>

#include "check/refusal.h"
#include "check/replay.h"
#include "pipeline/objective_search.h"
#include "pipeline/planners.h"
#include "pipeline/request_json.h"
#include "plan/infeasibility_report.h"
#include "plan/other_program.h"
#include "plan/planner.h"
#include "problem/objective_values.h"

namespace pantoum::pipeline {

using problem::Bytes;
using problem::CostGraph;
namespace {

// What is in RAM when a step starts, packed at the bottom of the arena: what is pinned first, then the batch. Training
// has more freedom without, but may scatter them so that the evaluation does not fit; packed, both have the rest of
// the arena in one piece.
std::map<int64_t, Bytes> pack_start(const CostGraph& graph) {
  std::map<int64_t, Bytes> at;
  Bytes top = 0;
  const Bytes align = std::max<Bytes>(1, graph.device.align_bytes);
  for (const bool pinned : {true, false}) {
    for (const problem::Tensor& tensor : graph.tensors) {
      if (tensor.start != problem::Home::kRam || tensor.pinned != pinned) continue;
      at[tensor.id] = top;
      top += (tensor.bytes + align - 1) / align * align;
    }
  }
  return at;
}

std::map<std::string, Bytes> by_name(const CostGraph& graph, const std::map<int64_t, Bytes>& at) {
  std::map<std::string, Bytes> named;
  for (const problem::Tensor& tensor : graph.tensors)
    if (const auto found = at.find(tensor.id); found != at.end()) named[tensor.name] = found->second;
  return named;
}

// The offsets that another program inherits from the training step.
std::map<int64_t, Bytes> inherited(const CostGraph& program, const std::map<std::string, Bytes>& named) {
  std::map<int64_t, Bytes> at;
  for (const problem::Tensor& tensor : program.tensors) {
    if (tensor.start != problem::Home::kRam) continue;
    if (const auto found = named.find(tensor.name); found != named.end()) at[tensor.id] = found->second;
  }
  return at;
}

// A plan of another graph, of the same structure and other sizes, is a start where it is a plan of this one too.
bool is_start(const problem::Plan& given, const CostGraph& graph, const problem::Question& question) {
  if (problem::structure_hash(given.graph) != problem::structure_hash(graph)) return false;
  problem::Plan start = given;
  start.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
  start.bound = {};
  return check::replay(graph, start, question).has_value();
}

}  // namespace

Result<problem::Plan> make_plan(const PlanRequest& request, const CostGraph& graph, const plan::PlanOptions& given,
                                plan::Infeasible* infeasible) {
  plan::PlanOptions options = given;
  PANTOUM_ASSIGN(const std::vector<NamedPlanner> named, planners_named({request.settings.planner}));
  if (options.warm_start != nullptr && !is_start(*options.warm_start, graph, options.question))
    options.warm_start = nullptr;
  const plan::PlanMaker& make = named.front().plan;
  if (request.expression.empty()) return make(graph, options, infeasible);
  PANTOUM_ASSIGN(const auto expression, ObjectiveExpression::parse(request.expression, "--objective"));
  return plan_by_slopes(expression, graph, options, infeasible, make);
}

namespace {

Result<problem::Plan> training_plan(const PlanRequest& request, const CostGraph& graph,
                                    const plan::PlanOptions& options, const problem::Plan* reuse,
                                    plan::Infeasible* infeasible) {
  if (reuse == nullptr) return make_plan(request, graph, options, infeasible);
  if (problem::structure_hash(graph) != problem::structure_hash(reuse->graph))
    return fail("E0231", "the plan was made for another training step", "--plan",
                "plan again with the same model, batch, loss, optimizer, frozen parameters, device, threads and kind "
                "of processor");
  return *reuse;
}

// What is asked for all programs of a network together.
struct Question {
  Compiled& compiled;
  const PlanRequest& request;
  const plan::PlanOptions& options;
  Patience patience{options.time_limit};
};

// The training step's own programs first, because they keep its limits.
std::vector<Program*> others_in_order(Programs& programs) {
  std::vector<Program*> others;
  for (const bool backward : {true, false})
    for (size_t other = 1; other < programs.size(); ++other)
      if (programs[other].kind.backward == backward) others.push_back(&programs[other]);
  return others;
}

// What the program holds in RAM by its plan, of earlier costs perhaps, or by one that is found at once; none there is also
// where planning it may be as hard as planning training.
std::optional<plan::OtherProgram> held_by(const Program& program, const plan::PlanOptions& options) {
  const CostGraph& graph = program.cost.graph;
  if (!program.plan.instructions.empty())
    if (std::optional<plan::OtherProgram> held = plan::other_program(graph, program.plan, options)) return held;
  if (program.kind.backward) return std::nullopt;
  const Result<problem::Plan> plan = plan::make_plan(graph, options);
  return plan ? plan::other_program(graph, *plan, options) : std::nullopt;
}

// Where training leaves its state such that what the other programs hold has offsets, these fit. Those of which nothing is
// known soon are left out.
std::vector<plan::OtherProgram> held_by_others(const std::vector<Program*>& others, const CostGraph& training,
                                               plan::PlanOptions options) {
  constexpr double kShare = 0.04;
  const Patience patience(kShare * options.time_limit);
  std::map<std::string, int64_t> known;
  for (const problem::Tensor& tensor : training.tensors) known.emplace(tensor.name, tensor.id);
  options.effort = std::min<int64_t>(options.effort, 1);  // any plan will do
  options.warm_start = nullptr;
  options.question.deadline.reset(), options.question.energy_limit.reset();
  std::vector<plan::OtherProgram> held;
  for (const Program* program : others) {
    if (options.effort == 0 && patience.over()) break;
    options.time_limit = patience.next();
    std::optional<plan::OtherProgram> made = held_by(*program, options);
    if (!made) continue;
    std::map<int64_t, size_t> shared;
    for (const problem::Tensor& tensor : program->cost.graph.tensors)
      if (const auto own = made->shared.find(tensor.id); own != made->shared.end())
        if (const auto found = known.find(tensor.name); found != known.end())
          shared.emplace(found->second, own->second);
    made->shared = std::move(shared);
    held.push_back(std::move(*made));
  }
  return held;
}

// Plans training with these options, or takes `reuse`; the others find parameters and batch where training leaves them.
// With other programs, neither training nor they take all of the time that is left: where state lies such that the others
// do not fit, there is another attempt.
Result<void> plan_all(const Question& asked, plan::PlanOptions options, const problem::Plan* reuse,
                      plan::Infeasible* infeasible) {
  constexpr double kShareOfTraining = 0.8, kShareOfOther = 0.5;  // of what is left
  Program& training = asked.compiled.training();
  const std::vector<Program*> others = others_in_order(asked.compiled.programs);
  std::vector<plan::OtherProgram> held;
  if (reuse == nullptr && options.fixed_initial.empty()) held = held_by_others(others, training.cost.graph, options);
  options.others = &held;
  options.time_limit = (others.empty() ? 1 : kShareOfTraining) * asked.patience.next();
  PANTOUM_ASSIGN(training.plan, training_plan(asked.request, training.cost.graph, options, reuse, infeasible));
  std::map<std::string, Bytes> places = by_name(training.cost.graph, training.plan.initial);
  options.warm_start = nullptr, options.others = nullptr, options.progress = nullptr;  // which is of the training step
  options.question.budget = training.plan.question.budget_bytes();
  for (Program* program : others) {
    if (!program->kind.backward) options.question.deadline.reset(), options.question.energy_limit.reset();
    options.time_limit = kShareOfOther * asked.patience.next();
    options.fixed_initial = inherited(program->cost.graph, places);
    plan::Infeasible none;
    Result<problem::Plan> plan = plan::make_plan(program->cost.graph, options, &none);
    if (!plan && infeasible != nullptr) *infeasible = std::move(none);
    PANTOUM_ASSIGN(program->plan, std::move(plan));
    places.merge(by_name(program->cost.graph, program->plan.initial));  // the model's inputs
  }
  return {};
}

// The state lies as in the plan of the smallest budget, so that a budget that was once named is enough.
bool plan_from_least_budget(const Question& asked) {
  Program& training = asked.compiled.training();
  problem::Question question = asked.options.question;
  question.budget = question.budget_bytes();
  plan::PlanOptions options = asked.options;
  options.question.budget = 1;
  options.time_limit = asked.patience.next();
  options.goes_on = false;
  plan::Infeasible least;
  if (plan::make_plan(training.cost.graph, options, &least)) return false;
  if (!least.min_plan || least.min_ram_bytes > *question.budget || least.without_limits) return false;
  if (!plan_all(asked, asked.options, &*least.min_plan, nullptr)) return false;
  training.plan.question.budget = question.budget;
  training.plan.question.deadline = question.deadline;
  training.plan.question.energy_limit = question.energy_limit;
  return true;
}

// The least RAM known in which there are plans of the programs that `answer` tells of and of this one, whose own is `least`;
// 0: none. What was found of this one, in hardly any time, may be far more than it needs: so a plan in the RAM of the others
// is sought.
Bytes least_of_both(const CostGraph& graph, plan::PlanOptions options, const plan::Infeasible& answer,
                    const plan::Infeasible& least) {
  if (answer.min_ram_bytes == 0 || least.min_ram_bytes == 0) return 0;
  if (least.min_ram_bytes <= answer.min_ram_bytes) return answer.min_ram_bytes;
  options.question.budget = answer.min_ram_bytes;
  return plan::make_plan(graph, options) ? answer.min_ram_bytes : least.min_ram_bytes;
}

// What is told of training's RAM is told of all programs: the most that one needs, and of what is proved the strongest. Limits
// are training's alone, and so is what is told of them. The least plan is one of training.
void tell_of_all(const Question& asked, plan::Infeasible& answer, Result<void>& all) {
  if (asked.options.question.deadline || asked.options.question.energy_limit) return;
  const CostGraph& training = asked.compiled.training().cost.graph;
  plan::PlanOptions options = asked.options;
  options.warm_start = nullptr, options.others = nullptr;
  for (const Program* program : others_in_order(asked.compiled.programs)) {
    options.question.budget = 1;
    options.fixed_initial.clear();
    options.time_limit = asked.patience.next();
    plan::Infeasible least;
    if (plan::make_plan(program->cost.graph, options, &least)) continue;
    const Bytes known = least_of_both(program->cost.graph, options, answer, least);
    if (least.min_ram_bound_bytes > answer.min_ram_bound_bytes) {
      least.refusal = plan::refusal_of(program->cost.graph, asked.options, least);
      least.min_plan = std::move(answer.min_plan);
      answer = std::move(least);
    }
    answer.min_ram_bytes = known;
    all = Failure(plan::infeasibility_report(training.name, asked.options, answer));
  }
  if (answer.min_plan && problem::structure_hash(answer.min_plan->graph) == problem::structure_hash(training)) return;
  answer.min_plan.reset();
  if (answer.min_ram_bytes == 0) return;
  options.question.budget = answer.min_ram_bytes;
  if (Result<problem::Plan> plan = plan::make_plan(training, options)) answer.min_plan = std::move(*plan);
}

// A plan names the kernels and the threads that it was made for: they may be others where it is run.
PlanRequest with_named_kernels(PlanRequest request, const host::KernelSet& kernels) {
  request.settings.kernels = static_cast<Kernels>(request.kernels);
  if (request.device == "host" && request.settings.kernels == Kernels::automatic)
    request.settings.kernels = kernels.back_end() != nullptr ? Kernels::onednn : Kernels::portable;
  request.settings.threads = request.kernel_threads;
  return request;
}

// A plan that was read from a file is the user's to mend, whatever is wrong with it.
Result<void> check_given(const CostGraph& graph, const problem::Plan& given) {
  if (problem::structure_hash(graph) != problem::structure_hash(given.graph)) return {};  // training_plan tells
  const Result<check::Found> found = check::replay(graph, given);
  if (found) return {};
  const Error& wrong = found.error();
  return fail(wrong.code, "the plan that was given is none: " + wrong.message, wrong.where, "plan again", wrong.notes);
}

}  // namespace

void keep_request(problem::Plan& plan, const Compiled& compiled, const PlanRequest& request) {
  plan.model = model_json(compiled.model);
  PlanRequest told = with_named_kernels(request, *compiled.kernels);
  told.rewrite.substitutions = compiled.made_by;
  told.rewrite.remake = compiled.remakes;
  told.rewrite.attention = compiled.attention;
  plan.request = request_json(told);
}

Result<void> check_infeasibility(const plan::Infeasible& infeasible) {
  if (!infeasible.refusal) return {};
  if (const Result<double> proved = check::check_refusal(*infeasible.refusal); !proved)
    return fail("E0001", "the planner refused with a proof that the checker rejects: " + proved.error().message,
                proved.error().where,
                "this is a bug of Pantoum's; please report it with the cost graph (--costgraph-out)");
  return {};
}

Result<void> find_plans(Compiled& compiled, const PlanRequest& request, const plan::PlanOptions& options,
                        const problem::Plan* reuse, plan::Infeasible* infeasible) {
  const Question asked{compiled, request, options};
  if (reuse != nullptr) PANTOUM_TRY(check_given(asked.compiled.training().cost.graph, *reuse));
  plan::Infeasible answer;
  Program& training = asked.compiled.training();
  training.plan = {};
  Result<void> all = plan_all(asked, asked.options, reuse, &answer);
  const bool has_no_plan = !all && (all.error().code == "E0301" || all.error().code == "E0302");
  if (!has_no_plan || reuse != nullptr) return all;
  const problem::Plan alone = std::move(training.plan);  // with which no other program fits, where it has instructions
  if (infeasible == nullptr && alone.instructions.empty()) return all;
  const auto is_least_of_all = [&] {  // of all programs, what is known of training alone
    return answer.min_plan && plan_all(asked, asked.options, &*answer.min_plan, nullptr);
  };
  const bool refused = all.error().code == "E0301";  // wherever its state lies
  if (!refused || !is_least_of_all()) {
    plan::PlanOptions packed = asked.options;
    packed.fixed_initial = pack_start(training.cost.graph);
    packed.goes_on = false;
    const auto is_packed = [&](const problem::Plan& plan) { return plan.initial == packed.fixed_initial; };
    if (!alone.instructions.empty() && (packed.warm_start == nullptr || !is_packed(*packed.warm_start)))
      packed.warm_start = &alone;
    plan::Infeasible packed_answer;
    Result<void> again = plan_all(asked, packed, nullptr, &packed_answer);
    if (again || asked.request.settings.planner != kOwnPlanner) return again;
    if (refused || !is_least_of_all()) {
      if (asked.options.effort > 0 || !asked.patience.over()) all = std::move(again), answer = std::move(packed_answer);
      if (plan_from_least_budget(asked)) return {};
    }
  }
  if (infeasible == nullptr) return all;
  tell_of_all(asked, answer, all);
  PANTOUM_TRY(check_infeasibility(answer));
  if (answer.min_plan) keep_request(*answer.min_plan, compiled, request);
  *infeasible = std::move(answer);
  return all;
}

std::string warning_of_start(const plan::PlanOptions& options, const std::vector<const CostGraph*>& graphs) {
  if (options.warm_start == nullptr) return {};
  const uint64_t start = problem::structure_hash(options.warm_start->graph);
  const bool known = std::any_of(graphs.begin(), graphs.end(),
                                 [&](const CostGraph* graph) { return problem::structure_hash(*graph) == start; });
  if (known) return {};
  return "the plan of --warm-start is of another step, so planning begins without it: model, loss, optimizer, frozen "
         "parameters, device, threads and the switches of graphs and algorithms have to be the same";
}

double value_of_plan(const problem::Plan& plan, const PlanRequest& request) {
  if (request.expression.empty()) return problem::value_of(plan);
  const auto expression = ObjectiveExpression::parse(request.expression, "--objective");
  return expression ? expression->at(plan.predicted).value : problem::value_of(plan);
}

}  // namespace pantoum::pipeline
