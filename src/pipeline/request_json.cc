#include "pipeline/request_json.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/json_text.h"
#include "settings/fields.h"

namespace pantoum::pipeline {
namespace {

using base::JsonNode;
using Json = nlohmann::ordered_json;
using settings::fields_of;

constexpr const char* kCode = "E0230";

settings::Fields fields_of_request(Device& device, PlanOptions& options) {
  settings::Fields fields = fields_of(device);
  for (settings::Field& field : fields_of(options)) fields.push_back(std::move(field));
  return fields;
}

// What a plan chose; a run that takes the plan is pinned to it.
void read_choice(const JsonNode& node, RewriteOptions& rewrite) {
  const auto flag = [&](const char* key, bool& value) {
    if (node.has(key)) value = node.need(key).boolean();
  };
  flag("algorithms", rewrite.algorithms);
  flag("remaking", rewrite.remake);
  flag("attention", rewrite.attention);
  if (!node.has("substitutions")) return;
  const JsonNode list = node.need("substitutions");
  rewrite.substitutions.resize(list.array());
  for (size_t at = 0; at < rewrite.substitutions.size(); ++at)
    if (const JsonNode item = list.item(at); item.object({"rule", "at"}))
      rewrite.substitutions[at] = {item.need("rule").text(), item.need("at").text()};
}

Json choice_schemas() {
  const Json flag{{"type", "boolean"}}, text{{"type", "string"}};
  return {{"algorithms", flag},
          {"remaking", flag},
          {"attention", flag},
          {"substitutions",
           {{"type", "array"},
            {"items",
             {{"type", "object"},
              {"properties", {{"rule", text}, {"at", text}}},
              {"required", {"rule", "at"}},
              {"additionalProperties", false}}}}}};
}

// Reads with `fill`, which is given the document's root.
template <class Fill>
Result<void> read(const std::string& text, const std::string& where, const char* path, const Fill& fill) {
  PANTOUM_ASSIGN(const nlohmann::json json, base::parse_json(text, kCode, where));
  base::JsonErrors errors{kCode, where, {}};
  fill(JsonNode(json, errors, path));
  if (errors.first) return Failure(std::move(*errors.first));
  return {};
}

Failure damaged(Error error, const std::string& where, const char* path) {
  return fail(kCode, error.message, fmt::format("{}: {}: {}", where, path, error.where), error.help);
}

}  // namespace

std::string model_json(const ModelRequest& model) {
  Json json{{"path", model.path}};
  json.update(settings::record_of(fields_of(const_cast<ModelOptions&>(model.options))));
  return base::ascii_json(json);
}

std::string request_json(const PlanRequest& request) {
  Device device{request.device};
  Json json = settings::record_of(fields_of_request(device, const_cast<PlanOptions&>(request.settings)));
  json["algorithms"] = request.rewrite.algorithms;
  json["remaking"] = request.rewrite.remake;
  json["attention"] = request.rewrite.attention;
  json["substitutions"] = Json::array();
  for (const Substitution& made : request.rewrite.substitutions)
    json["substitutions"].push_back({{"rule", made.rule}, {"at", made.at}});
  return base::ascii_json(json);
}

nlohmann::ordered_json updates_json(const ChosenUpdates& updates) {
  const problem::Predicted& all = updates.all;
  return {{"within", updates.within},
          {"tensors", updates.tensors},
          {"of_tensors", updates.of_tensors},
          {"contribution", updates.contribution},
          {"of_all", updates.of_all},
          {"best", updates.best},
          {"plans", updates.plans},
          {"all", {{"peak_bytes", all.peak_bytes}, {"time_s", all.time_s}, {"energy_j", all.energy_j}}}};
}

Result<ChosenUpdates> parse_updates_json(const std::string& text, const std::string& where) {
  constexpr int64_t kMost = int64_t{1} << 53;
  constexpr double kLargest = std::numeric_limits<double>::max();
  ChosenUpdates updates;
  PANTOUM_TRY(read(text, where, "x-updates", [&](const JsonNode& node) {
    if (!node.object({"within", "tensors", "of_tensors", "contribution", "of_all", "best", "plans", "all"})) return;
    const JsonNode tensors = node.need("tensors"), all = node.need("all");
    updates.within = node.need("within").text();
    updates.tensors.resize(tensors.array());
    for (size_t at = 0; at < updates.tensors.size(); ++at) updates.tensors[at] = tensors.item(at).text();
    updates.of_tensors = node.need("of_tensors").integer(0, kMost);
    updates.contribution = node.need("contribution").number(0, kLargest);
    updates.of_all = node.need("of_all").number(0, kLargest);
    updates.best = node.need("best").boolean();
    updates.plans = node.need("plans").integer(0, kMost);
    if (!all.object({"peak_bytes", "time_s", "energy_j"})) return;
    updates.all = {.peak_bytes = all.need("peak_bytes").integer(0, kMost),
                   .time_s = all.need("time_s").number(0, kLargest),
                   .energy_j = all.need("energy_j").number(0, kLargest)};
  }));
  return updates;
}

Result<ModelRequest> parse_model_json(const std::string& text, const std::string& where) {
  ModelRequest model;
  PANTOUM_TRY(read(text, where, "x-model", [&](const JsonNode& node) {
    settings::read_record(fields_of(model.options), node, {"path"});
    if (node.has("path")) model.path = node.need("path").text();
  }));
  return model;
}

Result<PlanRequest> parse_request_json(const std::string& text, const std::string& where) {
  Device device;
  PlanOptions options;
  RewriteOptions choice;
  PANTOUM_TRY(read(text, where, "x-request", [&](const JsonNode& node) {
    settings::read_record(fields_of_request(device, options), node,
                          {"algorithms", "remaking", "attention", "substitutions"});
    read_choice(node, choice);
  }));
  // A plan without an objective was made when energy was every device's.
  Result<PlanRequest> request = plan_request(device.name, std::move(options), "energy");
  if (!request) return damaged(std::move(request).error(), where, "x-request");
  choice.search = request->rewrite.search;
  choice.without = std::move(request->rewrite.without);
  request->rewrite = std::move(choice);
  return request;
}

nlohmann::ordered_json record_schemas() {
  ModelOptions model;
  Device device;
  PlanOptions options;
  return {{"x-model", settings::schema_of(fields_of(model), {{"path", {{"type", "string"}}}})},
          {"x-request", settings::schema_of(fields_of_request(device, options), choice_schemas())}};
}

Result<void> take_graph_of(const problem::Plan& plan, RewriteOptions& rewrite) {
  rewrite.search = false;
  if (plan.request.empty()) return {};  // a bare cost graph's
  PANTOUM_ASSIGN(const PlanRequest made, parse_request_json(plan.request, "x-request"));
  rewrite.substitutions = made.rewrite.substitutions;
  rewrite.algorithms = made.rewrite.algorithms;
  rewrite.remake = made.rewrite.remake;
  rewrite.attention = made.rewrite.attention;
  return {};
}

}  // namespace pantoum::pipeline
