// Plans all programs of a step. The programs share one arena.
#include <algorithm>
#include <map>

#include "check/claims.h"
#include "check/replay.h"
#include "plan/attempts/attempts.h"
#include "plan/planner.h"
#include "plan/realize/allocations.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {
namespace {

// Returns offsets that pack the tensors which are in RAM when a step starts at the bottom of the arena: first the pinned tensors, then the batch.
// Without these offsets training has more freedom, but may scatter the tensors so that the evaluation does not fit. With them, training and
// evaluation both have the rest of the arena in one piece.
std::map<int64_t, Bytes> pack_start(const CostGraph& graph) {
  std::map<int64_t, Bytes> at;
  Bytes top = 0;
  const Bytes align = std::max<Bytes>(1, graph.device.align_bytes);
  for (const bool pinned : {true, false})
    for (const Tensor& tensor : graph.tensors) {
      if (tensor.start != Home::kRam || tensor.pinned != pinned) continue;
      at[tensor.id] = top;
      top += (tensor.bytes + align - 1) / align * align;
    }
  return at;
}

// Returns the offsets of the tensors by name. Programs share the state, and name its tensors alike.
std::map<std::string, Bytes> by_name(const CostGraph& graph, const std::map<int64_t, Bytes>& at) {
  std::map<std::string, Bytes> named;
  for (const Tensor& tensor : graph.tensors)
    if (const auto found = at.find(tensor.id); found != at.end()) named[tensor.name] = found->second;
  return named;
}

std::map<int64_t, Bytes> inherited(const CostGraph& program, const std::map<std::string, Bytes>& named) {
  std::map<int64_t, Bytes> at;
  for (const Tensor& tensor : program.tensors)
    if (tensor.start == Home::kRam)
      if (const auto found = named.find(tensor.name); found != named.end()) at[tensor.id] = found->second;
  return at;
}

// Checks a plan that was read from a file. If it is invalid, the user has to plan again: the error has the checker's code.
Result<void> check_given(const CostGraph& graph, const Plan& given) {
  if (structure_hash(graph) != structure_hash(given.graph)) return {};  // plan_all reports this
  const Result<check::Found> found = check::replay(graph, given);
  if (found) return {};
  const Error& wrong = found.error();
  return fail(wrong.code, "the plan that was given is none: " + wrong.message, wrong.where, "plan again", wrong.notes);
}

class ProgramsPlanner {
 public:
  ProgramsPlanner(Step& step, const Asked& asked, const PlanOptions& options)
      : step_(step), asked_(asked), options_(options), time_(options.time_limit) {
    // The training step's own programs come first, because they keep its limits.
    for (const bool backward : {true, false})
      for (size_t other = 1; other < step.programs.size(); ++other)
        if (step.programs[other].backward == backward) others_.push_back(&step.programs[other]);
  }

  Result<void> run(const Plan* reuse, Infeasible* infeasible) {
    if (reuse != nullptr) PANTOUM_TRY(check_given(training().graph, *reuse));
    Infeasible answer;
    training().plan = {};
    Result<void> all = plan_all(options_, reuse, &answer);
    const bool has_no_plan = !all && (all.error().code == "E0301" || all.error().code == "E0302");
    if (!has_no_plan || reuse != nullptr) return all;
    const Plan alone =
        std::move(training().plan);  // has instructions if training fits, but another program does not fit beside it
    if (infeasible == nullptr && alone.instructions.empty()) return all;
    const auto least_plan_serves_all = [&] {
      return answer.min_plan && plan_all(options_, &*answer.min_plan, nullptr);
    };
    const bool refused = all.error().code == "E0301";  // E0301 holds for every placement of the state
    if (!refused || !least_plan_serves_all()) {
      PlanOptions packed = options_;
      packed.fixed_initial = pack_start(training().graph);
      packed.goes_on = false;
      const auto is_packed = [&](const Plan& plan) { return plan.initial == packed.fixed_initial; };
      if (!alone.instructions.empty() && (packed.warm_start == nullptr || !is_packed(*packed.warm_start)))
        packed.warm_start = &alone;
      Infeasible packed_answer;
      Result<void> again = plan_all(packed, nullptr, &packed_answer);
      if (again || asked_.planner.name != kOwnPlanner) return again;
      if (refused || !least_plan_serves_all()) {
        if (options_.effort > 0 || !time_.over()) all = std::move(again), answer = std::move(packed_answer);
        if (plan_from_least_budget()) return {};
      }
    }
    if (infeasible == nullptr) return all;
    tell_of_all(answer, all);
    PANTOUM_TRY(check_infeasibility(answer));
    *infeasible = std::move(answer);
    step_.min_plan_of = step_.chosen;
    return all;
  }

 private:
  Program& training() { return step_.programs.front(); }

  // Plans training with these options, or uses the plan `reuse` if it is not null. Then plans the other programs, with parameters and batch at the
  // offsets of training's plan.
  Result<void> plan_all(PlanOptions options, const Plan* reuse, Infeasible* infeasible) {
    std::vector<OtherProgram> held;
    if (reuse == nullptr && options.fixed_initial.empty()) held = held_by_others(options);
    options.others = &held;
    options.time_limit = others_.empty() ? time_.rest() : time_.for_attempt(Attempt::kTraining);
    PANTOUM_ASSIGN(training().plan, training_plan(options, reuse, infeasible));
    std::map<std::string, Bytes> places = by_name(training().graph, training().plan.initial);
    options.warm_start = nullptr, options.others = nullptr, options.progress = nullptr;  // these are for training alone
    options.question.budget = training().plan.question.budget_bytes();
    for (Program* program : others_) {
      if (!program->backward) options.question.deadline.reset(), options.question.energy_limit.reset();
      options.time_limit = time_.for_attempt(Attempt::kOtherProgram);
      options.fixed_initial = inherited(program->graph, places);
      Infeasible none;
      Result<Plan> plan = plan::make_plan(program->graph, options, &none);
      if (!plan && infeasible != nullptr) *infeasible = std::move(none);
      PANTOUM_ASSIGN(program->plan, std::move(plan));
      places.merge(by_name(program->graph,
                           program->plan.initial));  // for the programs that follow: offsets of the model's inputs
    }
    return {};
  }

  Result<Plan> training_plan(const PlanOptions& options, const Plan* reuse, Infeasible* infeasible) {
    const CostGraph& graph = training().graph;
    if (reuse == nullptr) return make_plan(asked_, graph, options, infeasible);
    if (structure_hash(graph) != structure_hash(reuse->graph))
      return fail("E0231", "the plan was made for another training step", "--plan",
                  "the settings are those of the plan, and the model, the device, the kernels or the kind of processor is "
                  "another: plan this one",
                  {fmt::format("the plan's step has {} ops and {} tensors, this one {} and {}", reuse->graph.ops.size(),
                               reuse->graph.tensors.size(), graph.ops.size(), graph.tensors.size())});
    return *reuse;
  }

  // Returns the allocations of the other programs. If training places its state so that there are offsets for these allocations as well, the other
  // programs fit. Leaves out programs for which no plan is found quickly.
  std::vector<OtherProgram> held_by_others(PlanOptions options) {
    const TimeLimit time(share_of(Attempt::kOtherProgramsFirst) * options.time_limit);
    std::map<std::string, int64_t> known;
    for (const Tensor& tensor : training().graph.tensors) known.emplace(tensor.name, tensor.id);
    options.effort = std::min<int64_t>(options.effort, 1);  // any plan will do
    options.warm_start = nullptr;
    options.question.deadline.reset(), options.question.energy_limit.reset();
    std::vector<OtherProgram> held;
    for (const Program* program : others_) {
      if (options.effort == 0 && time.over()) break;
      options.time_limit = time.rest();
      std::optional<OtherProgram> made = held_by(*program, options);
      if (!made) continue;
      std::map<int64_t, size_t> shared;
      for (const Tensor& tensor : program->graph.tensors)
        if (const auto own = made->shared.find(tensor.id); own != made->shared.end())
          if (const auto found = known.find(tensor.name); found != known.end())
            shared.emplace(found->second, own->second);
      made->shared = std::move(shared);
      held.push_back(std::move(*made));
    }
    return held;
  }

  // Returns the program's allocations by its present plan, which may have been made with earlier costs, or else by a new plan. Makes no new plan for
  // a program with a backward pass (nullopt), because that may be as hard as planning training.
  static std::optional<OtherProgram> held_by(const Program& program, const PlanOptions& options) {
    if (!program.plan.instructions.empty())
      if (std::optional<OtherProgram> held = other_program(program.graph, program.plan, options)) return held;
    if (program.backward) return std::nullopt;
    const Result<Plan> plan = plan::make_plan(program.graph, options);
    return plan ? other_program(program.graph, *plan, options) : std::nullopt;
  }

  // Plans all programs with the state where the plan of the smallest budget has it, so that a budget that an earlier answer named is enough. Returns
  // whether that succeeded.
  bool plan_from_least_budget() {
    PlanOptions options = options_;
    options.question.budget = 1;
    options.time_limit = time_.rest();
    options.goes_on = false;
    Infeasible least;
    const Bytes budget = options_.question.budget_bytes();
    if (plan::make_plan(training().graph, options, &least)) return false;
    if (!least.min_plan || least.min_ram_bytes > budget || least.without_limits) return false;
    if (!plan_all(options_, &*least.min_plan, nullptr)) return false;
    Question& question = training().plan.question;
    question.budget = budget;
    question.deadline = options_.question.deadline;
    question.energy_limit = options_.question.energy_limit;
    return true;
  }

  // Makes the answer hold for all programs: its RAM becomes the RAM of the program that needs most, its proof the strongest one. Deadline and energy
  // limit concern training alone; with one of them the answer does not change. The least plan is always a plan of training.
  void tell_of_all(Infeasible& answer, Result<void>& all) {
    if (options_.question.deadline || options_.question.energy_limit) return;
    PlanOptions options = options_;
    options.warm_start = nullptr, options.others = nullptr;
    for (const Program* program : others_) {
      options.question.budget = 1;
      options.fixed_initial.clear();
      options.time_limit = time_.rest();
      Infeasible least;
      if (plan::make_plan(program->graph, options, &least)) continue;
      const Bytes known = least_of_both(program->graph, options, answer, least);
      if (least.min_ram_bound_bytes > answer.min_ram_bound_bytes) {
        least.refusal = refusal_of(program->graph, options_, least);
        least.min_plan = std::move(answer.min_plan);
        answer = std::move(least);
      }
      answer.min_ram_bytes = known;
      all = Failure(infeasibility_report(training().graph.name, options_, answer));
    }
    const CostGraph& graph = training().graph;
    if (answer.min_plan && structure_hash(answer.min_plan->graph) == structure_hash(graph)) return;
    answer.min_plan.reset();
    if (answer.min_ram_bytes == 0) return;
    options.question.budget = answer.min_ram_bytes;
    if (Result<Plan> plan = plan::make_plan(graph, options)) answer.min_plan = std::move(*plan);
  }

  // Returns the least known RAM, in bytes, in which this program and the programs that `answer` covers have plans; 0 if none is known. `least` is
  // this program's own answer. Its search was short, and its RAM may be far more than the program needs, so this function also tries to plan the
  // program in the RAM of `answer`.
  static Bytes least_of_both(const CostGraph& graph, PlanOptions options, const Infeasible& answer,
                             const Infeasible& least) {
    if (answer.min_ram_bytes == 0 || least.min_ram_bytes == 0) return 0;
    if (least.min_ram_bytes <= answer.min_ram_bytes) return answer.min_ram_bytes;
    options.question.budget = answer.min_ram_bytes;
    return plan::make_plan(graph, options) ? answer.min_ram_bytes : least.min_ram_bytes;
  }

  Step& step_;
  const Asked& asked_;
  const PlanOptions& options_;
  const TimeLimit time_;
  std::vector<Program*> others_;
};

}  // namespace

Result<Plan> plan_beside(const Step& step, const CostGraph& graph, const PlanOptions& options) {
  std::map<std::string, Bytes> places;
  for (const Program& program : step.programs) places.merge(by_name(program.graph, program.plan.initial));
  PlanOptions beside{
      .question = options.question, .without = options.without, .gap = 1, .effort = 1, .threads = options.threads};
  beside.question.budget = step.programs.front().plan.question.budget_bytes();
  beside.question.deadline.reset(), beside.question.energy_limit.reset();
  beside.fixed_initial = inherited(graph, places);
  beside.stop = options.stop;
  return make_plan(graph, beside);
}

Result<void> check_infeasibility(const Infeasible& infeasible) {
  if (!infeasible.refusal) return {};
  const Result<double> proved = check::check_refusal(*infeasible.refusal);
  if (proved) return {};
  return fail("E0001", "the planner refused with a proof that the checker rejects: " + proved.error().message,
              proved.error().where,
              "this is a bug of Pantoum's; please report it with the cost graph (--costgraph-out)");
}

Result<void> plan_programs(Step& step, const Asked& asked, const PlanOptions& options, const Plan* reuse,
                           Infeasible* infeasible) {
  return ProgramsPlanner(step, asked, options).run(reuse, infeasible);
}

}  // namespace pantoum::plan
