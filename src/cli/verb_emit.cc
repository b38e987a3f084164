#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/data_options.h"
#include "cli/model_options.h"
#include "cli/run_options.h"
#include "cli/step_limits.h"
#include "cost/device.h"
#include "emit/boards.h"
#include "emit/firmware.h"
#include "pipeline/sample_rows.h"
#include "problem/plan_json.h"

namespace pantoum::cli {
namespace {

struct Options {
  Common common;
  DataWords data;
  std::string plan, model, weights, target, board, ram, stack = "2KiB", endurance = "400GB", output;
  int64_t samples = 0, test_samples = 0;
  bool check_blocks = false;
  std::optional<uint64_t> steps;
  std::optional<double> lr;
  ScheduleWords rate;
};

// The options of the `plan` command that made a plan.
struct PlanCommand {
  ModelWords model;
  PlanWords plan;
  TrainingLength length;
  std::string feature_cache;
};

Result<PlanCommand> command_of(const problem::Plan& plan, const std::string& path) {
  if (plan.command.empty())
    return fail("E0293", "the plan does not say which model it is of", path,
                "make it with `pantoum plan MODEL ... -o FILE`");
  PlanCommand command;
  CommandLine line("plan", "", "");
  Verb verb = line.add_verb("plan", "");
  std::string ignored;
  bool ignored_flag = false;
  verb.add_option("MODEL", command.model.model);
  add_model_options(verb, command.model);
  add_plan_options(verb, command.plan);
  add_length_options(verb, command.length);
  add_feature_option(verb, command.feature_cache);
  for (const char* other : {"-o,--output", "--binary-out", "--costgraph-out", "--write-min-plan", "--warm-start",
                            "--planner", "--page-file", "--format"})
    verb.add_option(other, ignored);
  verb.add_flag("--require-gap", ignored_flag);
  verb.does([]() -> Result<int> { return 0; });
  std::vector<const char*> words{"pantoum", "plan"};
  for (const std::string& word : plan.command) words.push_back(word.c_str());
  const auto parsed = line.parse(static_cast<int>(words.size()), words.data());
  if (!parsed)
    return fail("E0293", fmt::format("the command that made the plan is not understood: {}", parsed.error().message),
                path, "plan again with this release");
  return command;
}

// As long as the user says, else as long as the training that was planned; 100 steps where it does not say either.
uint64_t steps_of(const Options& options, const TrainingLength& planned) {
  constexpr uint64_t kSteps = 100;
  const auto steps = static_cast<uint64_t>(planned.steps);
  return options.steps.value_or(steps > 0 ? steps : kSteps);
}

bool has_input(const ir::Graph& graph, const std::string& name) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                     [&](ir::ValueId id) { return graph.value(id).name == name; });
}

// The inputs of the whole model, then the targets; with features, a step reads few of the inputs or none.
std::vector<emit::BatchName> batch_names(const pipeline::Compiled& compiled) {
  const ir::Graph& model = compiled.evaluation;
  std::vector<emit::BatchName> batch;
  for (const ir::ValueId id : model.inputs) {
    const std::string& name = model.value(id).name;
    uint8_t readers = PT_READ_BY_EVAL;
    if (has_input(compiled.training, name)) readers |= PT_READ_BY_STEP;
    if (compiled.features) readers |= PT_READ_BY_BACKBONE;
    batch.push_back({name, readers});
  }
  for (const ir::ValueId id : compiled.training.labels) batch.push_back({.name = compiled.training.value(id).name});
  return batch;
}

std::vector<std::string> features_of(const pipeline::Compiled& compiled) {
  std::vector<std::string> names;
  for (const ir::ValueId id : compiled.training.inputs)
    if (const std::string& name = compiled.training.value(id).name; !has_input(compiled.evaluation, name))
      names.push_back(name);
  return names;
}

// The samples of the project, if it has some.
Result<void> add_samples(const Options& options, const PlanCommand& command, const pipeline::Compiled& compiled,
                         emit::Firmware& firmware) {
  PANTOUM_ASSIGN(const data::Preparation preparation, preparation_of(options.data));
  if (options.data.data.empty()) return {};
  const std::string cache = (std::filesystem::absolute(options.output).parent_path() / ".cache").string();
  const ir::Graph& model = compiled.evaluation;
  PANTOUM_ASSIGN(const data::TrainTest data, open_data(options.data, cache, model));
  PANTOUM_ASSIGN(firmware.training, pipeline::sample_rows(data.train, model, preparation, options.samples));
  if (options.test_samples > 0) {
    PANTOUM_ASSIGN(firmware.test, pipeline::sample_rows(data.test, model, preparation, options.test_samples));
  }
  if (!compiled.features) return {};
  PANTOUM_ASSIGN(const int64_t limit, base::parse_bytes(command.feature_cache, "--feature-cache"));
  const int64_t bytes = feature_bytes(compiled.training, firmware.training.count);
  if (bytes <= limit) return {};
  return fail("E0289",
              fmt::format("the features of {} samples take {}, the plan's --feature-cache allows {}",
                          firmware.training.count, base::show_bytes(bytes), base::show_bytes(limit)),
              "--samples", "emit fewer samples, or plan with a larger --feature-cache, or without");
}

nlohmann::ordered_json to_json(const emit::FirmwareSizes& sizes) {
  return {{"ram_bytes", sizes.ram},
          {"stack_bytes", sizes.stack},
          {"arena_bytes", sizes.arena},
          {"checksum_bytes", sizes.sums},
          {"plan_bytes", sizes.plan},
          {"instructions", sizes.instructions},
          {"instruction_bytes", sizes.code},
          {"op_table_bytes", sizes.op_table},
          {"tensor_table_bytes", sizes.tensor_table},
          {"weight_bytes", sizes.weights},
          {"read_in_place_bytes", sizes.read_in_place},
          {"sample_bytes", sizes.samples},
          {"storage_blocks", sizes.storage_blocks},
          {"feature_blocks", sizes.feature_blocks},
          {"step_written_bytes", sizes.wear.paged},
          {"commit_bytes", sizes.wear.commit},
          {"commit_every", sizes.wear.commit_every}};
}

std::string to_text(const emit::FirmwareSizes& sizes, const std::string& folder) {
  return fmt::format(
      "emitted   {}\n"
      "RAM       {} in all: arena {}, stack {}; the session takes the rest\n"
      "plan      {} bytes: {} instructions in {} ({:.1f} each), ops {}, tensors {}\n"
      "ROM       weights {} ({} of them read in place), samples {}; storage {} blocks of 512 bytes{}\n"
      "next      make -C {} run\n",
      folder, base::show_bytes(static_cast<int64_t>(sizes.ram)), base::show_bytes(static_cast<int64_t>(sizes.arena)),
      base::show_bytes(static_cast<int64_t>(sizes.stack)), sizes.plan, sizes.instructions, sizes.code,
      sizes.instructions == 0 ? 0.0 : static_cast<double>(sizes.code) / static_cast<double>(sizes.instructions),
      sizes.op_table, sizes.tensor_table, base::show_bytes(static_cast<int64_t>(sizes.weights)),
      base::show_bytes(static_cast<int64_t>(sizes.read_in_place)),
      base::show_bytes(static_cast<int64_t>(sizes.samples)), sizes.storage_blocks,
      sizes.feature_blocks == 0 ? "" : fmt::format(", {} of them for features", sizes.feature_blocks), folder);
}

Result<int> emit_project(const Options& options) {
  PANTOUM_ASSIGN(problem::Plan plan, problem::read_plan(options.plan));
  PANTOUM_ASSIGN(PlanCommand command, command_of(plan, options.plan));
  if (!options.model.empty()) command.model.model = options.model;
  if (!options.weights.empty()) command.model.weights = options.weights;
  const std::string kernels = command.plan.kernels;
  if (command.plan.device == "host") command.plan.kernels = "portable";
  PANTOUM_ASSIGN(pipeline::ModelOptions model, model_options(command.model));
  model.cut_features = !command.feature_cache.empty();
  if (model.training.accumulate > 1)
    return fail("E0291", "firmware takes a step's batch at once; the plan is of micro-batches", options.plan,
                "plan without --accumulate");
  PANTOUM_ASSIGN(pipeline::PlanRequest request, plan_request(command.plan));
  PANTOUM_ASSIGN(const pipeline::Compiled compiled, pipeline::compile_model(model, request));
  plan::Infeasible infeasible;
  Result<pipeline::Planned> planned = pipeline::plan_model(compiled, request, &plan, &infeasible);
  if (!planned && planned.error().code == "E0231" && kernels != command.plan.kernels)
    return fail("E0291", "the plan is of another training step, or of kernels that firmware does not have",
                options.plan, "plan with --kernels portable, or for a device other than the host");
  if (!planned) return tl::make_unexpected(planned.error());
  PANTOUM_ASSIGN(const std::vector<std::byte> binary, pipeline::encode_programs(compiled, *planned));
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(options.output) / "model";
  std::filesystem::create_directories(folder, error);
  if (error) return fail("E0901", "cannot make the folder: " + error.message(), folder.string());
  const std::string contents = (folder / "contents.safetensors").string();
  PANTOUM_ASSIGN(const auto notes, pipeline::write_initial_weights(
                                       compiled.training, {command.model.weights, command.model.keep_init}, contents));
  for (const std::string& note : notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  PANTOUM_ASSIGN(const weights::SafetensorFile weights, weights::open_safetensors(contents));
  emit::Firmware firmware{.name = compiled.training.name, .plan = binary, .weights = &weights};
  firmware.inputs = batch_names(compiled);
  firmware.features = features_of(compiled);
  PANTOUM_TRY(add_samples(options, command, compiled, firmware));
  firmware.lr = options.lr.value_or(command.model.optimizer.lr), firmware.seed = command.model.seed,
  firmware.steps = steps_of(options, command.length), firmware.energy_j = planned->training.predicted.energy_j;
  PANTOUM_ASSIGN(firmware.schedule, schedule_of(options.rate));
  firmware.target = options.target, firmware.board = options.board;
  PANTOUM_ASSIGN(const int64_t stack, base::parse_bytes(options.stack, "--stack"));
  PANTOUM_ASSIGN(const int64_t endurance, base::parse_bytes(options.endurance, "--endurance"));
  firmware.endurance = static_cast<uint64_t>(endurance);
  firmware.check_blocks = options.check_blocks;
  firmware.stack_bytes = static_cast<uint64_t>(stack);
  firmware.ram_bytes = static_cast<uint64_t>(plan.question.budget_bytes() + request.reserve);
  if (!options.ram.empty()) {
    PANTOUM_ASSIGN(const int64_t ram, base::parse_bytes(options.ram, "--ram"));
    firmware.ram_bytes = static_cast<uint64_t>(ram);
  }
  PANTOUM_ASSIGN(const emit::FirmwareSizes sizes, emit::emit_firmware(firmware, options.output));
  std::printf("%s",
              options.common.json() ? (to_json(sizes).dump() + "\n").c_str() : to_text(sizes, options.output).c_str());
  return 0;
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const emit::Target& target : emit::targets()) names.push_back(target.name);
  return names;
}

}  // namespace

void add_emit(CommandLine& line) {
  auto options = std::make_shared<Options>();
  Verb verb = line.add_verb("emit", "a C project that trains on a device, as planned");
  verb.add_option("PLAN", options->plan, "a plan that `pantoum plan MODEL ... -o` wrote").required();
  verb.add_option("--target", options->target, "the device's processor").required().one_of(target_names());
  verb.add_option("--board", options->board, "where it runs; a board of the target's own without it");
  verb.add_option("--ram", options->ram, "of the device, everything in all; the plan's budget and reserve without it");
  verb.add_option("--stack", options->stack, "part of the RAM that is the stack's");
  verb.add_flag("--check-blocks", options->check_blocks,
                "what is read from storage must be what was written there: a CRC-32 in RAM, 4 bytes a block");
  verb.add_option("--endurance", options->endurance, "bytes that may be written to the storage in its life (400GB)");
  verb.add_option("--model", options->model, "the model, where it is no longer where it was when it was planned");
  verb.add_option("--weights", options->weights, "safetensors whose tensors replace the model's, by name");
  verb.add_option("--lr", options->lr, "learning rate; the planned one without it");
  add_schedule_options(verb, options->rate);
  verb.add_option("--steps", options->steps,
                  "steps of the whole training (main.c's STEPS); the plan's --steps without it, or else 100")
      .positive();
  verb.add_option("--samples", options->samples,
                  "how many of --data's samples the project holds, the first ones; all of them without it")
      .positive();
  verb.add_option("--test-samples", options->test_samples,
                  "how many of the test set's samples it holds, for an evaluation at the end; none without it")
      .positive();
  verb.add_option("--data", options->data.data, "the samples to train on, as `pantoum train` reads them");
  verb.add_option("--test-data", options->data.test_data, "the test set, where it lies elsewhere");
  verb.add_option("--label-column", options->data.label_columns, "CSV: the label's column");
  verb.add_option("--normalize", options->data.normalize, "MEAN,DEVIATION, as `pantoum train` has it");
  verb.add_option("-o,--output", options->output, "the project's folder").required();
  add_common(verb, options->common);
  verb.does([options] { return emit_project(*options); });
}

}  // namespace pantoum::cli
