#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cli/cli.h"
#include "cli/firmware_count.h"
#include "emit/count.h"
#include "emit/host_run.h"

namespace pantoum::cli {
namespace {

struct Options {
  Common common;
  std::string folder;
  uint64_t steps = 0;
  bool fresh = false, count = false;
};

// What a run printed (project/print.h).
struct Told {
  std::map<uint64_t, uint32_t> losses;  // bits, by step
  std::string state, stack, paged, written, features, test, rest;
  uint64_t resumed = 0, worn = 0;  // steps of earlier runs; bytes that this run's steps wrote to storage
  int exit_code = 0;
};

void read_line(const std::string& line, Told& told) {
  std::istringstream words(line);
  std::string what, label, bits;
  uint64_t step = 0;
  words >> what;
  if (what == "step" && words >> step >> label >> bits) {
    told.losses[step] = static_cast<uint32_t>(std::stoul(bits, nullptr, 16));
    return;
  }
  const std::string rest = line.size() > what.size() ? line.substr(what.size() + 1) : "";
  if (what == "state") {
    told.state = rest;
  } else if (what == "stack") {
    told.stack = rest;
  } else if (what == "paged") {
    told.paged = rest;
  } else if (what == "written") {
    told.written = rest;
  } else if (what == "features") {
    told.features = rest;
  } else if (what == "resumed") {
    words >> told.resumed;
  } else if (what == "worn") {
    words >> told.worn;
  } else if (what == "test") {
    told.test = rest;
  } else {
    told.rest += line + "\n";
  }
}

std::string quoted(const std::string& text) {
  std::string made = "'";
  for (const char letter : text) made += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return made + "'";
}

Result<Told> run_there(const Options& options) {
  std::string words = fmt::format("-j {}", std::max(1U, std::thread::hardware_concurrency()));
  if (options.steps > 0) words += fmt::format(" STEPS={}", options.steps);
  if (options.count) {
    PANTOUM_ASSIGN(const std::string plugin, emit::prepare_count(options.folder, words));
    words += " QEMU_MORE=" + quoted(plugin);
  }
  const std::string command = fmt::format("make -s -C {} {} run 2>&1", quoted(options.folder), words);
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return fail("E0295", "make cannot be started", options.folder, "install make");
  Told told;
  char line[4096];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    line[std::strcspn(line, "\n")] = 0;
    read_line(line, told);
    if (!told.losses.empty() && !options.common.json() && std::strncmp(line, "step", 4) == 0)
      std::printf("step %llu  loss %.4f\n", static_cast<unsigned long long>(told.losses.rbegin()->first),
                  static_cast<double>(std::bit_cast<float>(told.losses.rbegin()->second)));
  }
  const int status = ::pclose(pipe);
  told.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return told;
}

struct RunWear {
  double bytes_a_step = 0, life = 0;  // life: steps until the storage's endurance is written; 0: nothing wears it
};

RunWear wear_of(const Told& told, const emit::HostRun& host) {
  if (host.steps <= told.resumed || told.worn == 0) return {};
  const double bytes = static_cast<double>(told.worn) / static_cast<double>(host.steps - told.resumed);
  return {.bytes_a_step = bytes, .life = static_cast<double>(host.endurance) / bytes};
}

Result<int> run_firmware(const Options& options) {
  if (!std::filesystem::exists(std::filesystem::path(options.folder) / "model" / "run.json"))
    return fail("E0294", "not a project that `pantoum emit` wrote", options.folder, "name the folder of its -o");
  if (options.fresh) {
    std::error_code ignored;
    std::filesystem::remove(std::filesystem::path(options.folder) / "storage.img", ignored);
  }
  PANTOUM_ASSIGN(const Told told, run_there(options));
  if (told.exit_code != 0 || told.state.empty())
    return fail("E0295", "the firmware did not run to its end", options.folder,
                "what it said is above; `make -C FOLDER run` shows the same", {told.rest});
  uint64_t compared = 0, unequal = 0;
  const auto compare = [&](uint64_t step, float loss) {
    const auto found = told.losses.find(step);
    if (found == told.losses.end()) return;
    ++compared;
    if (found->second != std::bit_cast<uint32_t>(loss)) ++unequal;
  };
  PANTOUM_ASSIGN(const emit::HostRun host, emit::run_on_host(options.folder, options.steps, compare));
  const std::string state = fmt::format("0x{:08x}", host.state);
  const bool equal = state == told.state && unequal == 0;
  const RunWear wear = wear_of(told, host);
  std::optional<emit::Counted> counted;
  if (options.count) {
    PANTOUM_ASSIGN(counted, emit::counted_steps(options.folder));
  }
  if (options.common.json()) {
    nlohmann::ordered_json line{{"equal", equal},
                                {"steps", host.steps},
                                {"state", told.state},
                                {"host_state", state},
                                {"stack", told.stack},
                                {"paged", told.paged},
                                {"written", told.written},
                                {"test", told.test},
                                {"features", told.features},
                                {"losses_compared", compared},
                                {"worn", told.worn},
                                {"steps_run", host.steps - std::min(host.steps, told.resumed)},
                                {"bytes_a_step", wear.bytes_a_step},
                                {"life_in_steps", wear.life}};
    for (const auto& [step, bits] : told.losses) line["losses"].push_back({step, std::bit_cast<float>(bits)});
    if (counted) line["count"] = to_json(*counted);
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf("ran       %llu steps; stack %s bytes; paged %s; written to storage %s\n",
                static_cast<unsigned long long>(host.steps), told.stack.c_str(), told.paged.c_str(),
                told.written.c_str());
    if (wear.life > 0)
      std::printf("wear      %.0f bytes a step: %.3g steps until %.3g bytes are written\n", wear.bytes_a_step,
                  wear.life, static_cast<double>(host.endurance));
    if (!told.features.empty()) std::printf("features  of %s\n", told.features.c_str());
    if (!told.test.empty()) std::printf("test      %s\n", told.test.c_str());
    std::printf("bits      parameters and state %s on the device, %s on the host; %llu losses compared: %s\n",
                told.state.c_str(), state.c_str(), static_cast<unsigned long long>(compared),
                equal ? "equal" : "NOT equal");
    if (counted) std::printf("%s", to_text(*counted).c_str());
  }
  if (equal) return 0;
  return fail("E0296", "the device's bits are not the host's", options.folder,
              "please report this with the model and the compiler's version");
}

}  // namespace

void add_run_firmware(CommandLine& line) {
  auto options = std::make_shared<Options>();
  Verb verb = line.add_verb("run-firmware", "builds and runs an emitted project, and compares it with the host");
  verb.add_option("DIR", options->folder, "the project").required();
  verb.add_option("--steps", options->steps, "steps of the whole training; as many as it was emitted for without it");
  verb.add_flag("--fresh", options->fresh, "from the beginning: an empty storage");
  verb.add_flag("--count", options->count, "instructions of a step, by kernel, by a plugin of QEMU that cc builds");
  add_common(verb, options->common);
  verb.does([options] { return run_firmware(*options); });
}

}  // namespace pantoum::cli
