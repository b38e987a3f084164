#include "problem/refusal_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/json_reader.h"
#include "base/json_text.h"
#include "problem/certificate_json.h"
#include "problem/cost_graph_json.h"
#include "problem/plan_json.h"
#include "problem/question_json.h"

namespace pantoum::problem {
namespace {

using base::JsonErrors;
using base::JsonNode;

constexpr const char* kRefusalCode = "E0232";
constexpr const char* kRefusalSchema = "pantoum.refusal/1";
constexpr double kMostQuantity = 1e100;

void read_proved(const JsonNode& node, Refusal& refusal) {
  if (!node.object({"of", "least", "order"})) return;
  const JsonNode of = node.need("of");
  refusal.of = read_objective(of);
  if (refusal.of == Objective::kEdp) of.error("there is no limit on the product of energy and time");
  const JsonNode least = node.need("least");
  refusal.least = refusal.of == Objective::kRam ? static_cast<double>(least.integer(0, base::kLargestInteger))
                                                : least.number(0, kMostQuantity);
  refusal.any_order = node.need("order").one_of({"plan", "any"}) == 1;
}

Refusal read_parts(const JsonNode& root) {
  Refusal refusal;
  if (!root.object({"schema", "question", "proved", "certificate", "plan", "graph"})) return refusal;
  if (const std::string schema = root.need("schema").text(); schema != kRefusalSchema)
    root.error(fmt::format("the schema is \"{}\", and this release reads \"{}\"", schema, kRefusalSchema));
  const JsonNode question = root.need("question");
  refusal.question = read_question(question);
  if (!refusal.question.budget) question.need("budget_bytes").error("a refusal is for some budget");
  read_proved(root.need("proved"), refusal);
  if (const JsonNode certificate = root.need("certificate"); !certificate.null())
    refusal.certificate = read_certificate(certificate);
  (void)root.need("plan");
  (void)root.need("graph");
  return refusal;
}

Result<Refusal> refusal_from_json(const nlohmann::json& json, const std::string& where) {
  JsonErrors errors{kRefusalCode, where, {}};
  const JsonNode root(json, errors);
  Refusal refusal = read_parts(root);
  if (errors.first) return Failure(std::move(*errors.first));
  PANTOUM_ASSIGN(refusal.graph, cost_graph_from_json(*root.need("graph").raw(), where, "graph"));
  if (root.need("plan").null()) return refusal;
  PANTOUM_ASSIGN(refusal.plan, plan_from_json(*root.need("plan").raw(), where, "plan", false));
  return refusal;
}

}  // namespace

Result<Refusal> parse_refusal(std::string_view json_text, const std::string& where) {
  PANTOUM_ASSIGN(const nlohmann::json json, base::parse_json(json_text, kRefusalCode, where));
  return refusal_from_json(json, where);
}

Result<std::variant<Plan, Refusal>> parse_answer(std::string_view json_text, const std::string& where) {
  PANTOUM_ASSIGN(const nlohmann::json json, base::parse_json(json_text, "E0230", where));
  const bool refuses = json.is_object() && json.contains("schema") && json["schema"].is_string() &&
                       json["schema"].get_ref<const std::string&>().starts_with("pantoum.refusal/");
  if (refuses) {
    PANTOUM_ASSIGN(Refusal refusal, refusal_from_json(json, where));
    return std::variant<Plan, Refusal>(std::move(refusal));
  }
  PANTOUM_ASSIGN(Plan plan, plan_from_json(json, where, {}));
  return std::variant<Plan, Refusal>(std::move(plan));
}

Result<std::variant<Plan, Refusal>> read_answer(const std::string& path) {
  PANTOUM_ASSIGN(const std::string text, base::read_file(path));
  return parse_answer(text, path);
}

nlohmann::ordered_json to_json(const Refusal& refusal) {
  nlohmann::ordered_json json = {{"schema", kRefusalSchema}, {"question", question_json(refusal.question)}};
  json["proved"] = {{"of", objective_name(refusal.of)}, {"order", refusal.any_order ? "any" : "plan"}};
  nlohmann::ordered_json& least = json["proved"]["least"];
  least = refusal.least;
  if (refusal.of == Objective::kRam) least = static_cast<int64_t>(refusal.least);  // bytes are whole
  json["certificate"] = refusal.certificate ? certificate_json(*refusal.certificate) : nlohmann::ordered_json();
  json["plan"] = nullptr;
  if (refusal.plan) {
    json["plan"] = to_json(*refusal.plan);
    json["plan"].erase("graph");
  }
  json["graph"] = to_json(refusal.graph);
  return json;
}

Result<void> write_refusal(const Refusal& refusal, const std::string& path) {
  return base::write_file_atomically(path, base::json_text(to_json(refusal)));
}

}  // namespace pantoum::problem
