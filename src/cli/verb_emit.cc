#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/foreign_text.h"
#include "base/output_folder.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "emit/boards.h"
#include "pipeline/prepare_firmware.h"
#include "problem/plan_json.h"

namespace pantoum::cli {
namespace {

struct EmitOptions {
  Common common;
  std::string plan, model;  // model: "": where it was
  FirmwareOptions firmware;
  std::optional<Share> share;  // RAM that was given as one
  DataOptions data;
  TrainerOptions samples;  // how they are normalized
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
          {"storage_image_bytes", sizes.image},
          {"storage_blocks", sizes.storage_blocks},
          {"feature_blocks", sizes.feature_blocks},
          {"step_written_bytes", sizes.writes.paged},
          {"commit_bytes", sizes.writes.commit},
          {"commit_every", sizes.writes.commit_every}};
}

std::string next_command(Layout layout, const std::string& target, const std::string& folder) {
  const std::string place = base::shell_word(folder), preset = target == "posix" ? "host" : "board";
  if (layout == Layout::zephyr) return fmt::format("west build -b BOARD {}/samples/train", place);
  if (layout == Layout::cmake)
    return fmt::format("cd {} && cmake --preset {} && cmake --build --preset {} --target run", place, preset, preset);
  return fmt::format("make -C {} run", place);
}

std::string to_text(const emit::FirmwareSizes& sizes, const std::string& folder, const std::string& next) {
  return fmt::format(
      "emitted   {}\n"
      "RAM       {} in all: arena {}, stack {}{}; the session takes the rest\n"
      "plan      {} bytes: {} instructions in {} ({:.1f} each), ops {}, tensors {}\n"
      "ROM       weights {} ({} of them read in place), samples {}; storage {} blocks of 512 bytes{}{}\n"
      "next      {}\n",
      base::one_line(folder), base::show_bytes(static_cast<int64_t>(sizes.ram)),
      base::show_bytes(static_cast<int64_t>(sizes.arena)), base::show_bytes(static_cast<int64_t>(sizes.stack)),
      sizes.stack_calls.empty() ? "" : " (computed)", sizes.plan, sizes.instructions, sizes.code,
      sizes.instructions == 0 ? 0.0 : static_cast<double>(sizes.code) / static_cast<double>(sizes.instructions),
      sizes.op_table, sizes.tensor_table, base::show_bytes(static_cast<int64_t>(sizes.weights)),
      base::show_bytes(static_cast<int64_t>(sizes.read_in_place)),
      base::show_bytes(static_cast<int64_t>(sizes.samples)), sizes.storage_blocks,
      sizes.feature_blocks == 0 ? "" : fmt::format(", {} of them for features", sizes.feature_blocks),
      sizes.image == 0 ? "" : ", which begin as model/storage.img", next);
}

Result<int> emit_project(const EmitOptions& options) {
  pipeline::FirmwareRequest request{.options = options.firmware, .data = options.data, .plan_path = options.plan};
  PANTOUM_ASSIGN(request.preparation, pipeline::preparation_of(options.samples));
  std::shared_ptr<const base::TemporaryPath> cache;  // the project holds the samples: nothing beside it is left
  if (!request.data.cache_folder && options.firmware.data) {
    PANTOUM_ASSIGN(cache, base::TemporaryPath::create("cache"));
    request.data.cache_folder = cache->path();
  }
  ProgressLine line(options.common.json());
  line.phase("writing the project " + options.firmware.folder);
  PANTOUM_ASSIGN(const problem::Plan plan, problem::read_plan(options.plan));
  if (options.share) return Failure(options.share->refused(unplanned_peak(plan)));
  const std::optional<std::string> model = options.model.empty() ? std::nullopt : std::optional(options.model);
  PANTOUM_ASSIGN(const pipeline::PlannedStep step, pipeline::step_for_firmware(plan, request, model));
  for (const std::string& warning : step.warnings) print_warning(warning);
  for (const std::string& note : step.planning_notes) print_note(note);
  for (const std::string& note : step.weight_notes) print_note(note);
  PANTOUM_ASSIGN(const emit::FirmwareSizes sizes, pipeline::prepare_firmware(step, request));
  if (!sizes.stack_unknown.empty()) print_warning(sizes.stack_unknown);
  options.common.json()
      ? print_json(to_json(sizes))
      : print_result(to_text(sizes, options.firmware.folder,
                             next_command(options.firmware.layout, options.firmware.target, options.firmware.folder)));
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
  verb.add_option("PLAN", options->plan, "a plan that `pantoum plan MODEL ... -o` wrote").required();
  add_plugins(verb);
  verb.add_option("--model", options->model, "the model, where it is no longer where it was when it was planned");
  verb.add_settings(with_share(settings::fields_of(options->firmware), options->share));
  verb.option("--target").required().one_of(target_names());
  verb.option("--board").known(emit::board_names());
  verb.add_settings(settings::fields_of(options->data));
  verb.add_settings_of(settings::fields_of(options->samples), {"normalize"});
  verb.add_option("-o,--output", options->firmware.folder, "the project's folder").required().is(Kind::kFolder);
  add_common(verb, options->common);
  verb.does([options] { return emit_project(*options); });
}

}  // namespace pantoum::cli
