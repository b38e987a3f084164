#include "ini/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include "base/files.h"
#include "base/nearest_name.h"
#include "ini/keys.h"

namespace pantoum::ini {
namespace {

constexpr std::array<std::string_view, 7> kSettings = {
    "model", "optimizer", "learningratescheduler", "dataset", "train_set", "valid_set", "test_set"};
constexpr int kMostDepth = 8;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_layer_name(std::string_view name) {
  return !name.empty() && is_letter_or_digit(name.front()) && std::ranges::all_of(name, [](char c) {
    return is_letter_or_digit(c) || std::string_view("-_./").find(c) != std::string_view::npos;
  });
}

// A name of `input_layers`: "split(1)".
struct Reference {
  std::string name;
  int64_t output = 0;
};

std::optional<Reference> reference_in(const std::string& text) {
  const size_t open = text.find('(');
  Reference made{lower_case(trimmed(std::string_view(text).substr(0, open)))};
  if (open == std::string::npos) return made;
  const std::string_view inside = std::string_view(text).substr(open + 1);
  const auto [end, error] = std::from_chars(inside.data(), inside.data() + inside.size(), made.output);
  const bool closes = error == std::errc() && std::string_view(end, inside.data() + inside.size()) == ")";
  if (!closes || made.output < 0 || made.output > INT32_MAX) return std::nullopt;
  return made;
}

// The path without links and dots, as far as the file is there.
std::string real_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

class NetworkReader {
 public:
  Result<Network> read(Text file) {
    PANTOUM_TRY(add_file(std::move(file), {}, 0));
    if (made_.layers.empty())
      return fail("E0214", "the file has no layers", made_.files.front().path,
                  "write a section for each layer: [name], type = fully_connected, ..");
    PANTOUM_TRY(resolve());
    PANTOUM_TRY(order());
    return std::move(made_);
  }

 private:
  // What the section of a backbone says of all of its layers.
  struct Around {
    bool frozen = false;
    const Entry* inputs = nullptr;  // of the section: what the backbone's first layers read
    const std::string* path = nullptr;
    std::optional<size_t> before = {};  // the layer that its first layer follows
  };
  struct Reading {
    const Entry* entry;
    const std::string* path;
  };

  Network made_;
  std::map<std::string, size_t, std::less<>> places_;  // of layers, and of backbones: their last layer
  std::vector<Reading> readings_;                      // by layer: its input_layers, or null
  std::vector<std::string> open_;                      // the files that are being added, each named by the one before

  Result<void> add_file(Text text, const Around& around, int depth) {
    made_.files.push_back(std::move(text));
    const Text& file = made_.files.back();
    open_.push_back(real_path(file.path));
    std::optional<size_t> before = around.before;
    const size_t begin = made_.layers.size();
    for (const Section& section : file.sections) {
      if (is_setting(section.name)) continue;
      if (section.find("backbone") != nullptr)
        PANTOUM_TRY(add_backbone(file, section, around, before, begin, depth));
      else
        PANTOUM_TRY(add_layer(file, section, around, before, begin));
      before = made_.layers.size() - 1;
    }
    open_.pop_back();
    return {};
  }

  Result<void> add_layer(const Text& file, const Section& section, const Around& around, std::optional<size_t> before,
                         size_t begin) {
    Keys keys(section, file.path);
    if (!is_layer_name(section.name))
      keys.refuse("", "this is no name of a layer", "begin with a letter or a digit; use letters, digits and - _ . /");
    NetworkLayer layer{.section = &section, .path = &file.path, .name = section.name};
    layer.type = lower_case(keys.text("type"));
    if (keys.has_problem()) return keys.done();
    layer.frozen = around.frozen;
    append(std::move(layer), keys, around, before, begin);
    return keys.has_problem() ? keys.done() : Result<void>();
  }

  // What the layer reads is resolved once all layers are there.
  void append(NetworkLayer layer, Keys& keys, const Around& around, std::optional<size_t> before, size_t begin) {
    if (!places_.emplace(layer.name, made_.layers.size()).second)
      return keys.refuse("", "another layer has this name, too", "rename one of them");
    Reading reading{layer.section->find("input_layers"), layer.path};
    const bool is_first = made_.layers.size() == begin;
    if (reading.entry == nullptr && around.inputs != nullptr && (is_first || layer.type == "input"))
      reading = {around.inputs, around.path};
    const bool follows =
        reading.entry == nullptr && before && layer.type != "input" && layer.section->find("input_shape") == nullptr;
    if (follows) layer.sources.push_back({*before, 0});
    readings_.push_back(reading);
    made_.layers.push_back(std::move(layer));
  }

  Result<void> add_backbone(const Text& file, const Section& section, const Around& around,
                            std::optional<size_t> before, size_t begin, int depth) {
    Keys keys(section, file.path);
    const std::string name = keys.text("backbone");
    const bool is_ini = lower_case(name).ends_with(".ini");
    const bool trains = keys.boolean("trainable", is_ini);
    for (const char* key : {"type", "input_layers", "input_shape"}) keys.ignore(key);
    if (!is_ini && !lower_case(name).ends_with(".tflite") && !lower_case(name).ends_with(".onnx"))
      keys.refuse("backbone", fmt::format("the backbone '{}' is no .ini, .tflite or .onnx file", name),
                  "convert it to one of these");
    if (!is_ini && !section.name.empty() && !is_layer_name(section.name))
      keys.refuse("", "this is no name of a layer", "begin with a letter or a digit; use letters, digits and - _ . /");
    const std::string path = (std::filesystem::path(file.path).parent_path() / name).string();
    if (is_ini && std::ranges::find(open_, real_path(path)) != open_.end())
      keys.refuse("backbone", fmt::format("the backbone '{}' is a part of itself", name),
                  "name another file, or put the layers into one");
    if (is_ini && depth == kMostDepth)
      keys.refuse("backbone", fmt::format("backbones of backbones stand {} deep", kMostDepth),
                  "put the layers into one file");
    PANTOUM_TRY(keys.done());
    if (!is_ini) {
      append({.section = &section,
              .path = &file.path,
              .name = section.name.empty() ? "backbone" : section.name,
              .backbone = path,
              .frozen = around.frozen || !trains},
             keys, around, before, begin);
      return keys.has_problem() ? keys.done() : Result<void>();
    }
    return add_layers_of(path, section, around_of(file, section, around, before, begin, trains), depth);
  }

  // A backbone in a backbone stands where its section does: what holds of all of the outer one holds of it.
  Around around_of(const Text& file, const Section& section, const Around& outer, std::optional<size_t> before,
                   size_t begin, bool trains) const {
    const Entry* const own = section.find("input_layers");
    const bool is_first = made_.layers.size() == begin;
    return {.frozen = outer.frozen || !trains,
            .inputs = own == nullptr && is_first ? outer.inputs : own,
            .path = own == nullptr && is_first ? outer.path : &file.path,
            .before = section.find("input_shape") == nullptr ? before : std::nullopt};
  }

  Result<void> add_layers_of(const std::string& path, const Section& section, const Around& around, int depth) {
    PANTOUM_ASSIGN(const std::string bytes, base::read_file(path));
    PANTOUM_ASSIGN(Text backbone, parse_ini(bytes, path));
    const size_t begin = made_.layers.size();
    PANTOUM_TRY(add_file(std::move(backbone), around, depth + 1));
    if (made_.layers.size() == begin) return fail("E0214", "the backbone has no layers", path, "name another file");
    places_.emplace(section.name, made_.layers.size() - 1);
    return {};
  }

  Result<void> resolve() {
    for (size_t place = 0; place < made_.layers.size(); ++place) {
      const auto& [entry, path] = readings_[place];
      if (entry != nullptr) PANTOUM_TRY(resolve(made_.layers[place], *entry, *path));
      for (const Source& source : made_.layers[place].sources) made_.layers[source.layer].is_read = true;
    }
    return {};
  }

  Result<void> resolve(NetworkLayer& layer, const Entry& entry, const std::string& path) {
    for (const std::string& text : comma_list(entry.value)) {
      const std::optional<Reference> reference = reference_in(text);
      const auto found = reference ? places_.find(reference->name) : places_.end();
      if (found == places_.end()) {
        std::vector<std::string> names;
        for (const auto& [name, where] : places_) names.push_back(name);
        return fail("E0214", fmt::format("[{}]: there is no layer '{}'", layer.name, text), place_of(path, entry.line),
                    base::hint_at(text, names) + "input_layers names other sections, as: a, b(1)");
      }
      layer.sources.push_back({found->second, reference->output});
    }
    return {};
  }

  enum class Mark : uint8_t { kNew, kOpen, kDone };

  // Depth first along the readers; without recursion, since a network may be as deep as it has layers.
  Result<void> order() {
    std::vector<std::vector<size_t>> readers(made_.layers.size());
    for (size_t place = 0; place < made_.layers.size(); ++place)
      for (const Source& source : made_.layers[place].sources) readers[source.layer].push_back(place);
    std::vector<Mark> marks(made_.layers.size(), Mark::kNew);
    std::vector<std::pair<size_t, size_t>> walk;  // a layer, and how many of its readers were visited
    const auto visit = [&](size_t place) {
      marks[place] = Mark::kOpen;
      walk.emplace_back(place, 0);
    };
    for (size_t first = 0; first < made_.layers.size(); ++first) {
      if (marks[first] == Mark::kNew) visit(first);
      while (!walk.empty()) {
        auto& [place, visited] = walk.back();
        if (visited == readers[place].size()) {
          marks[place] = Mark::kDone;
          made_.order.push_back(place);
          walk.pop_back();
          continue;
        }
        const size_t reader = readers[place][visited++];
        if (marks[reader] == Mark::kOpen) return refuse_cycle(made_.layers[reader]);
        if (marks[reader] == Mark::kNew) visit(reader);
      }
    }
    std::reverse(made_.order.begin(), made_.order.end());
    return {};
  }

  static Failure refuse_cycle(const NetworkLayer& layer) {
    return fail("E0214", fmt::format("[{}]: the layer reads what is made of its own result", layer.name),
                place_of(*layer.path, layer.section->line), "mend input_layers");
  }
};

}  // namespace

bool is_setting(std::string_view section) {
  return std::find(kSettings.begin(), kSettings.end(), section) != kSettings.end();
}

Result<Network> read_network(Text file) {
  return NetworkReader().read(std::move(file));
}

}  // namespace pantoum::ini
