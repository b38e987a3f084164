#include "pipeline/run_firmware.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/foreign_text.h"

namespace pantoum::pipeline {
namespace {

Result<std::string> make_command(const FirmwareRunRequest& request) {
  std::string words = fmt::format("-j {}", std::max(1U, std::thread::hardware_concurrency()));
  if (request.steps > 0) words += fmt::format(" STEPS={}", request.steps);
  if (request.count) {
    PANTOUM_ASSIGN(const std::string plugin, emit::prepare_count(request.folder, words));
    words += " " + base::shell_word("QEMU_MORE=" + plugin);
  }
  return fmt::format("make -s -C {} {} run 2>&1", base::shell_word(request.folder), words);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream all(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

Result<FirmwareOutput> run_there(const FirmwareRunRequest& request,
                                 const std::function<void(uint64_t step, float loss)>& step_done) {
  PANTOUM_ASSIGN(const std::string command, make_command(request));
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return fail("E0295", "make cannot be started", request.folder, "install make");
  FirmwareOutput output;
  char line[4096];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    line[std::strcspn(line, "\n")] = 0;
    read_firmware_line(line, output);
    if (!output.losses.empty() && std::strncmp(line, "step", 4) == 0)
      step_done(output.losses.rbegin()->first, output.losses.rbegin()->second);
  }
  const int status = ::pclose(pipe);
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (output.exit_code == 0 && !output.state.empty()) return output;
  return fail("E0295", "the firmware did not run to its end", request.folder,
              "what it said is above; `make -C FOLDER run` shows the same", lines_of(output.rest));
}

Result<void> compare_with_host(const FirmwareRunRequest& request, FirmwareRun& run) {
  uint64_t unequal = 0;
  const auto compare = [&](uint64_t step, float loss) {
    const auto found = run.output.losses.find(step);
    if (found == run.output.losses.end()) return;
    ++run.compared;
    if (std::bit_cast<uint32_t>(found->second) != std::bit_cast<uint32_t>(loss)) ++unequal;
  };
  PANTOUM_ASSIGN(run.host, emit::run_on_host(request.folder, request.steps, compare));
  run.host_state = fmt::format("0x{:08x}", run.host.state);
  run.equal = run.host_state == run.output.state && unequal == 0;
  return {};
}

void set_endurance(FirmwareRun& run) {
  if (run.host.steps <= run.output.resumed || run.output.storage_bytes == 0) return;
  const auto steps = static_cast<double>(run.host.steps - run.output.resumed);
  run.bytes_a_step = static_cast<double>(run.output.storage_bytes) / steps;
  run.endurance_steps = static_cast<double>(run.host.endurance) / run.bytes_a_step;
}

}  // namespace

void read_firmware_line(const std::string& line, FirmwareOutput& output) {
  std::istringstream words(line);
  std::string what, label, bits;
  uint64_t step = 0;
  words >> what;
  if (what == "step" && words >> step >> label >> bits) {
    output.losses[step] = std::bit_cast<float>(static_cast<uint32_t>(std::stoul(bits, nullptr, 16)));
    return;
  }
  const std::map<std::string, std::string*> texts{{"state", &output.state},       {"stack", &output.stack},
                                                  {"paged", &output.paged},       {"written", &output.written},
                                                  {"features", &output.features}, {"test", &output.test}};
  if (what == "resumed") {
    words >> output.resumed;
  } else if (what == "worn") {
    words >> output.storage_bytes;
  } else if (const auto text = texts.find(what); text != texts.end()) {
    *text->second = line.size() > what.size() ? line.substr(what.size() + 1) : "";
  } else {
    output.rest += line + "\n";
  }
}

Result<FirmwareRun> run_firmware(const FirmwareRunRequest& request,
                                 const std::function<void(uint64_t step, float loss)>& step_done) {
  const std::filesystem::path folder(request.folder);
  if (!std::filesystem::exists(folder / "model" / "run.json"))
    return fail("E0294", "not a project that `pantoum emit` wrote", request.folder, "name the folder of its -o");
  std::error_code ignored;
  if (request.fresh) std::filesystem::remove(folder / "storage.img", ignored);
  FirmwareRun run;
  PANTOUM_ASSIGN(run.output, run_there(request, step_done));
  PANTOUM_TRY(compare_with_host(request, run));
  set_endurance(run);
  if (request.count) {
    PANTOUM_ASSIGN(run.counted, emit::counted_steps(request.folder));
  }
  return run;
}

}  // namespace pantoum::pipeline
