#include "cli/model_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <thread>

#include "base/units.h"

namespace pantoum::cli {
namespace {

constexpr std::array<const char*, 5> kPasses{"import", "autodiff", "rewrite", "cost", "plan"};
constexpr std::array<const char*, 6> kOptionalPasses{"paging", "remat", "inplace", "layouts", "fusions", "updates"};

template <class Names>
Result<void> check_names(const std::vector<std::string>& names, const Names& known, const char* option) {
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail("E0115", fmt::format("'{}' is not known here", name), option,
                  fmt::format("use one of {}", fmt::join(known, ", ")));
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
    if (!rule) PANTOUM_TRY(check_names(std::vector{name}, rule_names(), "--without"));
    if (rule) without.add(*rule);
  }
  return without;
}

}  // namespace

void add_model_options(CLI::App& verb, ModelWords& words) {
  verb.add_option("--batch", words.batch, "samples per step")->check(CLI::PositiveNumber);
  add_loss_options(verb, words.loss);
  add_optimizer_options(verb, words.optimizer);
  verb.add_option("--seed", words.seed, "shuffling and dropout");
  verb.add_option("--weights", words.weights, "safetensors whose tensors replace the model's, by name");
  verb.add_option("--keep-init", words.keep_init, "globs of parameters that --weights leaves alone: a new head");
  verb.add_option("--freeze", words.freeze, "parameters that are not trained, as globs");
  verb.add_option("--freeze-stats", words.freeze_stats,
                  "globs of running statistics: these batch norms use them as they are, in training too");
  verb.add_option("--params-in", words.params_in, "where parameters and optimizer state live between steps")
      ->check(CLI::IsMember({"ram", "aux", "auto"}));
}

void add_plan_options(CLI::App& verb, PlanWords& words) {
  verb.add_option("--ram", words.ram, "budget in bytes, with its unit (256KiB); the device's RAM without it");
  verb.add_option("--device", words.device, "device profile: a name of `pantoum devices list`, or a .toml file");
  verb.add_option("--rom", words.rom,
                  "bytes that kernels read in place, for what is frozen (0B: none); the device's without it");
  add_limit_options(verb, words.limits);
  verb.add_option("--reserve", words.reserve, "part of --ram kept for stack and application");
  verb.add_option("--objective", words.objective, "energy, time, or edp (energy times time)")
      ->check(CLI::IsMember({"energy", "time", "edp"}));
  verb.add_option("--gap", words.gap, "stop when the plan is proved to be this near to the best");
  verb.add_option("--time-limit", words.time_limit, "for planning");
  verb.add_option("--effort", words.effort, "a fixed amount of search in place of a clock: the same plan everywhere")
      ->check(CLI::PositiveNumber);
  verb.add_flag("--no-paging", words.no_paging, "recompute only");
  verb.add_flag("--no-remat", words.no_remat, "page only");
  verb.add_flag("--no-inplace", words.no_inplace, "no output takes over an input's bytes, updates excepted");
  verb.add_flag("--small-saves", words.small_saves,
                "signs and window taps in place of activations: less RAM, but plans are proved less near to the least");
  verb.add_flag("--no-reorder", words.no_reorder, "keep the given order of first computations");
  verb.add_option("--threads", words.threads, "for kernels; all cores without it")->check(CLI::PositiveNumber);
  verb.add_option("--kernels", words.kernels, "of the host: onednn, portable, or auto (onednn where it is installed)")
      ->check(CLI::IsMember({"auto", "onednn", "portable"}));
  verb.add_flag("--measure", words.measure, "measure operators and storage on this machine (device host)");
  verb.add_option("--profile-store", words.profile_store, "SQLite file where measurements are kept");
  verb.add_option("--dump-after", words.dump_after, "print what a pass made: import, autodiff, rewrite, cost, plan");
  verb.add_option("--disable", words.disable,
                  "switch an optional pass off: paging, remat, inplace, layouts, fusions, updates");
  verb.add_option("--without", words.without, without_help())->delimiter(',');
}

Result<pipeline::ModelOptions> model_options(const ModelWords& words) {
  pipeline::ModelOptions options{.path = words.model, .batch = words.batch};
  PANTOUM_ASSIGN(options.training.losses, losses_of(words.loss));
  PANTOUM_ASSIGN(options.training.metrics, metrics_of(words.loss));
  options.training.freeze = words.freeze;
  options.freeze_stats = words.freeze_stats;
  options.training.clip_value = words.optimizer.clip_value;
  options.training.clip_norm = words.optimizer.clip_norm;
  options.training.accumulate = words.optimizer.accumulate;
  PANTOUM_ASSIGN(options.training.optimizer, optimizer_of(words.optimizer));
  options.params_in = words.params_in == "aux"    ? cost::ParamsIn::kAux
                      : words.params_in == "auto" ? cost::ParamsIn::kAuto
                                                  : cost::ParamsIn::kRam;
  return options;
}

int thread_count(const PlanWords& words) {
  return words.threads > 0 ? words.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

Result<pipeline::PlanRequest> plan_request(const PlanWords& words) {
  pipeline::PlanRequest request{.device = words.device};
  plan::PlanOptions& options = request.options;
  if (!words.ram.empty()) {
    PANTOUM_ASSIGN(options.question.budget, base::parse_bytes(words.ram, "--ram"));
    if (options.question.budget == 0)
      return fail("E0300", "a budget of 0 bytes", "--ram", "give the RAM that the step may use, as in --ram 256KiB");
  }
  if (!words.reserve.empty()) {
    PANTOUM_ASSIGN(request.reserve, base::parse_bytes(words.reserve, "--reserve"));
  }
  if (!words.rom.empty()) {
    PANTOUM_ASSIGN(request.rom, base::parse_bytes(words.rom, "--rom"));
  }
  PANTOUM_TRY(set_limits(words.limits, request));
  PANTOUM_ASSIGN(options.gap, base::parse_fraction(words.gap, "--gap"));
  PANTOUM_ASSIGN(options.time_limit, base::parse_seconds(words.time_limit, "--time-limit"));
  PANTOUM_TRY(check_names(words.disable, kOptionalPasses, "--disable"));
  const auto disabled = [&](const char* pass) {
    return std::find(words.disable.begin(), words.disable.end(), pass) != words.disable.end();
  };
  options.question.objective = words.objective == "time"  ? problem::Objective::kTime
                               : words.objective == "edp" ? problem::Objective::kEdp
                                                          : problem::Objective::kEnergy;
  options.question.freedoms.paging = !words.no_paging && !disabled("paging");
  options.question.freedoms.recomputing = !words.no_remat && !disabled("remat");
  options.question.freedoms.in_place = !words.no_inplace && !disabled("inplace");
  options.question.freedoms.reordering = !words.no_reorder;
  PANTOUM_ASSIGN(options.without, without_of(words.without));
  options.effort = words.effort;
  request.kernel_threads = thread_count(words);
  request.kernels = words.kernels == "portable" ? host::KernelSet::Choice::kPortable
                    : words.kernels == "onednn" ? host::KernelSet::Choice::kOneDnn
                                                : host::KernelSet::Choice::kAuto;
  request.layouts = !disabled("layouts");
  request.small_saves = words.small_saves;
  request.fuse = !disabled("fusions");
  request.fuse_updates = request.fuse && !disabled("updates");
  request.measure = {.measure = words.measure, .profile_store = words.profile_store};
  return request;
}

Result<pipeline::Dump> dump_of(const PlanWords& words) {
  PANTOUM_TRY(check_names(words.dump_after, kPasses, "--dump-after"));
  if (words.dump_after.empty()) return pipeline::Dump{};
  return pipeline::Dump{[passes = words.dump_after](const std::string& pass, const std::string& text) {
    if (std::find(passes.begin(), passes.end(), pass) != passes.end()) std::printf("%s\n", text.c_str());
  }};
}

}  // namespace pantoum::cli
