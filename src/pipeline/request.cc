#include "pipeline/request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/custom_operators.h"
#include "base/nearest_name.h"
#include "cost/device.h"
#include "cost/profile_engines.h"
#include "host/thread_pool.h"
#include "plan/attempts/objective_expression.h"
#include "plan/attempts/planners.h"
#include "plan/simulate/switches.h"
#include "problem/plan_json.h"
#include "rewrite/rule.h"
#include "settings/fields.h"

namespace pantoum::pipeline {
namespace {

using Names = std::vector<std::string>;

constexpr int64_t kMostRam = int64_t{1} << 60;
constexpr std::array kPasses{"layouts", "fusions", "remaking", "updates", "rewriting", "algorithms", "slices"};

Result<void> check_names(const Names& names, const Names& known, const char* option) {
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail("E0115", fmt::format("'{}' is not known here", name), option,
                  fmt::format("{}use one of {}", base::hint_at(name, known), fmt::join(known, ", ")));
  return {};
}

problem::Question question_asked(const PlanOptions& settings) {
  problem::Question question;
  if (settings.ram) question.budget = settings.ram->count();
  question.energy_limit = settings.energy_limit_j;
  question.freedoms = {.paging = settings.paging,
                       .recomputing = settings.recomputing,
                       .in_place = settings.in_place,
                       .reordering = settings.reordering,
                       .numerics = settings.allow_numerics_change};
  return question;
}

// A device that is not known is refused where it is read.
std::string objective_of(const std::string& device) {
  const Result<cost::DeviceProfile> profile = cost::load_device(device);
  return profile && profile->battery ? "energy" : "time";
}

// A name, or a formula: as a question where one asks for just that.
Result<void> set_objective(PlanRequest& request) {
  problem::Question& question = request.options.question;
  const std::string& words = *request.settings.objective;
  if (words == "edp") {
    question.objective = problem::Objective::kEdp;
    return {};
  }
  PANTOUM_ASSIGN(const auto formula, plan::ObjectiveExpression::parse(words, "--objective"));
  if (const auto exact = formula.exact()) {
    question.objective = exact->objective;
    question.weights = exact->weights;
  } else {
    request.expression = words;
  }
  return {};
}

std::function<void(const plan::Progress&)> told(const std::function<void(const PlanProgress&)>& tell) {
  return [tell](const plan::Progress& progress) {
    try {
      tell({.elapsed = Seconds(progress.elapsed), .best = progress.best, .bound = progress.bound});
    } catch (...) {  // NOLINT(bugprone-empty-catch): on the planner's thread it would end the process
    }
  };
}

}  // namespace

bool PlanRequest::runs(std::string_view pass) const {
  return std::find(settings.disable.begin(), settings.disable.end(), pass) == settings.disable.end();
}

Names names_to_disable() {
  Names names(kPasses.begin(), kPasses.end());
  for (const rewrite::Rule& rule : rewrite::rules()) names.emplace_back(rule.name);
  return names;
}

Names names_to_leave_out() {
  Names names;
  for (const plan::SwitchInfo& each : plan::all_switches()) names.emplace_back(each.name);
  return names;
}

// The engines that a profile has beside its processor.
static Result<void> take_profile_engines(PlanRequest& request, const cost::DeviceProfile& device) {
  PANTOUM_ASSIGN(request.profile_engines, cost::parse_engine_names(request.settings.engines, device, "--engines"));
  for (const std::string& name : request.profile_engines) {
    const auto engine = std::ranges::find(device.engines, name, &cost::EngineProfile::name);
    if (engine != device.engines.end() && !engine->same_bits && !request.settings.allow_numerics_change)
      return fail("E0117",
                  fmt::format("engine '{}' rounds in its own way, so losses will differ in their last digits", name),
                  "--engines", "allow it with --allow-numerics-change, or leave the engine out");
  }
  return {};
}

// The threads of the host's engines are the kernels'.
static Result<void> take_engines(PlanRequest& request) {
  if (request.settings.engines == cost::kProcessor && !request.settings.gangs)
    return fail("E0117", "one engine computes, and no op can take several", "--no-gangs",
                "name several with --engines, or leave out --no-gangs");
  if (request.settings.engines == cost::kProcessor) return {};
  PANTOUM_ASSIGN(const cost::DeviceProfile device, cost::load_device(request.device));
  if (device.host) {
    PANTOUM_ASSIGN(request.engines, cost::parse_engines(request.settings.engines, "--engines"));
  } else {
    PANTOUM_TRY(take_profile_engines(request, device));
  }
  if (request.settings.planner != plan::kOwnPlanner)
    return fail("E0117", fmt::format("planner '{}' plans for one engine", request.settings.planner), "--engines",
                "leave out --engines or --planner");
  if (!request.expression.empty() || request.options.question.objective == problem::Objective::kWeighted)
    return fail("E0117", "a formula as the objective is planned for one engine", "--engines",
                "leave out --engines, or take --objective time, energy or edp");
  if (!device.host) return {};
  int threads = 0;
  for (cost::HostEngine& engine : request.engines) {
    if (engine.name == "cpu") engine.threads = request.kernel_threads;
    threads += engine.threads;
  }
  if (request.settings.threads && *request.settings.threads != threads)
    return fail(
        "E0117",
        fmt::format("the engines have {} threads in all, and {} are asked for", threads, *request.settings.threads),
        "--engines", "leave out --threads");
  request.kernel_threads = threads;
  return {};
}

Result<PlanRequest> plan_request(const std::string& device, PlanOptions settings, const std::string& usual_objective) {
  PANTOUM_TRY(settings::check(settings::fields_of(settings), "PlanOptions"));
  if (settings.ram && settings.ram->count() <= 0)
    return fail("E0300", fmt::format("a budget of {} bytes", settings.ram->count()), "--ram",
                "give the RAM that the step may use, as in --ram 256KiB");
  if (settings.ram && settings.ram->count() > kMostRam)
    return fail("E0300", fmt::format("a budget of {} bytes is more than a machine has", settings.ram->count()), "--ram",
                "give the RAM that the step may use, as in --ram 256KiB");
  PANTOUM_TRY(check_names(settings.disable, names_to_disable(), "--disable"));
  PANTOUM_TRY(check_names(settings.without, names_to_leave_out(), "--without"));
  PANTOUM_TRY(plan::planners_named({settings.planner}));
  if (!settings.objective) settings.objective = usual_objective.empty() ? objective_of(device) : usual_objective;
  PlanRequest request{.device = device, .settings = std::move(settings)};
  const PlanOptions& asked = request.settings;
  request.options.question = question_asked(asked);
  PANTOUM_TRY(set_objective(request));
  request.options.gap = asked.gap;
  request.options.time_limit = asked.time_limit.count();
  request.options.effort = asked.effort.value_or(0);
  request.options.threads = asked.threads.value_or(0);
  for (const std::string& name : asked.without) request.options.without.add(*plan::switch_named(name));
  request.options.stop = asked.stop;
  if (asked.progress) request.options.progress = told(asked.progress);
  if (asked.warm_start) {
    PANTOUM_ASSIGN(problem::Plan start, problem::read_plan(*asked.warm_start));
    request.start = std::make_shared<const problem::Plan>(std::move(start));
    request.options.warm_start = request.start.get();
  }
  request.reserve = asked.reserve.count();
  request.kernel_threads = asked.threads.value_or(host::allowed_threads(0));
  PANTOUM_TRY(take_engines(request));
  request.kernels = static_cast<host::KernelSet::Choice>(asked.kernels);
  request.rewrite = {.search = request.runs("rewriting"),
                     .remake = request.runs("remaking"),
                     .algorithms = request.runs("algorithms")};
  for (const std::string& name : asked.disable)
    if (rewrite::find_rule(name.c_str()) != nullptr) request.rewrite.without.push_back(name);
  return request;
}
static_assert(static_cast<int>(Kernels::portable) == static_cast<int>(host::KernelSet::Choice::kPortable) &&
              static_cast<int>(Kernels::onednn) == static_cast<int>(host::KernelSet::Choice::kOneDnn));

Result<void> check_model_options(const ModelOptions& options) {
  PANTOUM_TRY(settings::check(settings::fields_of(const_cast<ModelOptions&>(options)), "ModelOptions"));
  if (options.inference && options.feature_cache)
    return fail("E0117", "features are kept for training, and nothing trains", "--feature-cache",
                "leave out --feature-cache or --inference");
  const auto* custom = std::get_if<CustomUpdate>(&options.optimizer);
  if (custom == nullptr) return {};
  const auto op = base::custom_operator(custom->name);
  if (op != nullptr && op->is_update) return {};
  return fail("E0115", fmt::format("no optimizer '{}' was added", custom->name), "CustomUpdate::name",
              "call add_optimizer first");
}

}  // namespace pantoum::pipeline
