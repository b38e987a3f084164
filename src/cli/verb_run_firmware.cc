#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/foreign_text.h"
#include "cli/cli.h"
#include "cli/firmware_report.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_log.h"
#include "pipeline/run_firmware.h"

namespace pantoum::cli {
namespace {

using pipeline::FirmwareRun;

struct RunFirmwareOptions {
  Common common;
  pipeline::FirmwareRunRequest request;
  std::string log;
};

std::string log_path(const RunFirmwareOptions& options) {
  return options.log.empty() ? (std::filesystem::path(options.request.folder) / "run.jsonl").string() : options.log;
}

// A run that went on continues its log.
Result<void> write_log(const FirmwareRun& run, const std::string& path) {
  RunLog log(path, run.output.resumed > 0);
  for (const nlohmann::ordered_json& event : log_events(run)) PANTOUM_TRY(log.write(event));
  return log.begin();
}

std::string where_to_look(const FirmwareRun& run, const std::string& log) {
  const std::string plan = run.memory.plan.empty() ? "PLAN" : base::shell_word(run.memory.plan);
  return fmt::format("log       {}\nnext      pantoum report {} {} -o report.html\n", base::one_line(log), plan,
                     base::shell_word(log));
}

void print_run(const RunFirmwareOptions& options, const FirmwareRun& run, const std::string& log) {
  if (!options.common.json()) return print_result(cli::to_text(run) + where_to_look(run, log));
  nlohmann::ordered_json json = cli::to_json(run);
  json["log"] = log;
  print_json(json);
}

Result<int> run_firmware(const RunFirmwareOptions& options) {
  const std::string log = log_path(options);
  PANTOUM_TRY(pipeline::check_project(options.request.folder));
  PANTOUM_ASSIGN(const std::vector<base::FileLock> locks, lock_all({{"--log", log}}));
  ProgressLine line(options.common.json());
  line.phase("building and running " + options.request.folder);
  const auto step_done = [&](uint64_t step, float loss) {
    if (!options.common.json()) print_formatted("step {}  loss {:.4f}\n", step, loss);
  };
  PANTOUM_ASSIGN(const FirmwareRun run, pipeline::run_firmware(options.request, step_done));
  PANTOUM_TRY(write_log(run, log));
  print_run(options, run, log);
  if (run.equal || !run.is_comparable) return 0;
  return fail("E0296", "the device's bits are not the host's", options.request.folder,
              "please report this with the model and the compiler's version");
}

}  // namespace

void add_run_firmware(CommandLine& line) {
  auto options = std::make_shared<RunFirmwareOptions>();
  Verb verb = line.add_verb("run-firmware", "builds and runs an emitted project, and compares it with the host");
  verb.add_option("DIR", options->request.folder, "the project").required();
  verb.add_option("--steps", options->request.steps,
                  "steps of the whole training; as many as it was emitted for without it")
      .steps();
  verb.add_flag("--fresh", options->request.fresh, "from the beginning: an empty storage");
  verb.add_flag("--count", options->request.count,
                "instructions of a step, by kernel, by a plugin of QEMU that cc builds");
  verb.add_option(
      "--log", options->log,
      "the run log, JSON lines, for `pantoum report` (DIR/run.jsonl without it); a run that goes on continues it");
  add_common(verb, options->common);
  verb.does([options] { return run_firmware(*options); });
}

}  // namespace pantoum::cli
