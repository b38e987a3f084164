#include "ini/unroll.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/nearest_name.h"

namespace pantoum::ini {
namespace {

constexpr std::array<std::string_view, 5> kOwnKeys = {"unroll_for", "recurrent_input", "recurrent_output",
                                                      "as_sequence", "input_is_sequence"};

constexpr size_t kMostConnections = size_t{1} << 20;  // of an unrolled part

// A connection of a key of the section: a layer of the file, and one of its inputs or outputs.
struct Connection {
  size_t layer = 0;
  int64_t at = 0;
};

// What an input reads from the second step on.
struct Feedback {
  Connection from;
  std::optional<size_t> teacher;  // of teacher_layers
};

// Where an input of a layer of the file comes from.
struct Origin {
  bool is_outer = false;
  Source inner = {};
  Reference outer = {};
};

class Unroller {
 public:
  Unroller(Keys& keys, const Text& file, bool frozen, std::deque<Section>& made)
      : keys_(keys), file_(file), made_sections_(made), frozen_(frozen) {
    if (!keys.section().name.empty()) scope_ = keys.section().name + "/";
  }

  Result<Unrolled> unroll(size_t most) {
    PANTOUM_TRY(read_layers());
    steps_ = keys_.whole("unroll_for", 1, std::nullopt);
    read_outer_names();
    recurrent_inputs_ = connections("recurrent_input");
    recurrent_outputs_ = connections("recurrent_output");
    sequences_ = connections("as_sequence");
    ends_ = connections("output_layers");
    pair_feedback();
    read_teachers();
    check(most);
    PANTOUM_TRY(keys_.done());
    PANTOUM_TRY(read_origins());
    PANTOUM_TRY(count_inputs());
    mark_needed();
    PANTOUM_TRY(check_needed());
    for (int64_t step = 0; step < steps_; ++step) add_step(step);
    add_ends();
    return std::move(made_);
  }

 private:
  Keys& keys_;
  const Text& file_;
  std::deque<Section>& made_sections_;
  bool frozen_;
  std::string scope_;
  int64_t steps_ = 1;
  std::vector<const Section*> layers_;
  std::map<std::string, size_t, std::less<>> places_;
  std::vector<std::vector<Origin>> origins_;  // by layer: its inputs at the first step
  std::vector<Reference> outer_names_;        // of input_layers
  const Entry* outer_entry_ = nullptr;
  std::vector<std::string> series_;                          // of input_is_sequence
  std::vector<Reference> teachers_;                          // of teacher_layers
  std::string forcing_;                                      // the value of teacher_forcing
  std::map<std::pair<size_t, int64_t>, Feedback> feedback_;  // by layer and input
  std::vector<size_t> last_inputs_;                          // by layer: how many inputs it has from the second step on
  std::vector<Connection> recurrent_inputs_, recurrent_outputs_, sequences_, ends_;
  std::vector<std::vector<bool>> needed_;               // by step and layer
  std::vector<std::vector<std::optional<size_t>>> at_;  // by step and layer: its position in made_.layers
  Unrolled made_;

  [[nodiscard]] Failure refuse(const Section& section, std::string_view key, const std::string& problem,
                               const std::string& help) const {
    const Entry* const entry = section.find(key);
    return fail("E0214", fmt::format("[{}]: {}", section.name, problem),
                place_of(file_.path, entry == nullptr ? section.line : entry->line), help);
  }

  Result<void> read_layers() {
    for (const Section& section : file_.sections) {
      if (is_setting(section.name)) continue;
      if (section.find("backbone") != nullptr)
        return refuse(section, "backbone", "a backbone stands inside of a part that is unrolled",
                      "put its layers into this file, or beside the part");
      if (!is_layer_name(section.name))
        return refuse(section, "", "this is no name of a layer",
                      "begin with a letter or a digit; use letters, digits and - _ . /");
      const Entry* const type = section.find("type");
      if (type == nullptr) return refuse(section, "", "the key 'type' is missing", "add type = ..");
      const std::string name = lower_case(type->value);
      for (const std::string_view carries : {"lstm", "gru", "rnn"})
        if (name == carries)
          return refuse(section, "type",
                        fmt::format("a layer of type '{}' is a loop itself, and is not unrolled", name),
                        fmt::format("take {}cell, and name its state in recurrent_input and recurrent_output", name));
      for (const std::string_view other : {"input", "batch_normalization", "mse", "cross_softmax", "cross_sigmoid"})
        if (name == other)
          return refuse(section, "type", fmt::format("a layer of type '{}' is not unrolled", name),
                        "put it into the model's file, and name what the part reads in the section's input_layers");
      if (!places_.emplace(section.name, layers_.size()).second)
        return refuse(section, "", "another layer has this name, too", "rename one of them");
      layers_.push_back(&section);
    }
    if (layers_.empty()) return fail("E0214", "the backbone has no layers", file_.path, "name another file");
    return {};
  }

  void read_outer_names() {
    outer_entry_ = keys_.entry("input_layers");
    if (outer_entry_ != nullptr)
      for (const std::string& text : comma_list(outer_entry_->value)) {
        const std::optional<Reference> reference = reference_in(text);
        if (!reference)
          keys_.refuse("input_layers", fmt::format("'{}' is no layer's name", text), "write them as: a, b(1)");
        else
          outer_names_.push_back(*reference);
      }
    for (const std::string& text : comma_list(keys_.text("input_is_sequence", ""))) {
      const std::string name = lower_case(text);
      if (std::ranges::none_of(outer_names_, [&](const Reference& each) { return each.name == name; }))
        keys_.refuse("input_is_sequence", fmt::format("'{}' is none of input_layers", text),
                     "name it in both keys: its part t is read at step t");
      series_.push_back(name);
    }
  }

  void pair_feedback() {
    if (recurrent_inputs_.size() != recurrent_outputs_.size())
      keys_.refuse("recurrent_output",
                   fmt::format("there are {} recurrent inputs and {} recurrent outputs", recurrent_inputs_.size(),
                               recurrent_outputs_.size()),
                   "name as many of both: each input reads the output at the same place");
    for (size_t each = 0; each < recurrent_inputs_.size() && !keys_.has_problem(); ++each) {
      const auto& [layer, at] = recurrent_inputs_[each];
      if (!feedback_.emplace(std::pair(layer, at), Feedback{recurrent_outputs_[each], {}}).second)
        keys_.refuse("recurrent_input", fmt::format("input {} of '{}' stands there twice", at, layers_[layer]->name),
                     "name each input once");
    }
  }

  void read_teachers() {
    const std::vector<Connection> inputs = connections("teacher_input");
    forcing_ = keys_.text("teacher_forcing", "1");
    (void)keys_.number("teacher_forcing", 0, 1, 1);
    for (const std::string& text : comma_list(keys_.text("teacher_layers", ""))) {
      const std::optional<Reference> reference = reference_in(text);
      if (!reference || reference->output != 0)
        keys_.refuse(
            "teacher_layers", fmt::format("'{}' is no layer's name", text),
            "name a layer whose output t is the target of step t, as a split, or x where there are x/0, x/1, ..");
      else
        teachers_.push_back(*reference);
    }
    if (teachers_.size() != inputs.size() || (teachers_.empty() && keys_.section().find("teacher_forcing") != nullptr))
      keys_.refuse(teachers_.size() <= inputs.size() ? "teacher_input" : "teacher_layers",
                   fmt::format("there are {} teacher inputs and {} teacher layers", inputs.size(), teachers_.size()),
                   "name as many of both: each input reads the layer at the same place");
    for (size_t each = 0; each < inputs.size() && !keys_.has_problem(); ++each) {
      const auto found = feedback_.find({inputs[each].layer, inputs[each].at});
      if (found == feedback_.end())
        keys_.refuse("teacher_input", fmt::format("'{}' is none of recurrent_input", layers_[inputs[each].layer]->name),
                     "name it in both keys: the target stands in for the result that it reads");
      else
        found->second.teacher = each;
    }
  }

  std::vector<Connection> connections(const char* key) {
    std::vector<Connection> found;
    std::vector<std::string> names;
    for (const auto& [name, where] : places_) names.push_back(name);
    for (const std::string& text : comma_list(keys_.text(key, ""))) {
      const std::optional<Reference> reference = reference_in(text);
      const auto place = reference ? places_.find(reference->name) : places_.end();
      if (place == places_.end()) {
        keys_.refuse(key, fmt::format("'{}' of '{}' is no layer of {}", text, key, file_.path),
                     base::hint_at(text, names) + "name layers of the backbone, as: a, b(1)");
        return {};
      }
      found.push_back({place->second, reference->output});
    }
    return found;
  }

  void check(size_t most) {
    const size_t count = layers_.size() + teachers_.size() + ends_.size() + 1;
    if (count > most || static_cast<uint64_t>(steps_) > (most - count) / count)
      keys_.refuse("unroll_for",
                   fmt::format("{} steps of {} layers are more layers than a network may have, {}", steps_,
                               layers_.size(), kMostLayers),
                   "unroll for fewer steps");
    if (recurrent_inputs_.empty())
      keys_.refuse("recurrent_input", "the part is unrolled, and nothing in it is read by its next step",
                   "name layers in recurrent_input and recurrent_output, in pairs");
    if (ends_.empty()) ends_ = sequences_;
    if (ends_.empty()) ends_ = {{layers_.size() - 1, 0}};
    for (const Connection& each : sequences_)
      if (!holds(ends_, each))
        keys_.refuse("as_sequence", fmt::format("'{}' is none of output_layers", layers_[each.layer]->name),
                     "name it in both keys");
    for (const char* key : {"input_shape", "type"})
      if (keys_.section().find(key) != nullptr)
        keys_.refuse(key, fmt::format("a part that is unrolled has no key '{}'", key),
                     "put the layers that it reads before it, and name them in input_layers");
  }

  static bool holds(const std::vector<Connection>& all, const Connection& one) {
    return std::ranges::any_of(all,
                               [&](const Connection& each) { return each.layer == one.layer && each.at == one.at; });
  }

  // The first layer reads those of the section's input_layers that no layer of the file names; each other one the layer before it.
  Result<void> read_origins() {
    std::vector<bool> named(outer_names_.size());
    origins_.resize(layers_.size());
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      const Entry* const entry = layers_[layer]->find("input_layers");
      if (entry == nullptr && layer > 0) origins_[layer].push_back({.inner = {layer - 1, 0}});
      if (entry == nullptr) continue;
      for (const std::string& text : comma_list(entry->value)) {
        PANTOUM_ASSIGN(Origin origin, origin_of(*layers_[layer], text));
        for (size_t each = 0; each < outer_names_.size(); ++each)
          if (origin.is_outer && outer_names_[each].name == origin.outer.name) named[each] = true;
        origins_[layer].push_back(std::move(origin));
      }
    }
    if (layers_[0]->find("input_layers") != nullptr) return {};
    for (size_t each = 0; each < outer_names_.size(); ++each)
      if (!named[each]) origins_[0].push_back({.is_outer = true, .outer = outer_names_[each]});
    if (outer_entry_ == nullptr) origins_[0].push_back({.is_outer = true});
    return {};
  }

  Result<Origin> origin_of(const Section& section, const std::string& text) const {
    const std::optional<Reference> reference = reference_in(text);
    if (reference) {
      if (const auto inner = places_.find(reference->name); inner != places_.end())
        return Origin{.inner = {inner->second, reference->output}};
      for (const Reference& outer : outer_names_)
        if (outer.name == reference->name) return Origin{.is_outer = true, .outer = *reference};
    }
    std::vector<std::string> names;
    for (const auto& [name, where] : places_) names.push_back(name);
    for (const Reference& outer : outer_names_) names.push_back(outer.name);
    return refuse(section, "input_layers", fmt::format("there is no layer '{}'", text),
                  base::hint_at(text, names) +
                      "a part that is unrolled reads its own layers, and those that its "
                      "section names in input_layers");
  }

  // At the first step an input comes from outside, or a cell begins with zeros.
  Result<void> count_inputs() {
    size_t connections = 0;
    for (const std::vector<Origin>& origins : origins_) last_inputs_.push_back(origins.size());
    for (const auto& [input, feedback] : feedback_) {  // in the order of the inputs
      const auto& [layer, at] = input;
      const Section& section = *layers_[layer];
      size_t& count = last_inputs_[layer];
      const bool is_state = lower_case(section.find("type")->value).ends_with("cell") && at > 0;
      if (static_cast<size_t>(at) < count) continue;
      if (!is_state || static_cast<size_t>(at) != count)
        return refuse_key("recurrent_input", fmt::format("'{}' has no input {} at the first step", section.name, at),
                          "name in its input_layers what it reads there");
      ++count;
    }
    for (const size_t count : last_inputs_) connections += count;
    if (connections * static_cast<size_t>(steps_) > kMostConnections)
      return refuse_key(
          "unroll_for",
          fmt::format("{} steps that read {} results each are more than {}", steps_, connections, kMostConnections),
          "unroll for fewer steps");
    return {};
  }

  [[nodiscard]] Failure refuse_key(const char* key, const std::string& problem, const std::string& help) const {
    return fail("E0214", fmt::format("[{}]: {}", keys_.section().name, problem),
                place_of(keys_.path(), keys_.section().find(key)->line), help);
  }

  [[nodiscard]] const Feedback* fed_back(size_t layer, size_t input, int64_t step) const {
    const auto found = feedback_.find({layer, static_cast<int64_t>(input)});
    return step == 0 || found == feedback_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] size_t inputs_of(size_t layer, int64_t step) const {
    return step == 0 ? origins_[layer].size() : last_inputs_[layer];
  }

  // What the ends are computed of.
  void mark_needed() {
    const auto steps = static_cast<size_t>(steps_);
    needed_.assign(steps, std::vector<bool>(layers_.size()));
    std::vector<std::pair<size_t, size_t>> open;  // step, layer
    const auto need = [&](size_t step, size_t layer) {
      if (needed_[step][layer]) return;
      needed_[step][layer] = true;
      open.emplace_back(step, layer);
    };
    for (const Connection& each : ends_) need(steps - 1, each.layer);
    for (const Connection& each : sequences_)
      for (size_t step = 0; step < steps; ++step) need(step, each.layer);
    while (!open.empty()) {
      const auto [step, layer] = open.back();
      open.pop_back();
      for (size_t input = 0; input < inputs_of(layer, static_cast<int64_t>(step)); ++input) {
        const Feedback* const back = fed_back(layer, input, static_cast<int64_t>(step));
        if (back != nullptr)
          need(step - 1, back->from.layer);
        else if (!origins_[layer][input].is_outer)
          need(step, origins_[layer][input].inner.layer);
      }
    }
  }

  Result<void> check_needed() const {
    for (size_t layer = 0; layer < layers_.size(); ++layer)
      if (std::ranges::none_of(needed_, [&](const std::vector<bool>& step) { return bool{step[layer]}; }))
        return refuse(*layers_[layer], "", "what the unrolled part gives is not computed of this layer",
                      "name it in the section's output_layers, or delete it");
    return {};
  }

  void add_step(int64_t step) {
    at_.emplace_back(layers_.size());
    auto& places = at_.back();
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      if (!needed_[static_cast<size_t>(step)][layer]) continue;
      places[layer] = made_.layers.size();
      const Section& section = *layers_[layer];
      made_.layers.push_back({.section = &section,
                              .path = &file_.path,
                              .name = fmt::format("{}{}/{}", scope_, section.name, step),
                              .type = lower_case(section.find("type")->value),
                              .sources = {},
                              .weights = scope_ + section.name,
                              .is_step = true,
                              .frozen = frozen_});
    }
    for (size_t layer = 0; layer < layers_.size(); ++layer)
      if (places[layer]) connect(layer, *places[layer], step);
  }

  void connect(size_t layer, size_t place, int64_t step) {
    made_.layers[place].sources.resize(inputs_of(layer, step));
    for (size_t input = 0; input < inputs_of(layer, step); ++input) {
      if (const Feedback* const back = fed_back(layer, input, step)) {
        Source own{*at_[static_cast<size_t>(step - 1)][back->from.layer], back->from.at};
        if (back->teacher) own = {taught(place, input, own, teachers_[*back->teacher], step), 0};
        made_.layers[place].sources[input] = own;
        continue;
      }
      const Origin& origin = origins_[layer][input];
      if (!origin.is_outer) {
        made_.layers[place].sources[input] = {*at_[static_cast<size_t>(step)][origin.inner.layer], origin.inner.output};
        continue;
      }
      OuterSource outer{.layer = place, .input = input, .reference = origin.outer, .entry = outer_entry_};
      if (std::ranges::find(series_, origin.outer.name) != series_.end()) outer.step = step;
      made_.outer.push_back(std::move(outer));
    }
  }

  // The layer that gives the own result of the step before, or the target.
  size_t taught(size_t place, size_t input, Source own, const Reference& teacher, int64_t step) {
    const std::string name = fmt::format("{}/teacher_{}", made_.layers[place].name, input);
    const size_t made = add_made("teacher", name, {own, {}});
    const Section& section = keys_.section();
    const Entry* const forcing = section.find("teacher_forcing");
    made_sections_.back().entries.push_back(
        {"teacher_forcing", forcing_, forcing == nullptr ? section.line : forcing->line});
    made_.outer.push_back(
        {.layer = made, .input = 1, .reference = teacher, .step = step - 1, .entry = section.find("teacher_layers")});
    return made;
  }

  size_t add_made(const std::string& type, std::string name, std::vector<Source> sources) {
    const int line = keys_.section().line;
    made_sections_.push_back({name, line, {{"type", type, line}}});
    made_.layers.push_back({.section = &made_sections_.back(),
                            .path = &keys_.path(),
                            .name = std::move(name),
                            .type = type,
                            .sources = std::move(sources),
                            .is_made = true});
    return made_.layers.size() - 1;
  }

  // "part/name" has the outputs from 0 to the last that `output_layers` names.
  void add_ends() {
    for (const Section* const section : layers_) made_.names.push_back(scope_ + section->name);
    std::vector<bool> is_made(layers_.size());
    for (const Connection& end : ends_) {
      if (is_made[end.layer]) continue;
      is_made[end.layer] = true;
      int64_t most = 0;
      for (const Connection& each : ends_)
        if (each.layer == end.layer) most = std::max(most, each.at);
      const std::string name = made_.names[end.layer];
      std::vector<Source> sources;
      for (int64_t output = 0; output <= most; ++output) {
        Source source{*at_.back()[end.layer], output};
        if (holds(sequences_, {end.layer, output})) {
          std::vector<Source> all;
          for (const auto& places : at_) all.push_back({*places[end.layer], output});
          source = {add_made("concat", fmt::format("{}/concat_{}", name, output), std::move(all)), 0};
        }
        sources.push_back(source);
      }
      made_.last = add_made("identity", name, std::move(sources));
    }
  }
};

}  // namespace

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

bool is_unrolled(const Section& section) {
  return std::ranges::any_of(kOwnKeys, [&](std::string_view key) { return section.find(key) != nullptr; });
}

Result<Unrolled> unroll(Keys& keys, const Text& file, bool frozen, size_t most, std::deque<Section>& made) {
  return Unroller(keys, file, frozen, made).unroll(most);
}

}  // namespace pantoum::ini
