#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/firmware_count.h"
#include "cli/output.h"
#include "pipeline/run_firmware.h"

namespace pantoum::cli {
namespace {

using pipeline::FirmwareRun;

struct RunFirmwareOptions {
  Common common;
  pipeline::FirmwareRunRequest request;
};

nlohmann::ordered_json to_json(const FirmwareRun& run) {
  nlohmann::ordered_json json{{"equal", run.equal},
                              {"steps", run.host.steps},
                              {"state", run.output.state},
                              {"host_state", run.host_state},
                              {"stack", run.output.stack},
                              {"paged", run.output.paged},
                              {"written", run.output.written},
                              {"test", run.output.test},
                              {"features", run.output.features},
                              {"losses_compared", run.compared},
                              {"worn", run.output.storage_bytes},
                              {"steps_run", run.host.steps - std::min(run.host.steps, run.output.resumed)},
                              {"bytes_a_step", run.bytes_a_step},
                              {"life_in_steps", run.endurance_steps}};
  for (const auto& [step, loss] : run.output.losses) json["losses"].push_back({step, loss});
  if (run.counted) json["count"] = cli::to_json(*run.counted);
  return json;
}

std::string to_text(const FirmwareRun& run) {
  const pipeline::FirmwareOutput& output = run.output;
  std::string text = fmt::format("ran       {} steps; stack {} bytes; paged {}; written to storage {}\n",
                                 run.host.steps, output.stack, output.paged, output.written);
  if (run.endurance_steps > 0)
    text += fmt::format("endurance {:.0f} bytes a step: {:.3g} steps until {:.3g} bytes are written\n",
                        run.bytes_a_step, run.endurance_steps, static_cast<double>(run.host.endurance));
  if (!output.features.empty()) text += fmt::format("features  of {}\n", output.features);
  if (!output.test.empty()) text += fmt::format("test      {}\n", output.test);
  text += fmt::format("bits      parameters and state {} on the device, {} on the host; {} losses compared: {}\n",
                      output.state, run.host_state, run.compared, run.equal ? "equal" : "NOT equal");
  return run.counted ? text + cli::to_text(*run.counted) : text;
}

Result<int> run_firmware(const RunFirmwareOptions& options) {
  const auto step_done = [&](uint64_t step, float loss) {
    if (!options.common.json()) print_formatted("step {}  loss {:.4f}\n", step, loss);
  };
  PANTOUM_ASSIGN(const FirmwareRun run, pipeline::run_firmware(options.request, step_done));
  options.common.json() ? print_json(to_json(run)) : print_result(to_text(run));
  if (run.equal) return 0;
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
  add_common(verb, options->common);
  verb.does([options] { return run_firmware(*options); });
}

}  // namespace pantoum::cli
