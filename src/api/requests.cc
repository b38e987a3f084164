// Public options as the pipeline has them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "api/access.h"
#include "base/custom_operators.h"
#include "pipeline/request_json.h"

namespace pantoum::api {
namespace {

Result<void> check_number(double value, double least, double most, const char* what) {
  if (value >= least && value <= most) return {};
  return fail("E0116", fmt::format("{} is not between {:g} and {:g}", value, least, most), what);
}

Result<autodiff::LossTerm> term_of(const Loss& loss) {
  const std::vector<std::string>& names = pipeline::loss_names();
  const auto known = std::find(names.begin(), names.end(), loss.name);
  if (known == names.end())
    return fail("E0115", fmt::format("'{}' is no loss", loss.name), "ModelOptions::loss",
                fmt::format("use one of {}", fmt::join(names, ", ")));
  PANTOUM_TRY(check_number(loss.weight, 0, 1e30, "Loss::weight"));
  PANTOUM_TRY(check_number(loss.smoothing, 0, 1, "Loss::smoothing"));
  PANTOUM_TRY(check_number(loss.beta, 0, 1e30, "Loss::beta"));
  return autodiff::LossTerm{.loss = static_cast<autodiff::Loss>(known - names.begin()),
                            .output = loss.output,
                            .weight = loss.weight,
                            .smoothing = loss.smoothing,
                            .ignore_index = loss.ignore_index,
                            .beta = loss.beta,
                            .classes_last = loss.classes_last,
                            .mean_of_batch = loss.mean_of_batch};
}

constexpr double kBelowOne = 1 - 1e-12;
constexpr double kMostRate = 1e30;

struct MakeOptimizer {
  using Made = Result<autodiff::Optimizer>;

  Made operator()(const Sgd& sgd) const {
    PANTOUM_TRY(check_number(sgd.momentum, 0, kMostRate, "Sgd::momentum"));
    PANTOUM_TRY(check_number(sgd.weight_decay, 0, kMostRate, "Sgd::weight_decay"));
    if (sgd.nesterov && sgd.momentum == 0)
      return fail("E0117", "Nesterov's step is one with momentum", "Sgd::nesterov", "set momentum too, as in 0.9");
    return autodiff::Sgd{.momentum = sgd.momentum, .weight_decay = sgd.weight_decay, .nesterov = sgd.nesterov};
  }
  template <class To, class From>
  static Made adam(const From& from) {
    PANTOUM_TRY(check_number(from.beta1, 0, kBelowOne, "beta1"));
    PANTOUM_TRY(check_number(from.beta2, 0, kBelowOne, "beta2"));
    PANTOUM_TRY(check_number(from.eps, 0, kMostRate, "eps"));
    PANTOUM_TRY(check_number(from.weight_decay, 0, kMostRate, "weight_decay"));
    return To{.beta1 = from.beta1, .beta2 = from.beta2, .eps = from.eps, .weight_decay = from.weight_decay};
  }
  Made operator()(const Adam& from) const { return adam<autodiff::Adam>(from); }
  Made operator()(const AdamW& from) const { return adam<autodiff::AdamW>(from); }
  Made operator()(const RmsProp& from) const {
    PANTOUM_TRY(check_number(from.alpha, 0, kBelowOne, "RmsProp::alpha"));
    PANTOUM_TRY(check_number(from.eps, 0, kMostRate, "RmsProp::eps"));
    PANTOUM_TRY(check_number(from.momentum, 0, kMostRate, "RmsProp::momentum"));
    PANTOUM_TRY(check_number(from.weight_decay, 0, kMostRate, "RmsProp::weight_decay"));
    return autodiff::RmsProp{.alpha = from.alpha,
                             .eps = from.eps,
                             .momentum = from.momentum,
                             .weight_decay = from.weight_decay,
                             .centered = from.centered};
  }
  Made operator()(const Adagrad& from) const {
    PANTOUM_TRY(check_number(from.lr_decay, 0, kMostRate, "Adagrad::lr_decay"));
    PANTOUM_TRY(check_number(from.eps, 0, kMostRate, "Adagrad::eps"));
    PANTOUM_TRY(check_number(from.weight_decay, 0, kMostRate, "Adagrad::weight_decay"));
    return autodiff::Adagrad{.lr_decay = from.lr_decay, .eps = from.eps, .weight_decay = from.weight_decay};
  }
  Made operator()(const CustomUpdate& from) const {
    const auto op = base::custom_operator(from.name);
    if (op == nullptr || !op->is_update)
      return fail("E0115", fmt::format("no optimizer '{}' was added", from.name), "CustomUpdate::name",
                  "call add_optimizer first");
    for (const double setting : from.settings)
      PANTOUM_TRY(check_number(setting, -kMostRate, kMostRate, "CustomUpdate::settings"));
    return autodiff::CustomOptimizer{.op = from.name, .states = op->states, .settings = from.settings};
  }
};

Result<autodiff::TrainingOptions> training_options(const ModelOptions& options) {
  autodiff::TrainingOptions training{.losses = {}, .freeze = options.freeze};
  for (const Loss& loss : options.loss.terms()) {
    PANTOUM_ASSIGN(training.losses.emplace_back(), term_of(loss));
  }
  if (training.losses.empty()) return fail("E0115", "there is no loss", "ModelOptions::loss", "name one");
  PANTOUM_ASSIGN(training.optimizer, std::visit(MakeOptimizer{}, options.optimizer));
  for (const DecayOf& decay : options.decays) {
    PANTOUM_TRY(check_number(decay.weight_decay, 0, kMostRate, "ModelOptions::decays"));
    training.decays.push_back({decay.names, decay.weight_decay});
  }
  PANTOUM_TRY(check_number(options.clip_value, 0, kMostRate, "ModelOptions::clip_value"));
  PANTOUM_TRY(check_number(options.clip_norm, 0, kMostRate, "ModelOptions::clip_norm"));
  PANTOUM_TRY(check_number(static_cast<double>(options.accumulate), 1, 1e6, "ModelOptions::accumulate"));
  training.clip_value = options.clip_value;
  training.clip_norm = options.clip_norm;
  training.accumulate = options.accumulate;
  training.split_update = options.split_update;
  training.metrics = {.top5 = options.top5, .mean_absolute_error = options.mean_absolute_error};
  return training;
}

Result<void> set_deadline(const Deadline& deadline, pipeline::Deadline& to) {
  if (const auto* seconds = std::get_if<Seconds>(&deadline)) {
    PANTOUM_TRY(check_number(seconds->count(), 1e-12, 3.2e9, "PlanOptions::deadline"));
    to.seconds = seconds->count();
  }
  if (const auto* relative = std::get_if<Relative>(&deadline)) {
    PANTOUM_TRY(check_number(relative->factor(), 1e-6, 1e9, "PlanOptions::deadline"));
    to.relative = relative->factor();
  }
  return {};
}

void set_question(const PlanOptions& options, problem::Question& question) {
  if (options.ram) question.budget = options.ram->count();
  question.energy_limit = options.energy_limit_j;
  question.objective = static_cast<problem::Objective>(options.objective);
  question.freedoms.paging = options.paging;
  question.freedoms.recomputing = options.recomputing;
  question.freedoms.in_place = options.in_place;
  question.freedoms.reordering = options.reordering;
}
static_assert(static_cast<int>(Objective::energy) == static_cast<int>(problem::Objective::kEnergy) &&
              static_cast<int>(Objective::time) == static_cast<int>(problem::Objective::kTime) &&
              static_cast<int>(Objective::edp) == static_cast<int>(problem::Objective::kEdp));

Result<void> check_plan_options(const PlanOptions& options) {
  if (options.ram && options.ram->count() <= 0)
    return fail("E0300", fmt::format("a budget of {} bytes", options.ram->count()), "PlanOptions::ram",
                "give the RAM that the step may use, as in pantoum::KiB(256)");
  PANTOUM_TRY(check_number(static_cast<double>(options.reserve.count()), 0, 1e18, "PlanOptions::reserve"));
  PANTOUM_TRY(check_number(options.gap, 0, 1, "PlanOptions::gap"));
  PANTOUM_TRY(check_number(options.time_limit.count(), 0, 3.2e9, "PlanOptions::time_limit"));
  PANTOUM_TRY(check_number(static_cast<double>(options.effort), 0, 1e9, "PlanOptions::effort"));
  PANTOUM_TRY(check_number(options.threads, 0, 4096, "PlanOptions::threads"));
  PANTOUM_TRY(check_number(static_cast<double>(options.prefetch), 0, 64, "PlanOptions::prefetch"));
  if (options.energy_limit_j)
    PANTOUM_TRY(check_number(*options.energy_limit_j, 0, 1e30, "PlanOptions::energy_limit_j"));
  return {};
}

}  // namespace

double learning_rate(const Optimizer& optimizer) {
  return std::visit([](const auto& one) { return one.lr; }, optimizer);
}

Result<pipeline::ModelOptions> model_options(const Access::ModelImpl& model) {
  const ModelOptions& options = model.options;
  PANTOUM_TRY(check_number(static_cast<double>(options.batch), 0, INT32_MAX, "ModelOptions::batch"));
  pipeline::ModelOptions made{.path = model.path, .batch = options.batch};
  PANTOUM_ASSIGN(made.training, training_options(options));
  made.lr = learning_rate(options.optimizer);
  PANTOUM_TRY(check_number(made.lr, 0, kMostRate, "the learning rate"));
  made.weights = {options.weights, options.keep_init};
  made.train = options.train;
  made.accept_folded = options.accept_folded;
  made.freeze_stats = options.freeze_stats;
  if (options.feature_cache) made.feature_cache = options.feature_cache->count();
  made.bytes = model.bytes;
  return made;
}

Result<pipeline::PlanRequest> plan_request(const Device& device, const PlanOptions& options) {
  PANTOUM_TRY(check_plan_options(options));
  pipeline::PlanRequest request{.device = device.name};
  PANTOUM_TRY(set_deadline(options.deadline, request.deadline));
  set_question(options, request.options.question);
  request.reserve = options.reserve.count();
  request.options.gap = options.gap;
  request.options.time_limit = options.time_limit.count();
  request.options.effort = options.effort;
  request.options.threads = options.threads;
  request.options.stop = options.stop;
  if (options.progress)
    request.options.progress = [tell = options.progress](const plan::Progress& progress) {
      try {
        tell({.elapsed = Seconds(progress.elapsed), .best = progress.best, .bound = progress.bound});
      } catch (...) {  // NOLINT(bugprone-empty-catch): on the planner's thread it would end the process
      }
    };
  request.measure = {.measure = static_cast<pipeline::Measure>(options.measure),
                     .profile_store = options.profile_store,
                     .page_folder = options.page_folder,
                     .page_encryption = options.page_encryption};
  request.kernel_threads =
      options.threads > 0 ? options.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  request.kernels = static_cast<host::KernelSet::Choice>(options.kernels);
  request.compact_activations = options.compact_activations;
  return request;
}
static_assert(static_cast<int>(Measure::off) == static_cast<int>(pipeline::Measure::kOff) &&
              static_cast<int>(Measure::all) == static_cast<int>(pipeline::Measure::kAll) &&
              static_cast<int>(Measure::automatic) == static_cast<int>(pipeline::Measure::kAuto));
static_assert(static_cast<int>(Kernels::portable) == static_cast<int>(host::KernelSet::Choice::kPortable) &&
              static_cast<int>(Kernels::onednn) == static_cast<int>(host::KernelSet::Choice::kOneDnn));

}  // namespace pantoum::api
