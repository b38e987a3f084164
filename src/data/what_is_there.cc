#include "data/what_is_there.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>

#include "base/contents.h"
#include "base/foreign_text.h"
#include "base/owned_file.h"
#include "data/zip.h"

namespace pantoum::data {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

constexpr size_t kMostNames = 1000, kShown = 8;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return text;
}

// What an array is by its name: inputs or labels, of the training or the test set.
struct Part {
  bool is_label = false, is_test = false;
  bool operator<(const Part& other) const {
    return std::pair(is_test, is_label) < std::pair(other.is_test, other.is_label);
  }
  [[nodiscard]] std::string name() const { return fmt::format("{}_{}", is_label ? "y" : "x", is_test ? "test" : "train"); }
};

template <size_t kCount>
bool is_one_of(const std::string& word, const std::array<const char*, kCount>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The word without a name of a split at its begin or its end, and whether that is the test set.
std::string without_split(const std::string& word, bool& is_test) {
  constexpr std::array kSplits{"training", "train", "testing", "test", "validation", "valid", "val", "eval", "dev"};
  for (const std::string split : kSplits) {
    const bool first = word.starts_with(split), last = word.ends_with(split);
    if (word.size() <= split.size() || !(first || last)) continue;
    is_test = !split.starts_with("train");
    std::string rest = first ? word.substr(split.size()) : word.substr(0, word.size() - split.size());
    std::erase_if(rest, [](char letter) { return letter == '_' || letter == '-' || letter == '.' || letter == ' '; });
    return rest;
  }
  return word;
}

std::optional<Part> part_of(const std::string& name) {
  constexpr std::array kInputs{"x",    "xs",    "data",   "images", "image",   "imgs",     "img",
                               "input", "inputs", "features", "feature", "samples", "sample"};
  constexpr std::array kLabels{"y", "ys", "label", "labels", "target", "targets", "class", "classes", "lbl"};
  Part part;
  const std::string word = without_split(lower(name), part.is_test);
  part.is_label = is_one_of(word, kLabels);
  return part.is_label || is_one_of(word, kInputs) ? std::optional(part) : std::nullopt;
}

// Which name has which array; nothing where two have the same, or where there are no inputs or no labels of training.
std::map<Part, std::string> parts_of(const Names& names, const Wanted& wanted) {
  std::map<Part, std::string> parts;
  if (wanted.inputs.size() > 1 || !wanted.more_labels.empty()) return parts;
  for (const std::string& name : names)
    if (const std::optional<Part> part = part_of(name); part && !parts.emplace(*part, name).second) return {};
  const bool whole = parts.contains({}) && (parts.contains({.is_label = true}) || !wanted.labels);
  return whole ? parts : std::map<Part, std::string>();
}

std::string listed(const Names& names) {
  const size_t shown = std::min(names.size(), kShown);
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  return shown == names.size() ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

Names arrays_in(const std::string& path) {
  const Result<base::OwnedFile> file = base::OwnedFile::open_to_read(path);
  if (!file) return {};
  const Result<std::vector<ZipMember>> members = read_zip_directory(*file);
  if (!members) return {};
  Names names;
  for (const ZipMember& member : *members) names.push_back(fs::path(member.name).stem().string());
  return names;
}

// Python that saves the arrays of an NPZ file again, by the names that are looked for.
std::string saved_again(const std::string& path, const std::map<Part, std::string>& parts) {
  std::string arrays;
  for (const auto& [part, name] : parts) arrays += fmt::format(", {}=z['{}']", part.name(), name);
  return fmt::format("in Python: z = numpy.load('{0}'); numpy.savez('{1}'{2}); then --data {1}", path,
                     (fs::path(path).parent_path() / "renamed.npz").string(), arrays);
}

std::string no_data_set(base::Contents contents) {
  using enum base::Contents;
  constexpr std::array kForeign{kHdf5, kKerasZip, kTorchZip, kPickle, kTflite, kZip, kTar, kGzip, kSafetensors, kJson, kMarkup};
  const bool foreign = std::find(kForeign.begin(), kForeign.end(), contents) != kForeign.end();
  return foreign ? base::name_of(contents) : "";
}

WhatIsThere in_npz(const std::string& path, const Wanted& wanted) {
  const Names names = arrays_in(path);
  if (names.empty()) return {};
  const std::map<Part, std::string> parts = parts_of(names, wanted);
  return {"the file has the arrays " + listed(names), parts.empty() ? "" : saved_again(path, parts)};
}

// Commands that give files with one of these endings the names that are looked for; "": they have none that says what they are.
std::string renamed(const fs::path& folder, const Names& files, std::string_view endings, const Wanted& wanted) {
  Names stems;
  std::map<std::string, std::string> file_of;
  for (const std::string& file : files) {
    const std::string ending = lower(fs::path(file).extension().string());
    if (ending.empty() || endings.find(ending + " ") == std::string_view::npos) continue;
    stems.push_back(fs::path(file).stem().string());
    file_of.emplace(stems.back(), file);
  }
  std::string commands;
  for (const auto& [part, stem] : parts_of(stems, wanted)) {
    const std::string file = file_of.at(stem), now = part.name() + lower(fs::path(file).extension().string());
    if (file == now) continue;
    commands += fmt::format("{}mv {} {}", commands.empty() ? "" : "; ", base::shell_word((folder / file).string()),
                            base::shell_word((folder / now).string()));
  }
  return commands.empty() ? "" : "rename: " + commands;
}

std::string help_on_folder(const fs::path& folder, const Names& files, const Wanted& wanted) {
  for (const char* endings : {".npy ", ".u8 .i32 .i64 .f32 "})
    if (std::string help = renamed(folder, files, endings, wanted); !help.empty()) return help;
  for (const std::string& file : files) {
    const std::string path = (folder / file).string(), ending = lower(fs::path(file).extension().string());
    if (ending == ".csv") return "name the file: --data " + base::shell_word(path);
    if (ending != ".npz") continue;
    const std::map<Part, std::string> parts = parts_of(arrays_in(path), wanted);
    if (parts.empty()) continue;
    const bool has_test = std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.first.is_test; });
    const auto called = [&](const char* x, const char* y) {
      const auto label = parts.find({.is_label = true});
      return parts.at({}) == x && (label == parts.end() || label->second == y);
    };
    if (called("x_train", "y_train")) return "name the file: --data " + base::shell_word(path);
    if (!has_test && called("x", "y"))
      return fmt::format("rename: mv {} {}", base::shell_word(path), base::shell_word((folder / "train.npz").string()));
    return saved_again(path, parts);
  }
  for (const std::string& file : files)
    if (const std::string what = no_data_set(base::contents_of((folder / file).string())); !what.empty())
      return fmt::format("{} is {}: save its arrays in Python with numpy.save, as x_train.npy and y_train.npy", file, what);
  return "";
}

}  // namespace

WhatIsThere what_is_there(const std::string& path, bool is_folder, const Wanted& wanted) {
  if (!is_folder) {
    if (base::contents_of(path) == base::Contents::kNpz) return in_npz(path, wanted);
    const std::string what = no_data_set(base::contents_of(path));
    return {what.empty() ? "" : "the file is " + what, ""};
  }
  std::error_code ignored;
  Names files, folders;
  for (fs::directory_iterator each(path, ignored), end; each != end && files.size() + folders.size() < kMostNames;
       each.increment(ignored)) {
    const std::string name = each->path().filename().string();
    if (name.starts_with('.')) continue;
    each->is_directory(ignored) ? folders.push_back(name + "/") : files.push_back(name);
  }
  std::sort(files.begin(), files.end());
  std::sort(folders.begin(), folders.end());
  Names all = files;
  all.insert(all.end(), folders.begin(), folders.end());
  if (all.empty()) return {"the folder is empty", ""};
  return {"the folder has " + listed(all), help_on_folder(path, files, wanted)};
}

}  // namespace pantoum::data
