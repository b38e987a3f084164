#include "report/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/foreign_text.h"
#include "base/json_reader.h"
#include "settings/fields.h"

namespace pantoum::report {
namespace {

using Json = nlohmann::ordered_json;
using settings::Field;

// The options of what a plan keeps under these fields, but those named in `without`. A value of another type than an
// option's is none: plan files are a stranger's.
template <class Options>
std::string options_of(const Json& record, const std::vector<std::string>& without = {}) {
  if (!record.is_object()) return "";
  const nlohmann::json known(record);
  Options options;
  std::string words;
  for (const Field& field : settings::fields_of(options)) {
    base::JsonErrors errors{"E0230", "", {}};
    if (!field.is_part && known.contains(field.key)) field.read(base::JsonNode(known.at(field.key), errors));
    const bool is_out = std::find(without.begin(), without.end(), field.setting.name) != without.end();
    if (errors.first || is_out || field.setting.option == nullptr || field.is_default()) continue;
    for (const std::string& text : field.texts())
      words += fmt::format(" {}{}", field.setting.option, field.takes_value ? " " + base::shell_word(text) : "");
  }
  return words;
}

// The question of a bare cost graph, as a plan of a model keeps it.
Json request_of_question(const Json& asked) {
  Json request = Json::object();
  if (!asked.is_object()) return request;
  const auto take = [&](const Json& from, const char* key, const char* as) {
    if (from.contains(key) && !from[key].is_null()) request[as] = from[key];
  };
  take(asked, "budget_bytes", "ram_bytes");
  take(asked, "most_energy_j", "energy_limit_j");
  take(asked, "objective", "objective");
  if (asked.contains("deadline_s") && !asked["deadline_s"].is_null())
    request["deadline"] = {{"step_s", asked["deadline_s"]}};
  if (asked.contains("freedoms") && asked["freedoms"].is_object())
    for (const char* freedom : {"paging", "recomputing", "in_place", "reordering"})
      take(asked["freedoms"], freedom, freedom);
  return request;
}

}  // namespace

std::string command_of(const Json& model, const Json& request, const Json& asked, Followed followed) {
  if (!model.is_object())
    return "pantoum plan --costgraph GRAPH.json" + options_of<PlanOptions>(request_of_question(asked)) +
           " -o plan.json";
  const bool trains = followed == Followed::kByTraining;
  const bool has_path = model.contains("path") && model["path"].is_string();
  std::string line = fmt::format("pantoum {} {}", trains ? "train" : "plan",
                                 has_path ? base::shell_word(model["path"].get<std::string>()) : "MODEL.onnx");
  line += options_of<ModelOptions>(model) + options_of<Device>(request);
  if (trains)
    return line + options_of<PlanOptions>(request, {"steps", "samples"}) + " --data DATA -o trained.safetensors";
  const char* board = "\npantoum emit plan.json --target TARGET --data DATA -o project\npantoum run-firmware project";
  return line + options_of<PlanOptions>(request) + " -o plan.json" + (followed == Followed::kByBoard ? board : "");
}

}  // namespace pantoum::report
