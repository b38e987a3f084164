#include "ini/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/files.h"
#include "base/nearest_name.h"
#include "ini/keys.h"
#include "ini/unroll.h"

namespace pantoum::ini {
namespace {

constexpr std::array<std::string_view, 7> kSettings = {
    "model", "optimizer", "learningratescheduler", "dataset", "train_set", "valid_set", "test_set"};
constexpr int kMostDepth = 8;

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
    PANTOUM_TRY(resolve_outer());
    PANTOUM_TRY(resolve_shared());
    mark_read();
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

  struct Outside {
    OuterSource source;  // `layer` is a position in the network
    const std::string* path;
    std::string section;
  };

  Network made_;
  std::map<std::string, size_t, std::less<>> places_;  // of layers, and of backbones: their last layer
  std::vector<Reading> readings_;                      // by layer: its input_layers, or null
  std::vector<std::string> open_;                      // the files that are being added, each named by the one before
  std::vector<Outside> outer_;                         // of unrolled parts
  std::set<std::string, std::less<>> owners_;          // the layers of unrolled parts, whose steps share their weights

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
    if (!places_.emplace(layer.name, made_.layers.size()).second || owners_.contains(layer.name))
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
    const bool repeats = is_unrolled(section);
    if (repeats && !is_ini)
      keys.refuse("backbone", fmt::format("the backbone '{}' is no .ini file, and such a one is not unrolled", name),
                  "write its layers as an .ini file, or unroll it before it is exported");
    if (repeats && !keys.has_problem()) return add_unrolled(file, section, keys, around, before, trains);
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

  Result<void> add_unrolled(const Text& file, const Section& section, Keys& keys, const Around& around,
                            std::optional<size_t> before, bool trains) {
    if (!section.name.empty() && !is_layer_name(section.name))
      keys.refuse("", "this is no name of a layer", "begin with a letter or a digit; use letters, digits and - _ . /");
    if (keys.has_problem()) return keys.done();
    const std::string path = (std::filesystem::path(file.path).parent_path() / keys.text("backbone")).string();
    PANTOUM_ASSIGN(const std::string bytes, base::read_file(path));
    PANTOUM_ASSIGN(Text text, parse_ini(bytes, path));
    made_.files.push_back(std::move(text));
    const size_t begin = made_.layers.size();
    PANTOUM_ASSIGN(Unrolled part, unroll(keys, made_.files.back(), around.frozen || !trains,
                                         kMostLayers - std::min(begin, kMostLayers), made_.made));
    for (const std::string& name : part.names)
      if (places_.contains(name) || !owners_.insert(name).second)
        keys.refuse("", fmt::format("another layer is named '{}', too", name), "rename one of them");
    for (NetworkLayer& layer : part.layers) {
      for (Source& source : layer.sources) source.layer += begin;
      if (!places_.emplace(layer.name, made_.layers.size()).second)
        keys.refuse("", fmt::format("another layer is named '{}', too", layer.name), "rename one of them");
      readings_.push_back({nullptr, layer.path});
      made_.layers.push_back(std::move(layer));
    }
    for (OuterSource& source : part.outer) {
      source.layer += begin;
      if (source.entry != nullptr) {
        outer_.push_back({std::move(source), &file.path, section.name});
        continue;
      }
      if (!before)
        keys.refuse("", "the unrolled part reads no layer", "name layers in input_layers");
      else
        made_.layers[source.layer].sources[source.input] = {*before, 0};
    }
    places_.emplace(section.name, begin + part.last);
    return keys.has_problem() ? keys.done() : Result<void>();
  }

  Result<void> resolve_outer() {
    for (const Outside& each : outer_) {
      const auto& [name, output] = each.source.reference;
      auto found = each.source.step ? places_.find(fmt::format("{}/{}", name, *each.source.step)) : places_.end();
      Source source{0, output};
      if (found == places_.end()) {
        found = places_.find(name);
        if (each.source.step) source.output = *each.source.step;
      }
      if (found == places_.end()) return refuse_name(each.section, name, *each.path, *each.source.entry);
      source.layer = found->second;
      made_.layers[each.source.layer].sources[each.source.input] = source;
    }
    return {};
  }

  // The layer whose weights a layer with `shared_from` uses.
  Result<void> resolve_shared() {
    for (size_t place = 0; place < made_.layers.size(); ++place) {
      NetworkLayer& layer = made_.layers[place];
      const Entry* const entry = layer.section->find("shared_from");
      if (entry == nullptr || !layer.backbone.empty()) continue;
      if (layer.is_step)
        return fail("E0214", fmt::format("[{}]: shared_from stands in a part that is unrolled", layer.section->name),
                    place_of(*layer.path, entry->line), "delete it: the steps of a layer share its weights");
      const auto found = places_.find(lower_case(entry->value));
      if (found == places_.end()) return refuse_name(layer.name, entry->value, *layer.path, *entry);
      const NetworkLayer& owner = made_.layers[found->second];
      if (found->second == place || owner.section->find("shared_from") != nullptr || owner.type != layer.type)
        return fail("E0214",
                    fmt::format("[{}]: '{}' has no weights of its own for a layer of type '{}'", layer.name, owner.name,
                                layer.type),
                    place_of(*layer.path, entry->line), "name the layer of this type that has the weights");
      layer.weights = owner.weights.empty() ? owner.name : owner.weights;
    }
    return {};
  }

  void mark_read() {
    for (const NetworkLayer& layer : made_.layers)
      for (const Source& source : layer.sources) made_.layers[source.layer].is_read = true;
  }

  Result<void> resolve() {
    for (size_t place = 0; place < made_.layers.size(); ++place) {
      const auto& [entry, path] = readings_[place];
      if (entry != nullptr) PANTOUM_TRY(resolve(made_.layers[place], *entry, *path));
    }
    return {};
  }

  [[nodiscard]] Failure refuse_name(const std::string& section, const std::string& text, const std::string& path,
                                    const Entry& entry) const {
    std::vector<std::string> names;
    for (const auto& [name, where] : places_) names.push_back(name);
    return fail("E0214", fmt::format("[{}]: there is no layer '{}'", section, text), place_of(path, entry.line),
                base::hint_at(text, names) + fmt::format("{} names other sections, as: a, b(1)", entry.key));
  }

  Result<void> resolve(NetworkLayer& layer, const Entry& entry, const std::string& path) {
    for (const std::string& text : comma_list(entry.value)) {
      const std::optional<Reference> reference = reference_in(text);
      const auto found = reference ? places_.find(reference->name) : places_.end();
      if (found == places_.end()) return refuse_name(layer.name, text, path, entry);
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

bool is_layer_name(std::string_view name) {
  const auto is_letter_or_digit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && is_letter_or_digit(name.front()) && std::ranges::all_of(name, [&](char c) {
    return is_letter_or_digit(c) || std::string_view("-_./").find(c) != std::string_view::npos;
  });
}

Result<Network> read_network(Text file) {
  return NetworkReader().read(std::move(file));
}

}  // namespace pantoum::ini
