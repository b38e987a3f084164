#include "pipeline/run_firmware.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/files.h"
#include "base/foreign_text.h"
#include "base/json_text.h"
#include "base/special_files.h"

namespace pantoum::pipeline {

namespace {

std::string make_words(const FirmwareRunRequest& request) {
  const std::string words = fmt::format("-j {}", std::max(1U, std::thread::hardware_concurrency()));
  return request.steps > 0 ? words + fmt::format(" STEPS={}", request.steps) : words;
}

Result<std::string> make_command(const FirmwareRunRequest& request) {
  std::string words = make_words(request);
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
    const size_t told = output.losses.size();
    read_firmware_line(line, output);
    if (output.losses.size() > told) step_done(output.losses.rbegin()->first, output.losses.rbegin()->second);
  }
  const int status = ::pclose(pipe);
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (output.exit_code == 0 && !output.state.empty()) return output;
  return fail("E0295", "the firmware did not run to its end", request.folder,
              "what it said is above; `make -C FOLDER run` shows the same", lines_of(output.rest));
}

// The last step that the device has printed; a run that ended has printed its last step.
uint64_t last_step(const FirmwareOutput& output) {
  return output.losses.empty() ? output.resumed : std::max(output.resumed, output.losses.rbegin()->first);
}

Result<void> compare_with_host(const FirmwareRunRequest& request, const FirmwareRuns& runs, FirmwareRun& run) {
  uint64_t unequal = 0;
  const auto compare = [&](uint64_t step, float loss) {
    const auto found = run.output.losses.find(step);
    if (found == run.output.losses.end()) return;
    ++run.compared;
    if (std::bit_cast<uint32_t>(found->second) != std::bit_cast<uint32_t>(loss)) ++unequal;
  };
  PANTOUM_ASSIGN(run.host, emit::run_on_host(request.folder, runs.stretches, compare));
  run.is_comparable = runs.are_known || !run.host.has_schedule;
  run.host_state = fmt::format("0x{:08x}", run.host.state);
  run.equal = run.is_comparable && run.host_state == run.output.state && unequal == 0;
  return {};
}

void set_endurance(FirmwareRun& run) {
  if (run.host.steps <= run.output.resumed || run.output.storage_bytes == 0) return;
  const auto steps = static_cast<double>(run.host.steps - run.output.resumed);
  run.bytes_a_step = static_cast<double>(run.output.storage_bytes) / steps;
  run.endurance_steps = static_cast<double>(run.host.endurance) / run.bytes_a_step;
}

// The float whose bits the words of a loss end with: "loss 1.087284 bits 0x3f8b2c1d", in older projects "loss 0x3f8b2c1d".
std::optional<float> loss_in(const std::string& line) {
  const size_t last = line.find("0x") == std::string::npos ? line.rfind(' ') + 1 : line.find("0x") + 2;
  uint32_t bits = 0;
  const auto [end, error] = std::from_chars(line.data() + last, line.data() + line.size(), bits, 16);
  if (error != std::errc() || (end != line.data() + line.size() && *end != ' ')) return std::nullopt;
  return std::bit_cast<float>(bits);
}

// The numbers among the words of a line, in their order.
std::vector<uint64_t> numbers_in(const std::string& line) {
  std::istringstream words(line);
  std::vector<uint64_t> numbers;
  for (std::string word; words >> word;) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc() && end == word.data() + word.size()) numbers.push_back(number);
  }
  numbers.resize(std::max<size_t>(2, numbers.size()), 0);
  return numbers;
}

void read_test(const std::string& text, FirmwareOutput& output) {
  const size_t right = text.find("right ");
  if (right == std::string::npos) return;
  const std::vector<uint64_t> answers = numbers_in(text.substr(right));
  output.test_loss = loss_in(text), output.right = answers[0], output.counted = answers[1];
}

void read_numbers(const std::string& what, const std::string& text, FirmwareOutput& output) {
  const std::vector<uint64_t> numbers = numbers_in(text);
  if (what == "stack") output.stack_used = numbers[0], output.stack_reserved = numbers[1];
  if (what == "paged") output.paged_in = numbers[0], output.paged_out = numbers[1];
  if (what == "test") read_test(text, output);
}

}  // namespace

void read_firmware_line(const std::string& line, FirmwareOutput& output) {
  std::istringstream words(line);
  std::string what, label;
  uint64_t step = 0;
  words >> what;
  if (what == "step" && words >> step >> label && label == "loss") {
    if (const std::optional<float> loss = loss_in(line)) {
      output.losses[step] = *loss;
      return;
    }
  }
  const std::map<std::string, std::string*> texts{{"state", &output.state},       {"stack", &output.stack},
                                                  {"paged", &output.paged},       {"written", &output.written},
                                                  {"features", &output.features}, {"test", &output.test}};
  if (what == "resumed") {
    words >> output.resumed;
  } else if (what == "predicted") {
    const std::vector<uint64_t> answers = numbers_in(line);
    output.predicted_right = answers[0], output.predicted = answers[1];
  } else if (what == "worn") {
    words >> output.storage_bytes;
  } else if (const auto text = texts.find(what); text != texts.end()) {
    *text->second = line.size() > what.size() ? line.substr(what.size() + 1) : "";
    read_numbers(what, *text->second, output);
  } else {
    output.rest += line + "\n";
  }
}

Result<void> check_project(const std::string& folder) {
  const std::filesystem::path place = folder;
  if (std::filesystem::exists(place / "model" / "run.json") && !std::filesystem::exists(place / "Makefile"))
    return fail("E0294", "the project has no Makefile: it was emitted with another --layout", folder,
                "build it as its README.md says, or emit it without --layout");
  if (std::filesystem::exists(place / "model" / "run.json")) return {};
  return fail("E0294", "not a project that `pantoum emit` wrote", folder, "name the folder of its -o");
}

Result<FirmwareRun> run_firmware(const FirmwareRunRequest& request,
                                 const std::function<void(uint64_t step, float loss)>& step_done) {
  PANTOUM_TRY(check_project(request.folder));
  for (const char* name : {"storage.img", "storage.runs.json"})
    PANTOUM_TRY(base::check_file((std::filesystem::path(request.folder) / name).string(), base::Access::write));
  std::error_code ignored;
  if (request.fresh) std::filesystem::remove(std::filesystem::path(request.folder) / "storage.img", ignored);
  FirmwareRun run;
  PANTOUM_ASSIGN(run.output, run_there(request, step_done));
  run.memory = emit::program_memory(request.folder, make_words(request));
  const uint64_t steps = request.steps > 0 ? request.steps : run.memory.steps;
  const FirmwareRuns runs = firmware_runs(request.folder, run.output.resumed, steps);
  if (std::filesystem::exists(std::filesystem::path(request.folder) / "storage.img"))
    PANTOUM_TRY(keep_firmware_runs(request.folder, runs, last_step(run.output)));
  PANTOUM_TRY(compare_with_host(request, runs, run));
  set_endurance(run);
  if (request.count) {
    PANTOUM_ASSIGN(run.counted, emit::counted_steps(request.folder));
  }
  return run;
}

namespace {

using Json = nlohmann::ordered_json;

std::string path_of(const std::string& folder) {
  return (std::filesystem::path(folder) / "storage.runs.json").string();
}

// {"reached": 40, "runs": [{"from": 0, "steps": 40}]}; where it is damaged or absent, nothing is known.
Json read_kept(const std::string& folder) {
  const auto text = base::read_file(path_of(folder));
  return text ? Json::parse(*text, nullptr, false) : Json();
}

std::vector<emit::Stretch> stretches_of(const Json& kept, uint64_t resumed) {
  std::vector<emit::Stretch> stretches;
  try {
    if (kept.at("reached").get<uint64_t>() < resumed) return {};
    for (const Json& run : kept.at("runs"))
      if (const uint64_t from = run.at("from"); from < resumed) stretches.push_back({from, run.at("steps")});
  } catch (const Json::exception&) {
    return {};
  }
  return stretches;
}

}  // namespace

FirmwareRuns firmware_runs(const std::string& folder, uint64_t resumed, uint64_t steps) {
  FirmwareRuns runs;
  if (resumed > 0) {
    runs.stretches = stretches_of(read_kept(folder), resumed);
    runs.are_known = !runs.stretches.empty() && runs.stretches.front().from == 0;
  }
  if (!runs.are_known) runs.stretches.clear();
  runs.stretches.push_back({resumed, steps});
  return runs;
}

Result<void> keep_firmware_runs(const std::string& folder, const FirmwareRuns& runs, uint64_t reached) {
  Json kept{{"reached", reached}, {"runs", Json::array()}};
  for (const emit::Stretch& each : runs.stretches) kept["runs"].push_back({{"from", each.from}, {"steps", each.steps}});
  return base::write_file_atomically(path_of(folder), base::ascii_json(kept) + "\n");
}

}  // namespace pantoum::pipeline
