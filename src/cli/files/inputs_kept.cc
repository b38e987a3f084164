#include "cli/files/inputs_kept.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/contents.h"
#include "base/files.h"
#include "base/foreign_text.h"
#include "base/inputs_in_use.h"
#include "base/special_files.h"
#include "import/onnx.h"

namespace pantoum::cli {
namespace {

namespace fs = std::filesystem;

// What goes on by design: a file that is read whole, and then replaced atomically by what follows from it. The profile store is
// read and written under one option.
struct Continued {
  std::string_view input, output;
  std::optional<Kind> kind = {};  // of the output
};
constexpr std::array kContinued{
    Continued{"--resume", "--checkpoint"},
    Continued{"--plan", "--plan-out"},        // the plan of the run is the one that was given
    Continued{"--warm-start", "--plan-out"},  // a search goes on from its own plan
    Continued{"--warm-start", "--output", Kind::kOutputOne},
};

bool is_continued(const std::string& input, std::string_view output, Kind kind) {
  return std::any_of(kContinued.begin(), kContinued.end(), [&](const Continued& each) {
    return each.input == input && each.output == output && (!each.kind || *each.kind == kind);
  });
}

struct Input {
  std::string option, path;
  Kind kind;
};

// The inputs of the command line that this process runs. Libraries know of those that no output continues.
struct Line {
  std::vector<Input> inputs;
  base::InputsInUse guarded;
  bool knows_external_data = false;
};

Line& this_line() {
  static Line& line = *new Line;  // guarded to the end
  return line;
}

void keep(const std::string& option, const std::string& path, Kind kind) {
  if (path.empty()) return;
  Line& line = this_line();
  line.inputs.push_back({option, path, kind});
  const bool goes_on =
      std::any_of(kContinued.begin(), kContinued.end(), [&](const Continued& each) { return each.input == option; });
  const bool is_own_folder = kind == Kind::kProject || kind == Kind::kSweep;
  if (!goes_on && !is_own_folder && kind != Kind::kStore) line.guarded.add(path);
}

// csv:FILE,trigger=COLUMN
std::string recording_of(const std::string& meter) {
  if (!meter.starts_with("csv:")) return "";
  const std::string path = meter.substr(4);
  return path.substr(0, path.find(','));
}

void keep_sweep(const std::string& option, const fs::path& folder) {
  keep(option, (folder / "sweep.jsonl").string(), Kind::kLog);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder / "plans", ignored))
    keep(option, entry.path().string(), Kind::kPlan);
}

void keep_given(const Given& given) {
  const std::string &option = given.option->name(), &value = given.value;
  const Kind kind = given.option->kind;
  std::error_code ignored;
  if (kind == Kind::kSweep) return keep_sweep(option, value);
  if (kind == Kind::kMeter) return keep(option, recording_of(value), Kind::kData);
  if (kind == Kind::kCheckpoint) keep(option, value + ".previous", kind);
  if (kind == Kind::kPlan && option == "PLAN") {  // of a sweep, which `report` finds by itself
    const fs::path folder = fs::absolute(value, ignored).parent_path();
    if (folder.filename() == "plans") keep(option, (folder.parent_path() / "sweep.jsonl").string(), Kind::kLog);
  }
  const bool is_file = (kind >= Kind::kModel && kind <= Kind::kProject) || kind == Kind::kStore ||
                       (kind == Kind::kDevice && value.ends_with(".toml")) || option == "--import";
  if (is_file) keep(option, value, kind);
}

// The tensors of a model may lie in files of their own; the model is parsed only where an output stands already.
void keep_external_data() {
  Line& line = this_line();
  if (std::exchange(line.knows_external_data, true)) return;
  const std::vector<Input> inputs = line.inputs;
  for (const Input& input : inputs)
    if (input.kind == Kind::kModel && fs::is_regular_file(input.path))
      for (const std::string& file : import::external_data_files(input.path)) keep(input.option, file, Kind::kWeights);
}

// A device's log may lie in its project.
bool is_in_project(const std::string& output, const std::string& folder) {
  std::error_code ignored;
  using base::Contents;
  const Contents contents = base::contents_of(output);
  if (contents == Contents::kRunLog || contents == Contents::kEmpty) return false;
  using Walk = fs::recursive_directory_iterator;
  for (Walk each(folder, ignored), end; each != end && !ignored; each.increment(ignored))
    if (fs::equivalent(each->path(), output, ignored)) return true;
  return false;
}

bool is_in(const std::string& output, const Input& input) {
  return input.kind == Kind::kProject ? is_in_project(output, input.path) : base::is_read_from(output, input.path);
}

Result<void> check_output_at(std::string_view option, const std::string& path, Kind kind) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored) || (path.starts_with("/dev/") && base::is_special_file(path))) return {};
  keep_external_data();
  for (const Input& input : this_line().inputs) {
    if (input.option == option || is_continued(input.option, option, kind) || !is_in(path, input)) continue;
    return fail("E0125",
                fmt::format("{} would take the place of a file that {} reads: {}", option, input.option,
                            base::one_line(input.path)),
                fmt::format("{} {}", option, path), "name another file for the output; nothing was changed");
  }
  return {};
}

// Files that are written beside an output for a while have names that can be foreseen. E0125, and E0901: a pipe, a socket or a device is there.
Result<void> check_with_parts(std::string_view option, const std::string& path, Kind kind) {
  for (const char* end : {"", ".part", ".lock"}) {
    PANTOUM_TRY(base::check_file(path + end, base::Access::write));
    PANTOUM_TRY(check_output_at(option, path + end, kind));
  }
  return {};
}

bool is_written(Kind kind) {
  return kind == Kind::kOutput || kind == Kind::kOutputOne || kind == Kind::kStore;
}

}  // namespace

void keep_input(const std::string& option, const std::string& path) {
  keep(option, path, Kind::kData);
}

Result<void> keep_inputs(const std::vector<Given>& given, const std::string& store) {
  for (const Given& each : given) keep_given(each);
  std::vector<NamedOutput> outputs;
  bool names_store = false;
  for (const Given& each : given) {
    names_store |= each.option->kind == Kind::kStore;
    const bool is_export = each.option->name() == "--export";
    if (is_written(each.option->kind) || each.option->kind == Kind::kFolder || is_export)
      outputs.push_back({each.option->name().c_str(), each.value});
  }
  if (!names_store) keep("--profile-store", store, Kind::kStore);
  for (const Given& each : given)
    if (is_written(each.option->kind) || each.option->name() == "--export")
      PANTOUM_TRY(check_with_parts(each.option->name(), each.value, each.option->kind));
  return check_distinct(outputs);
}

Result<void> check_no_input(const std::vector<NamedOutput>& outputs, const std::vector<NamedOutput>& more) {
  for (const NamedOutput& input : more) keep(input.option, input.path, Kind::kModel);
  for (const NamedOutput& output : outputs)
    if (!output.path.empty()) PANTOUM_TRY(check_with_parts(output.option, output.path, Kind::kOutput));
  return {};
}

Result<void> check_distinct(const std::vector<NamedOutput>& outputs) {
  std::map<base::FileIdentity, const char*> taken;
  for (const NamedOutput& output : outputs) {
    if (output.path.empty() || base::is_special_file(output.path)) continue;
    const auto [before, is_new] = taken.emplace(base::identity_of_file(output.path), output.option);
    if (!is_new)
      return fail("E0125", fmt::format("{} and {} name one file: {}", before->second, output.option, output.path),
                  output.option, "give each a file of its own");
  }
  return {};
}

}  // namespace pantoum::cli
