#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/foreign_text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/data_options.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/run_log.h"
#include "cli/run_options.h"
#include "emit/boards.h"
#include "pipeline/prepare_firmware.h"

namespace pantoum::cli {
namespace {

struct EmitOptions {
  Common common;
  DataWords data;
  pipeline::FirmwareRequest firmware;
  std::string ram, stack, endurance = "400GB";
  ScheduleWords rate;
};

nlohmann::ordered_json to_json(const emit::FirmwareSizes& sizes) {
  return {{"ram_bytes", sizes.ram},
          {"stack_bytes", sizes.stack},
          {"stack_calls", sizes.stack_calls},
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
          {"step_written_bytes", sizes.writes.paged},
          {"commit_bytes", sizes.writes.commit},
          {"commit_every", sizes.writes.commit_every}};
}

std::string to_text(const emit::FirmwareSizes& sizes, const std::string& folder) {
  return fmt::format(
      "emitted   {}\n"
      "RAM       {} in all: arena {}, stack {}{}; the session takes the rest\n"
      "plan      {} bytes: {} instructions in {} ({:.1f} each), ops {}, tensors {}\n"
      "ROM       weights {} ({} of them read in place), samples {}; storage {} blocks of 512 bytes{}\n"
      "next      make -C {} run\n",
      base::one_line(folder), base::show_bytes(static_cast<int64_t>(sizes.ram)),
      base::show_bytes(static_cast<int64_t>(sizes.arena)), base::show_bytes(static_cast<int64_t>(sizes.stack)),
      sizes.stack_calls.empty() ? "" : " (computed)", sizes.plan, sizes.instructions, sizes.code,
      sizes.instructions == 0 ? 0.0 : static_cast<double>(sizes.code) / static_cast<double>(sizes.instructions),
      sizes.op_table, sizes.tensor_table, base::show_bytes(static_cast<int64_t>(sizes.weights)),
      base::show_bytes(static_cast<int64_t>(sizes.read_in_place)),
      base::show_bytes(static_cast<int64_t>(sizes.samples)), sizes.storage_blocks,
      sizes.feature_blocks == 0 ? "" : fmt::format(", {} of them for features", sizes.feature_blocks),
      base::shell_word(folder));
}

Result<pipeline::FirmwareRequest> firmware_request(const EmitOptions& options) {
  pipeline::FirmwareRequest request = options.firmware;
  PANTOUM_ASSIGN(request.data, data_request(options.data, {}));
  PANTOUM_ASSIGN(request.schedule, schedule_of(options.rate));
  if (!options.stack.empty()) {
    PANTOUM_ASSIGN(request.stack_bytes, base::parse_bytes(options.stack, "--stack"));
  }
  PANTOUM_ASSIGN(request.endurance_bytes, base::parse_bytes(options.endurance, "--endurance"));
  if (request.lr && *request.lr < 0)
    return fail("E0116", fmt::format("{} is below 0", *request.lr), "--lr", "give a rate of 0 or more");
  if (!options.ram.empty()) {
    PANTOUM_ASSIGN(request.ram_bytes, base::parse_bytes(options.ram, "--ram"));
  }
  return request;
}

Result<int> emit_project(const EmitOptions& options) {
  PANTOUM_ASSIGN(pipeline::FirmwareRequest request, firmware_request(options));
  std::unique_ptr<TemporaryCache> cache;  // the project holds the samples: nothing beside it is left
  if (options.data.cache.empty() && !options.data.data.empty()) {
    PANTOUM_ASSIGN(cache, TemporaryCache::create());
    request.data.cache_folder = cache->path();
  }
  ProgressLine line(options.common.json());
  line.phase("writing the project " + request.folder);
  PANTOUM_ASSIGN(const emit::FirmwareSizes sizes, pipeline::prepare_firmware(request, print_note, print_warning));
  if (!sizes.stack_unknown.empty()) print_warning(sizes.stack_unknown);
  options.common.json() ? print_json(to_json(sizes)) : print_result(to_text(sizes, request.folder));
  return 0;
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const emit::Target& target : emit::targets()) names.push_back(target.name);
  return names;
}

}  // namespace

void add_emit(CommandLine& line) {
  auto options = std::make_shared<EmitOptions>();
  Verb verb = line.add_verb("emit", "a C project that trains on a device, as planned");
  verb.add_option("PLAN", options->firmware.plan_path, "a plan that `pantoum plan MODEL ... -o` wrote").required();
  verb.add_option("--target", options->firmware.target, "the device's processor").required().one_of(target_names());
  verb.add_option("--board", options->firmware.board,
                  fmt::format("where it runs; a board of the target's own without it; {}", listed(emit::board_names())))
      .known(emit::board_names());
  verb.add_option("--ram", options->ram, "of the device, everything in all; the plan's budget and reserve without it");
  verb.add_option("--stack", options->stack,
                  "part of the RAM that is the stack's; as much as the program's calls need without it");
  verb.add_flag("--check-blocks", options->firmware.check_blocks,
                "what is read from storage must be what was written there: a CRC-32 in RAM, 4 bytes a block");
  verb.add_option("--endurance", options->endurance, "bytes that may be written to the storage in its life (400GB)");
  verb.add_option("--model", options->firmware.model,
                  "the model, where it is no longer where it was when it was planned");
  verb.add_option("--weights", options->firmware.weights, "safetensors whose tensors replace the model's, by name");
  verb.add_option("--lr", options->firmware.lr, "learning rate; the planned one without it");
  add_schedule_options(verb, options->rate);
  verb.add_option("--steps", options->firmware.steps,
                  "steps of the whole training (main.c's STEPS); the plan's --steps without it, or else 100")
      .steps();
  verb.add_option("--samples", options->firmware.samples,
                  "how many of --data's samples the project holds, the first ones; all of them without it")
      .steps();
  verb.add_option("--test-samples", options->firmware.test_samples,
                  "how many of the test set's samples it holds, for an evaluation at the end; none without it")
      .steps();
  verb.add_option("--data", options->data.data, "the samples to train on, as `pantoum train` reads them");
  verb.add_option("--test-data", options->data.test_data, "the test set, where it lies elsewhere");
  verb.add_option("--label-column", options->data.label_columns, "CSV: the label's column");
  verb.add_option("--normalize", options->data.normalize, "MEAN,DEVIATION, as `pantoum train` has it");
  verb.add_option("--cache", options->data.cache,
                  "folder for data that cannot be read in place; a temporary one, removed at the end, without it");
  verb.add_option("-o,--output", options->firmware.folder, "the project's folder").required().is(Kind::kFolder);
  add_common(verb, options->common);
  verb.does([options] { return emit_project(*options); });
}

}  // namespace pantoum::cli
