#include "cli/model_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <thread>

#include "base/units.h"
#include "cli/line/suggestions.h"
#include "cli/output.h"
#include "cli/profile_store_path.h"
#include "cost/device.h"
#include "pipeline/objective_expression.h"
#include "plan/simulate/switches.h"
#include "rewrite/rule.h"

namespace pantoum::cli {
namespace {

constexpr std::array<const char*, 5> kPasses{"import", "autodiff", "rewrite", "cost", "plan"};
// Of --disable, beside the names of substitutions (rewrite/rule.h); the last two are old spellings.
constexpr std::array<const char*, 11> kOptionalPasses{
    "paging",  "rematerialization", "in-place",   "layouts", "fusions", "remaking",
    "updates", "rewriting",         "algorithms", "remat",   "inplace"};
constexpr size_t kShownPasses = 9;

bool contains(std::span<const char* const> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Failure not_known(const std::string& name, const char* option, const std::vector<std::string>& known) {
  return fail("E0115", fmt::format("'{}' is not known here", name), option,
              fmt::format("{}use one of {}", hint_at(name, known), fmt::join(known, ", ")));
}

std::vector<std::string> texts(std::span<const char* const> names) {
  return {names.begin(), names.end()};
}

Result<void> check_names(const std::vector<std::string>& names, std::span<const char* const> known, size_t shown,
                         const char* option) {
  for (const std::string& name : names)
    if (!contains(known, name)) return not_known(name, option, texts(known.first(shown)));
  return {};
}

std::vector<std::string> names_to_disable() {
  std::vector<std::string> names = texts(std::span(kOptionalPasses).first(kShownPasses));
  for (const rewrite::Rule& rule : rewrite::rules()) names.emplace_back(rule.name);
  return names;
}

Result<void> check_disabled(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (!contains(kOptionalPasses, name) && rewrite::find_rule(name.c_str()) == nullptr)
      return not_known(name, "--disable", names_to_disable());
  return {};
}

std::vector<std::string> rule_names() {
  std::vector<std::string> names;
  for (const plan::SwitchInfo& each : plan::all_switches()) names.emplace_back(each.name);
  return names;
}

std::string without_help() {
  return fmt::format("switch rules of the planner off, to see what they bring: {}", fmt::join(rule_names(), ", "));
}

Result<plan::Without> without_of(const std::vector<std::string>& names) {
  plan::Without without;
  for (const std::string& name : names) {
    const std::optional<plan::Switch> rule = plan::switch_named(name);
    if (!rule) return not_known(name, "--without", rule_names());
    without.add(*rule);
  }
  return without;
}

Result<void> set_bytes(const std::string& words, const char* option, std::optional<int64_t>& bytes) {
  if (words.empty()) return {};
  PANTOUM_ASSIGN(bytes, base::parse_bytes(words, option));
  return {};
}

Result<void> set_budget(const PlanWords& words, pipeline::PlanRequest& request) {
  std::optional<int64_t>& budget = request.options.question.budget;
  PANTOUM_TRY(set_bytes(words.ram, "--ram", budget));
  if (budget == 0)
    return fail("E0300", "a budget of 0 bytes", "--ram", "give the RAM that the step may use, as in --ram 256KiB");
  std::optional<int64_t> reserve;
  PANTOUM_TRY(set_bytes(words.reserve, "--reserve", reserve));
  request.reserve = reserve.value_or(0);
  return set_bytes(words.rom, "--rom", request.rom);
}

// What plans may do, and which passes run.
void set_freedoms(const PlanWords& words, pipeline::PlanRequest& request) {
  const auto disabled = [&](const char* pass, const char* old = "") {
    const auto& names = words.disable;
    return std::any_of(names.begin(), names.end(), [&](const auto& name) { return name == pass || name == old; });
  };
  problem::Question& question = request.options.question;
  question.freedoms.paging = !words.no_paging && !disabled("paging");
  question.freedoms.recomputing = !words.no_remat && !disabled("rematerialization", "remat");
  question.freedoms.in_place = !words.no_inplace && !disabled("in-place", "inplace");
  question.freedoms.reordering = !words.no_reorder;
  question.freedoms.numerics = words.allow_numerics_change;
  request.layouts = !disabled("layouts");
  request.fuse = !disabled("fusions");
  request.fuse_updates = request.fuse && !disabled("updates");
  request.compact_activations = words.compact_activations;
  request.rewrite.search = !disabled("rewriting");
  request.rewrite.remake = !disabled("remaking");
  request.rewrite.algorithms = !disabled("algorithms");
  for (const std::string& name : words.disable)
    if (rewrite::find_rule(name.c_str()) != nullptr) request.rewrite.without.push_back(name);
}

// A name, or a formula: as a question where one asks for just that.
Result<void> set_objective(const std::string& words, pipeline::PlanRequest& request) {
  problem::Question& question = request.options.question;
  if (words == "edp") {
    question.objective = problem::Objective::kEdp;
    return {};
  }
  PANTOUM_ASSIGN(const auto formula, pipeline::ObjectiveExpression::parse(words, "--objective"));
  if (const auto exact = formula.exact()) {
    question.objective = exact->objective;
    question.weights = exact->weights;
  } else {
    request.expression = words;
  }
  return {};
}

pipeline::Measure measure_named(const std::string& word) {
  using enum pipeline::Measure;
  return word == "off" ? kOff : word == "missing" ? kMissing : word == "all" ? kAll : word == "known" ? kKnown : kAuto;
}

}  // namespace

void add_model_options(Verb& verb, ModelWords& words) {
  verb.add_option("--batch", words.batch, "samples per step; needed where the model leaves it open")
      .within(1, INT32_MAX);
  add_loss_options(verb, words.loss);
  add_optimizer_options(verb, words.optimizer);
  verb.add_option("--seed", words.seed, "of shuffling and dropout; 0 without it");
  verb.add_option("--weights", words.weights, "safetensors whose tensors replace the model's, by name");
  verb.add_option("--keep-init", words.keep_init, "globs of parameters that --weights leaves alone: a new head");
  verb.add_option("--freeze", words.freeze, "parameters that are not trained, as globs");
  verb.add_option("--train", words.train,
                  "tensors that are trained though the model's file says otherwise, as globs: buffers, tables");
  verb.add_flag("--accept-folded", words.accept_folded,
                "train a model as it is though its exporter folded what trains, batch norm for one");
  verb.add_option("--freeze-stats", words.freeze_stats,
                  "globs of running statistics: these batch norms use them as they are, in training too");
  verb.add_option("--params-in", words.params_in, "where parameters and optimizer state live between steps")
      .one_of({"ram", "aux", "auto"});
}

void add_plan_options(Verb& verb, PlanWords& words) {
  verb.add_option("--ram", words.ram, "budget in bytes, with its unit (256KiB); the device's RAM without it");
  verb.add_option("--device", words.device, "device profile: a name of `pantoum devices list`, or a .toml file")
      .known(cost::device_names());
  verb.add_option("--rom", words.rom,
                  "bytes that kernels read in place, for what is frozen (0B: none); the device's without it");
  add_limit_options(verb, words.limits);
  verb.add_option("--reserve", words.reserve, "part of --ram kept for stack and application");
  verb.add_option("--objective", words.objective,
                  "energy, time, edp (energy times time), power, or a formula of energy in joules, time in seconds and "
                  "power in watts: '0.6*energy + 0.4*time'")
      .known({"energy", "time", "edp", "power"});
  verb.add_option("--gap", words.gap, "stop when the plan is proved to be this near to the best");
  verb.add_option("--time-limit", words.time_limit, "for planning");
  verb.add_option("--effort", words.effort, "a fixed amount of search in place of a clock: the same plan everywhere")
      .within(1, 1'000'000'000);
  verb.add_flag("--no-paging", words.no_paging, "recompute only");
  verb.add_flag("--no-remat", words.no_remat, "page only");
  verb.add_flag("--no-inplace", words.no_inplace, "no output takes over an input's bytes, updates excepted");
  verb.add_flag("--compact-activations", words.compact_activations,
                "signs and window taps in place of activations: less RAM, but plans are proved less near to the least");
  verb.add_flag("--small-saves", words.compact_activations).hidden();
  verb.add_flag("--allow-numerics-change", words.allow_numerics_change,
                "ops may be computed by algorithms of other bits, by sums in another order, where that is cheaper; "
                "without it every budget gives the same bits");
  verb.add_flag("--no-reorder", words.no_reorder, "keep the given order of first computations");
  verb.add_option("--threads", words.threads, "for kernels and planning; all cores without it").within(1, 4096);
  verb.add_option("--kernels", words.kernels, "of the host: onednn, portable, or auto (onednn where it is installed)")
      .one_of({"auto", "onednn", "portable"});
  verb.add_option(
          "--measure", words.measure,
          "times of operators and storage on this machine: missing ones, in a tenth of --time-limit or less (so "
          "without "
          "it, on the host and without --effort); all, anew; known, what the store has (so for other devices with "
          "--profile-store); or off")
      .one_of({"off", "missing", "all", "known"});
  verb.may_stand_alone("--measure", "all");
  verb.add_option("--profile-store", words.profile_store,
                  "SQLite file where measured times are kept; pantoum/times.db in the user's cache without it");
  verb.add_option("--dump-after", words.dump_after, "print what a pass made: import, autodiff, rewrite, cost, plan")
      .known(texts(kPasses));
  verb.add_option("--disable", words.disable,
                  "switch an optional pass off: paging, rematerialization, in-place, layouts, fusions, remaking, "
                  "updates, rewriting, algorithms, or one of the substitutions by its name (docs/substitutions.md)")
      .known(names_to_disable());
  verb.add_option("--without", words.without, without_help()).separated_by(',').known(rule_names());
}

void add_inference_option(Verb& verb, ModelWords& words) {
  verb.add_flag("--inference", words.inference,
                "the forward program alone, batch norm by its stored statistics: nothing trains");
}

Result<pipeline::ModelOptions> model_options(const ModelWords& words) {
  pipeline::ModelOptions options{.path = words.model, .batch = words.batch};
  options.inference = words.inference;
  if (words.inference && !words.feature_cache.empty())
    return fail("E0117", "features are kept for training, and nothing trains", "--feature-cache",
                "leave out --feature-cache or --inference");
  autodiff::TrainingOptions& training = options.training;
  PANTOUM_ASSIGN(training.losses, losses_of(words.loss));
  PANTOUM_ASSIGN(training.metrics, metrics_of(words.loss));
  PANTOUM_ASSIGN(training.optimizer, optimizer_of(words.optimizer));
  training.freeze = words.freeze;
  options.train = words.train;
  options.accept_folded = words.accept_folded;
  training.clip_value = words.optimizer.clip_value;
  training.clip_norm = words.optimizer.clip_norm;
  training.accumulate = words.optimizer.accumulate;
  options.lr = words.optimizer.lr;
  options.seed = words.seed.value_or(0);
  options.weights = {words.weights, words.keep_init};
  options.freeze_stats = words.freeze_stats;
  PANTOUM_TRY(set_bytes(words.feature_cache, "--feature-cache", options.feature_cache));
  options.params_in = words.params_in == "aux"    ? cost::ParamsIn::kAux
                      : words.params_in == "auto" ? cost::ParamsIn::kAuto
                                                  : cost::ParamsIn::kRam;
  return options;
}

Result<pipeline::PlanRequest> plan_request(const PlanWords& words) {
  pipeline::PlanRequest request{.device = words.device};
  plan::PlanOptions& options = request.options;
  PANTOUM_TRY(set_budget(words, request));
  PANTOUM_TRY(set_limits(words.limits, request));
  PANTOUM_ASSIGN(options.gap, base::parse_fraction(words.gap, "--gap"));
  PANTOUM_ASSIGN(options.time_limit, base::parse_seconds(words.time_limit, "--time-limit"));
  options.threads = words.threads;
  PANTOUM_TRY(check_disabled(words.disable));
  set_freedoms(words, request);
  PANTOUM_TRY(set_objective(words.objective, request));
  PANTOUM_ASSIGN(options.without, without_of(words.without));
  options.effort = words.effort;
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  request.kernel_threads = words.threads > 0 ? words.threads : cores;
  request.kernels = words.kernels == "portable" ? host::KernelSet::Choice::kPortable
                    : words.kernels == "onednn" ? host::KernelSet::Choice::kOneDnn
                                                : host::KernelSet::Choice::kAuto;
  request.measure = {.measure = measure_named(words.measure),
                     .profile_store = words.profile_store,
                     .cache_store = words.profile_store.empty() ? default_profile_store() : ""};
  return request;
}

Result<pipeline::Dump> dump_of(const PlanWords& words) {
  PANTOUM_TRY(check_names(words.dump_after, kPasses, kPasses.size(), "--dump-after"));
  if (words.dump_after.empty()) return pipeline::Dump{};
  return pipeline::Dump{[passes = words.dump_after](const std::string& pass, const std::string& text) {
    if (std::find(passes.begin(), passes.end(), pass) != passes.end())
      notes_are_json() ? print_message(text + "\n") : print_result(text + "\n");
  }};
}

}  // namespace pantoum::cli
