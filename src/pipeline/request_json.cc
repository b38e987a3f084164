#include "pipeline/request_json.h"

#include <fmt/format.h>

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
