#include "cli/files/early_checks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/contents.h"
#include "base/files.h"
#include "base/special_files.h"
#include "base/system_calls.h"
#include "cli/files/inputs_kept.h"
#include "base/nearest_name.h"
#include "cli/line/suggestions.h"
#include "cost/device.h"

namespace pantoum::cli {
namespace {

namespace fs = std::filesystem;
using base::Contents, base::contents_of;
using enum Contents;

std::string folder_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// "" where a file can be made in the folder, the system's reason otherwise. Nothing is left there.
std::string why_not_writable(const std::string& folder) {
  const int unnamed =
      base::uninterrupted([&] { return ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600); });
  if (unnamed >= 0) return ::close(unnamed), "";
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return base::system_reason();
  std::string name = folder + "/.pantoum-XXXXXX";  // a file system without unnamed files
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) return base::system_reason();
  ::unlink(name.c_str());
  ::close(named);
  return "";
}

std::string where(const Given& given) {
  return given.option->name() + " " + given.value;
}

Result<void> check_readable(const Given& given, const char* code, const char* help) {
  const std::string& path = given.value;
  const int file = base::uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  if (file >= 0) return ::close(file), Result<void>();
  const std::string why = errno == ENOENT ? "there is no such file" : base::system_reason();
  return fail(code, "cannot open the file: " + why, where(given), help);
}

// The models of a folder that could have been meant: the one that `like` is a slip of, or the first ones.
std::string models_in(const std::string& folder, const std::string& like) {
  constexpr size_t kMost = 1000, kShown = 3;
  std::error_code ignored;
  std::vector<std::string> names;
  for (fs::directory_iterator each(folder, ignored), end; each != end && !ignored && names.size() < kMost;
       each.increment(ignored))
    if (each->path().extension() == ".onnx") names.push_back(each->path().filename().string());
  std::sort(names.begin(), names.end());
  if (const std::string likely = base::likely_name(like, names); !likely.empty()) return likely;
  names.resize(std::min(names.size(), kShown));
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<void> check_model(const Given& given) {
  const std::string& path = given.value;
  const std::string near = exists(path) ? "" : models_in(folder_of(path), fs::path(path).filename().string());
  PANTOUM_TRY(check_readable(
      given, "E0201",
      near.empty() ? "check the path; a model is an ONNX file" : fmt::format("the folder has {}", near).c_str()));
  const Contents contents = contents_of(path);
  if (contents == kUnknown || contents == kStream || contents == kTorchGraph) return {};
  if (contents == kFolder) {
    const std::string inside = models_in(path, "");
    return fail("E0201", "cannot read the file: it is a folder", where(given),
                inside.empty() ? "name an ONNX file" : fmt::format("name a file inside it: {}", inside));
  }
  std::optional<Error> error = base::why_no_model(path);
  if (!error) return {};
  error->where = where(given);
  return Failure(*std::move(error));
}

struct Expected {
  const char *code, *what, *help;
  bool (*is)(Contents);
};

bool is_text_or(Contents found, Contents wanted) {
  return found == wanted || found == kStream || found == kJson;
}

// A damaged file has no marks either: its reader says what is wrong.
bool is_binary(Contents found) {
  return found == kSafetensors || found == kUnknown || found == kStream || found == kEmpty;
}

Expected expected_of(Kind kind) {
  switch (kind) {
    case Kind::kPlan:
    case Kind::kStep:
      return {"E0230", "a plan", "pantoum plan MODEL -o FILE writes one",
              [](Contents found) { return is_text_or(found, kPlan); }};
    case Kind::kAnswer:
      return {"E0230", "a plan or a refusal", "pantoum plan MODEL -o FILE writes a plan",
              [](Contents found) { return is_text_or(found, kPlan) || found == kRefusal; }};
    case Kind::kCostGraph:
      return {"E0220", "a cost graph", "pantoum plan MODEL --costgraph-out FILE writes one",
              [](Contents found) { return is_text_or(found, kCostGraph); }};
    case Kind::kLog:
      return {"E0290", "a run log", "pantoum train writes one beside its weights: OUTPUT.jsonl",
              [](Contents found) { return is_text_or(found, kRunLog) || found == kEmpty; }};
    case Kind::kCheckpoint:
      return {"E0240", "a checkpoint", "pantoum train writes one: OUTPUT.checkpoint", is_binary};
    default:
      return {"E0240", "a safetensors file",
              "in Python: safetensors.torch.save_file(model.state_dict(), 'net.safetensors')", is_binary};
  }
}

Result<void> check_contents(const Given& given) {
  const Expected expected = expected_of(given.option->kind);
  PANTOUM_TRY(check_readable(given, "E0201", expected.help));
  const Contents contents = contents_of(given.value);
  if (contents == kFolder || contents == kSavedModel)
    return fail("E0201", "cannot read the file: it is a folder", where(given), "name a file inside it");
  if (expected.is(contents)) return {};
  const std::string name = base::name_of(contents);
  return fail(expected.code,
              fmt::format("'{}' is {}not {}", given.value, name.empty() ? "" : name + ", ", expected.what),
              where(given), expected.help);
}

Result<void> check_checkpoint(const Given& given) {
  // If the newest checkpoint is gone or damaged, the one before it is used.
  if (exists(given.value + ".previous")) return {};
  return check_contents(given);
}

Result<void> check_data(const Given& given) {
  if (!exists(given.value))
    return fail("E0262", "there is no such file or folder", where(given),
                "name the folder or file that holds the data");
  const Contents contents = contents_of(given.value);
  switch (contents) {
    case kSafetensors:
    case kTorchGraph:
    case kPlan:
    case kTorchZip:
    case kPickle:
    case kTflite:
    case kHdf5:
    case kZip:
    case kTar:
    case kCostGraph:
      return fail("E0262", fmt::format("'{}' is {}, not a data set", given.value, base::name_of(contents)), where(given),
                  contents == kZip || contents == kTar
                      ? "unpack it, and name the folder"
                      : "give a folder or file of IDX, NPY, NPZ, CIFAR-10, CSV or pictures");
    default:
      return {};
  }
}

Result<void> check_project(const Given& given) {
  if (is_folder(given.value)) return {};
  return fail("E0294", exists(given.value) ? "this is a file, not the folder of a project" : "there is no such folder",
              where(given), "pantoum emit PLAN --target TARGET -o DIR writes one");
}

Result<void> check_sweep(const Given& given) {
  if (is_folder(given.value)) return {};
  return fail("E0280", exists(given.value) ? "this is a file, not the folder of a sweep" : "there is no such folder",
              where(given), "pantoum sweep MODEL --ram 16MiB:64MiB:13 -o DIR makes one");
}

Result<void> check_device(const Given& given) {
  const Result<cost::DeviceProfile> profile = cost::load_device(given.value);
  if (profile) return {};
  Error error = profile.error();
  if (error.code == "E0270") {
    std::vector<std::string> names = cost::device_names();
    error.help = help_with_names(given.value, names) + "; or a path that ends in .toml";
  }
  return Failure(std::move(error));
}

Result<void> check_board(const Given& given) {
  const std::vector<std::string>& names = given.option->choices;
  if (names.empty() || std::find(names.begin(), names.end(), given.value) != names.end()) return {};
  return fail("E0297", fmt::format("the board '{}' is unknown", given.value), "--board",
              help_with_names(given.value, names));
}

Failure not_written(const Given& given, const std::string& why, const std::string& help) {
  return fail("E0901", "cannot write the file: " + why, where(given), help);
}

Result<void> check_output(const Given& given) {
  const std::string& path = given.value;
  if (base::is_special_file(path)) return {};
  if (path.ends_with('/') || is_folder(path))
    return not_written(given, "it is a folder",
                       fmt::format("name a file in it: {} {}/NAME", given.option->name(), path));
  const std::string folder = folder_of(path);
  if (!exists(folder))
    return not_written(given, fmt::format("there is no folder '{}'", folder),
                       fmt::format("make it: mkdir -p {}", folder));
  if (const std::string why = why_not_writable(folder); !why.empty())
    return not_written(given, why, "choose a folder that can be written to");
  return {};
}

// The folder itself, or the nearest above it that is there.
Result<void> check_folder(const Given& given) {
  fs::path folder = given.value;
  if (exists(given.value) && !is_folder(given.value)) return not_written(given, "it is a file", "name a folder");
  while (!exists(folder.string()) && folder.has_parent_path() && folder != folder.parent_path())
    folder = folder.parent_path();
  const std::string there = exists(folder.string()) ? folder.string() : ".";
  if (!is_folder(there)) return not_written(given, fmt::format("'{}' is a file", there), "name another folder");
  if (const std::string why = why_not_writable(there); !why.empty())
    return fail("E0901", "cannot write to the folder: " + why, where(given), "name one that can be written to");
  return {};
}

Result<void> check_page_folder(const Given& given) {
  const std::string folder = is_folder(given.value) ? given.value : folder_of(given.value);
  const std::string why = is_folder(folder) ? why_not_writable(folder) : "there is no such folder";
  if (why.empty()) return {};
  return fail("E0902", "the page file cannot be made: " + why, where(given),
              "name a folder that can be written with --page-file");
}

Result<void> check_store(const Given& given) {
  if (given.value == "-")
    return fail("E0117", "a profile store is read and written, which standard input and output cannot be", where(given),
                "name a file");
  if (is_folder(given.value))
    return fail("E0275", "this is a folder, not a profile store", where(given), "name a file in it");
  std::error_code ignored;
  if (exists(given.value) && !fs::is_regular_file(given.value, ignored))
    return fail("E0275", "this is no regular file, which a profile store has to be", where(given), "name another file");
  if (exists(given.value) || is_folder(folder_of(given.value))) return {};
  return fail("E0275", fmt::format("there is no folder '{}' for the profile store", folder_of(given.value)),
              where(given), fmt::format("make it: mkdir -p {}", folder_of(given.value)));
}

// A pipe, a socket, a device. What can be no file for other reasons has errors of its own.
Result<void> check_is_file(const Given& given) {
  const Kind kind = given.option->kind;
  const std::string& option = given.option->name();
  const bool is_path = (kind >= Kind::kModel && kind != Kind::kBoard && kind != Kind::kStore) || option == "--import";
  const bool is_written = kind == Kind::kOutput || kind == Kind::kOutputOne || option == "--export";
  const bool is_recording = kind == Kind::kMeter && given.value.starts_with("csv:");
  if ((!is_path && !is_written && !is_recording) || given.value == "-") return {};
  const std::string path = is_recording ? given.value.substr(4, given.value.find(',') - 4) : given.value;
  const std::string why = base::why_no_file(path, is_written ? base::Access::write : base::Access::read);
  if (why.empty()) return {};
  return fail(is_written ? "E0901" : "E0201",
              fmt::format("cannot {} the file: {}", is_written ? "write" : "read", why), where(given), "name a file");
}

Result<void> check_one(const Given& given) {
  PANTOUM_TRY(check_is_file(given));
  switch (given.option->kind) {
    case Kind::kModel:
      return check_model(given);
    case Kind::kStep:
      return contents_of(given.value) == Contents::kPlan ? check_contents(given) : check_model(given);
    case Kind::kPlan:
    case Kind::kAnswer:
    case Kind::kCostGraph:
    case Kind::kWeights:
    case Kind::kLog:
      return check_contents(given);
    case Kind::kCheckpoint:
      return check_checkpoint(given);
    case Kind::kData:
      return check_data(given);
    case Kind::kProject:
      return check_project(given);
    case Kind::kSweep:
      return check_sweep(given);
    case Kind::kDevice:
      return check_device(given);
    case Kind::kBoard:
      return check_board(given);
    case Kind::kOutput:
    case Kind::kOutputOne:
      return check_output(given);
    case Kind::kFolder:
      return check_folder(given);
    case Kind::kPageFolder:
      return check_page_folder(given);
    case Kind::kStore:
      return check_store(given);
    default:
      return {};
  }
}

template <size_t kCount>
bool is_one_of(const OptionFacts& option, const std::array<const char*, kCount>& names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return option.name() == name; });
}

bool names_costgraph(const std::vector<Given>& given) {
  return std::any_of(given.begin(), given.end(),
                     [](const Given& each) { return each.option->kind == Kind::kCostGraph; });
}

// What is made of a model, and of nothing else.
Result<void> check_beside_costgraph(const std::vector<Given>& given) {
  constexpr std::array kOutputs{"--weights-out", "--binary-out", "--costgraph-out"};
  for (const Given& each : given)
    if (names_costgraph(given) && is_one_of(*each.option, kOutputs))
      return fail("E0118", "a bare cost graph has no weights and no kernels, and is one already", where(each),
                  "leave it out, or give a model");
  return {};
}

// Does an option say how a model is made, or what its ops take on some device? A cost graph has all of this in it.
bool is_of_model(const Given& given) {
  constexpr std::array kOfBoth{"--batch", "--threads"};
  constexpr std::array kOfDevice{"--device",        "--kernels",   "--measure",
                                 "--profile-store", "--page-file", "--page-encryption"};
  const OptionFacts& option = *given.option;
  if (is_one_of(option, kOfBoth) || (option.name() == "--measure" && given.value == "off")) return false;
  return option.group == "model" || option.group == "training" || is_one_of(option, kOfDevice);
}

}  // namespace

std::vector<std::string> passed_over(const std::vector<Given>& given) {
  std::vector<std::string> names;
  for (const Given& each : given)
    if (names_costgraph(given) && is_of_model(each)) names.push_back(each.option->name());
  return names;
}

Result<void> check_given(const std::vector<Given>& given, const std::string& store) {
  PANTOUM_TRY(check_beside_costgraph(given));
  for (const Given& each : given)
    if (!each.value.empty()) PANTOUM_TRY(check_one(each));
  return keep_inputs(given, store);
}

}  // namespace pantoum::cli
