#include "emit/count.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "base/foreign_text.h"
#include "emit/project_sources.h"

namespace pantoum::emit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlugin = "src/emit/count/";

Result<void> succeed(const std::string& command, const std::string& folder, const char* needed) {
  const int status = std::system(command.c_str());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fail("E0298", fmt::format("instructions cannot be counted: {} failed", needed), folder,
              "counting needs a project for a board of QEMU, cc and arm-none-eabi-nm", {command});
}

// What run.json says of a step.
struct PlannedStep {
  std::vector<KernelWork> kernels;
  double energy_j = NAN;
};

Result<PlannedStep> planned_step(const std::string& folder) {
  PANTOUM_ASSIGN(const std::string text, base::read_file((fs::path(folder) / "model" / "run.json").string()));
  try {
    const nlohmann::json run = nlohmann::json::parse(text);
    const nlohmann::json& energy = run.at("energy_j");
    return PlannedStep{kernel_work(run.at("kernels")), energy.is_number() ? energy.get<double>() : NAN};
  } catch (const nlohmann::json::exception& error) {
    return fail("E0294", std::string("not a project that `pantoum emit` wrote: ") + error.what(), folder,
                "emit it again");
  }
}

// "#turns N INSTRUCTIONS", "#kernel FUNCTION INSTRUCTIONS CALLS"; the lines of functions do not matter.
Result<Counted> read_counts(const std::string& text, const std::string& folder) {
  Counted counted;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what;
    CountedKernel kernel;
    words >> what;
    if (what == "#turns") {
      words >> counted.steps >> counted.instructions;
    } else if (what == "#kernel" && words >> kernel.work.function >> kernel.instructions >> kernel.calls) {
      counted.kernels.push_back(kernel);
    }
  }
  if (counted.steps > 0) return counted;
  return fail("E0298", "no whole step was counted", folder, "give --steps 2 or more, and --fresh where it had ended");
}

}  // namespace

Result<std::string> prepare_count(const std::string& folder, const std::string& make_words) {
  PANTOUM_ASSIGN(const PlannedStep planned, planned_step(folder));
  const fs::path place = fs::path(folder) / "build" / "count";
  std::error_code error;
  fs::create_directories(place, error);
  if (error) return fail("E0901", "cannot make the folder: " + error.message(), place.string());
  for (const SourceFile& file : project_sources())
    if (file.path.starts_with(kPlugin))
      PANTOUM_TRY(base::write_file_atomically((place / fs::path(file.path).filename()).string(), file.text));
  std::string names;
  for (const KernelWork& kernel : planned.kernels) names += kernel.function + "\n";
  PANTOUM_TRY(base::write_file_atomically((place / "kernels").string(), names));
  PANTOUM_TRY(succeed(fmt::format("make -s -C {} {} build/symbols >&2", base::shell_word(folder), make_words), folder,
                      "making build/symbols"));
  const std::string made = base::shell_word(place.string());
  PANTOUM_TRY(succeed(fmt::format("cc -O2 -shared -fPIC -fvisibility=hidden {0}/count.c -o {0}/count.so >&2", made),
                      folder, "building QEMU's plugin"));
  return std::string(
      "-plugin build/count/count.so,symbols=build/symbols,out=build/count/counts,kernels=build/count/kernels,"
      "caller=pt_compute,slices=pt_compute_in_slices,turn=pt_trainer_step");
}

Result<Counted> counted_steps(const std::string& folder) {
  PANTOUM_ASSIGN(const PlannedStep planned, planned_step(folder));
  PANTOUM_ASSIGN(const std::string text, base::read_file((fs::path(folder) / "build" / "count" / "counts").string()));
  PANTOUM_ASSIGN(Counted counted, read_counts(text, folder));
  counted.energy_j = planned.energy_j;
  std::map<std::string, KernelWork> work;
  for (const KernelWork& each : planned.kernels) work[each.function] = each;
  for (CountedKernel& kernel : counted.kernels) {
    const KernelWork& planned_work = work[kernel.work.function];
    const uint64_t calls = planned_work.calls * counted.steps;
    if (planned_work.streams ? kernel.calls < calls : kernel.calls != calls)
      return fail("E0298", "the device did not run the kernels that are planned", kernel.work.function,
                  "emit the project again");
    kernel.work = planned_work;
  }
  if (counted.kernels.size() == planned.kernels.size()) return counted;
  return fail("E0298", "the device did not run every kernel that is planned", folder, "emit the project again");
}

}  // namespace pantoum::emit
