#include "problem/plan_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_reader.h"
#include "base/json_text.h"
#include "problem/certificate_json.h"
#include "problem/cost_graph_json.h"
#include "problem/question_json.h"

namespace pantoum::problem {
namespace {

using base::JsonErrors;
using base::JsonNode;
using base::kLargestInteger;

constexpr const char* kCode = "E0230";
constexpr const char* kSchema = "pantoum.plan/2";
constexpr const char* kFirstSchema = "pantoum.plan/1";  // without the question
constexpr const char* kQuestion = "question";
constexpr const char* kCertificate = "x-certificate";
constexpr const char* kLines = "x-lines";
constexpr const char* kModel = "x-model";
constexpr const char* kRequest = "x-request";
constexpr const char* kAskedGap = "x-asked_gap";
constexpr double kMostQuantity = 1e100;
constexpr const char* kDo[] = {"compute", "page_out", "page_in", "free"};
constexpr const char* kStatus[] = {"optimal", "feasible"};

int64_t count(const JsonNode& node) {
  return node.integer(0, kLargestInteger);
}
double quantity(const JsonNode& node) {
  return node.number(0, kMostQuantity);
}

Instruction read_compute(const JsonNode& node) {
  Instruction step;
  if (!node.object({"do", "op", "choice", "at", "workspace_at"})) return step;
  step.subject = count(node.need("op"));
  if (node.has("choice"))
    step.choice = static_cast<int>(node.need("choice").integer(0, std::numeric_limits<int>::max()));
  if (node.has("at")) {
    const JsonNode at = node.need("at");
    step.at.resize(at.array());
    for (size_t output = 0; output < step.at.size(); ++output) step.at[output] = count(at.item(output));
  }
  if (node.has("workspace_at") && !node.need("workspace_at").null())
    step.workspace_at = count(node.need("workspace_at"));
  return step;
}

Instruction read_page_in(const JsonNode& node) {
  Instruction step;
  if (!node.object({"do", "tensor", "at"})) return step;
  step.subject = count(node.need("tensor"));
  step.at = {count(node.need("at"))};
  return step;
}

Instruction read_move(const JsonNode& node) {
  Instruction step;
  if (node.object({"do", "tensor"})) step.subject = count(node.need("tensor"));
  return step;
}

Instruction read_instruction(const JsonNode& node) {
  if (!node.object({"do", "op", "choice", "at", "workspace_at", "tensor"})) return {};
  const Do what = static_cast<Do>(node.need("do").one_of({kDo[0], kDo[1], kDo[2], kDo[3]}));
  Instruction step = what == Do::kCompute  ? read_compute(node)
                     : what == Do::kPageIn ? read_page_in(node)
                                           : read_move(node);
  step.what = what;
  return step;
}

// What a file does not predict cannot be refuted: -1 and NaN (see check/replay.h).
Predicted read_predicted(const JsonNode& root) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  Predicted predicted{.peak_bytes = -1, .arena_bytes = -1, .time_s = none, .energy_j = none};
  if (!root.has("predicted")) return predicted;
  const JsonNode node = root.need("predicted");
  if (!node.object({"peak_bytes", "arena_bytes", "time_s", "energy_j"})) return predicted;
  if (node.has("peak_bytes")) predicted.peak_bytes = count(node.need("peak_bytes"));
  if (node.has("arena_bytes")) predicted.arena_bytes = count(node.need("arena_bytes"));
  if (node.has("time_s")) predicted.time_s = quantity(node.need("time_s"));
  if (node.has("energy_j")) predicted.energy_j = quantity(node.need("energy_j"));
  return predicted;
}

Bound read_bound(const JsonNode& root) {
  Bound bound;
  if (!root.has("bound")) return bound;
  const JsonNode node = root.need("bound");
  if (!node.object({"energy_j", "time_s", "edp_js", "weighted", "order"})) return bound;
  if (node.has("energy_j")) bound.energy_j = quantity(node.need("energy_j"));
  if (node.has("edp_js")) bound.edp_js = quantity(node.need("edp_js"));
  if (node.has("time_s")) bound.time_s = quantity(node.need("time_s"));
  if (node.has("weighted")) bound.weighted = quantity(node.need("weighted"));
  if (node.has("order")) bound.any_order = node.need("order").one_of({"plan", "any"}) == 1;
  return bound;
}

SeparatorCount read_separator(const JsonNode& node) {
  if (!node.object({"name", "on", "found", "kept", "bound_moved", "seconds"})) return {};
  return {.name = node.need("name").text(),
          .on = node.need("on").boolean(),
          .found = count(node.need("found")),
          .kept = count(node.need("kept")),
          .bound_moved = quantity(node.need("bound_moved")),
          .seconds = quantity(node.need("seconds"))};
}

void read_solver(const JsonNode& root, Plan& plan) {
  if (!root.has("solver")) return;
  const JsonNode node = root.need("solver");
  if (!node.object({"method", "seconds", "gap", "separators"})) return;
  if (node.has("method")) plan.method = node.need("method").text();
  if (node.has("seconds")) plan.solver_seconds = quantity(node.need("seconds"));
  if (node.has("gap")) plan.gap = quantity(node.need("gap"));
  if (node.has(kAskedGap)) plan.asked_gap = quantity(node.need(kAskedGap));
  if (!node.has("separators")) return;
  const JsonNode separators = node.need("separators");
  for (size_t each = 0, count = separators.array(); each < count; ++each)
    plan.separators.push_back(read_separator(separators.item(each)));
}

std::map<int64_t, Bytes> read_offsets(const JsonNode& root, const char* key) {
  if (!root.has(key)) return {};
  const auto entries = root.need(key).integers_by_id();
  return {entries.begin(), entries.end()};
}

// The keys beside the question, which are all that `pantoum.plan/1` has of it.
Question read_parts(const JsonNode& root) {
  Question question{.budget = count(root.need("budget_bytes"))};
  if (root.has("deadline_s") && !root.need("deadline_s").null()) question.deadline = quantity(root.need("deadline_s"));
  if (root.has("most_energy_j") && !root.need("most_energy_j").null())
    question.energy_limit = quantity(root.need("most_energy_j"));
  if (root.has("objective")) question.objective = read_objective(root.need("objective"));
  if (question.objective == Objective::kRam) root.need("objective").error("no plan is made for the least RAM");
  return question;
}

// A `pantoum.plan/1` does not say what it was free to do: everything, so that its bound must hold for all plans.
Question read_asked(const JsonNode& root, bool whole) {
  Question parts = read_parts(root);
  if (!whole) {
    if (parts.objective == Objective::kWeighted)
      root.need("objective").error("is weighted, and plans of this version have no weights");
    parts.freedoms.numerics = true;
    return parts;
  }
  // What tools of the first version read and write is what counts where the two differ.
  const JsonNode asked = root.need(kQuestion);
  const Question question = read_question(asked);
  if (!question.budget) asked.need("budget_bytes").error("a plan is for some budget", "plan again, with --ram");
  parts.freedoms = question.freedoms;
  parts.weights = question.weights;
  if (parts.objective == Objective::kWeighted && question.objective != Objective::kWeighted)
    root.need("objective").error("is weighted, and the question has no weights", "plan again");
  return parts;
}

// An object that its own room reads; "" where there is none.
std::string read_opaque(const JsonNode& root, const char* key) {
  if (!root.has(key)) return {};
  const JsonNode node = root.need(key);
  return node.is_object() ? node.raw()->dump() : "";
}

Plan read_body(const JsonNode& root, const JsonErrors& errors) {
  Plan plan;
  const bool known =
      root.object({"schema", "question", "budget_bytes", "deadline_s", "most_energy_j", "objective", "initial",
                   "staging_at", "instructions", "storage", "predicted", "bound", "status", "solver", "graph"});
  if (!known) return plan;
  const std::string schema = root.need("schema").text();
  if (schema != kSchema && schema != kFirstSchema)
    root.error(
        fmt::format("the schema is \"{}\", and this release reads \"{}\" and \"{}\"", schema, kFirstSchema, kSchema));
  plan.initial = read_offsets(root, "initial");
  if (root.has("staging_at") && !root.need("staging_at").null()) plan.staging_at = count(root.need("staging_at"));
  const JsonNode instructions = root.need("instructions");
  for (size_t step = 0, steps = instructions.array(); step < steps && !errors.first; ++step)
    plan.instructions.push_back(read_instruction(instructions.item(step)));
  plan.storage = read_offsets(root, "storage");
  plan.predicted = read_predicted(root);
  plan.bound = read_bound(root);
  if (root.has("status")) plan.status = static_cast<Status>(root.need("status").one_of({kStatus[0], kStatus[1]}));
  read_solver(root, plan);
  if (root.has(kCertificate)) plan.certificate = read_certificate(root.need(kCertificate));
  plan.model = read_opaque(root, kModel);
  plan.request = read_opaque(root, kRequest);
  if (root.has(kLines))
    for (size_t line = 0, lines = root.need(kLines).array(); line < lines; ++line)
      plan.lines.push_back(read_certificate(root.need(kLines).item(line)));
  plan.schema = schema == kSchema ? 2 : 1;
  plan.question = read_asked(root, schema == kSchema);
  return plan;
}

using Json = nlohmann::ordered_json;

Json instruction_json(const Instruction& step) {
  Json json = {{"do", kDo[static_cast<size_t>(step.what)]}};
  if (step.what != Do::kCompute) {
    json["tensor"] = step.subject;
    if (step.what == Do::kPageIn) json["at"] = step.at.empty() ? -1 : step.at.front();
    return json;
  }
  json["op"] = step.subject;
  json["choice"] = step.choice;
  json["at"] = step.at;
  if (step.workspace_at >= 0) json["workspace_at"] = step.workspace_at;
  return json;
}

Json offsets_json(const std::map<int64_t, Bytes>& offsets) {
  Json json = Json::object();
  auto& members = json.get_ref<Json::object_t&>();  // appended without the search for a twin: ids are unique
  for (const auto& [id, at] : offsets) members.emplace_back(std::to_string(id), at);
  return json;
}

Json predicted_json(const Predicted& predicted) {
  Json json = Json::object();
  if (predicted.peak_bytes >= 0) json["peak_bytes"] = predicted.peak_bytes;
  if (predicted.arena_bytes >= 0) json["arena_bytes"] = predicted.arena_bytes;
  if (std::isfinite(predicted.time_s)) json["time_s"] = predicted.time_s;
  if (std::isfinite(predicted.energy_j)) json["energy_j"] = predicted.energy_j;
  return json;
}

Json solver_json(const Plan& plan) {
  Json json = {{"method", plan.method}, {"seconds", plan.solver_seconds}};
  if (std::isfinite(plan.gap)) json["gap"] = std::max(0.0, plan.gap);  // JSON has no infinity
  json[kAskedGap] = plan.asked_gap;
  if (!plan.separators.empty()) json["separators"] = separators_json(plan.separators);
  return json;
}

Json bound_json(const Bound& bound) {
  Json json = Json::object();
  if (bound.energy_j && std::isfinite(*bound.energy_j)) json["energy_j"] = *bound.energy_j;
  if (bound.time_s && std::isfinite(*bound.time_s)) json["time_s"] = *bound.time_s;
  if (bound.edp_js && std::isfinite(*bound.edp_js)) json["edp_js"] = *bound.edp_js;
  if (bound.weighted && std::isfinite(*bound.weighted)) json["weighted"] = *bound.weighted;
  json["order"] = bound.any_order ? "any" : "plan";
  return json;
}

}  // namespace

Result<Plan> parse_plan(std::string_view json_text, const std::string& where, bool needs_graph) {
  PANTOUM_ASSIGN(const nlohmann::json json, base::parse_json(json_text, kCode, where));
  return plan_from_json(json, where, {}, needs_graph);
}

Result<Plan> plan_from_json(const nlohmann::json& json, const std::string& where, const std::string& path,
                            bool needs_graph) {
  JsonErrors errors{kCode, where, {}};
  const JsonNode root(json, errors, path);
  Plan plan = read_body(root, errors);
  if (needs_graph) (void)root.need("graph");
  if (errors.first) return Failure(std::move(*errors.first));
  if (root.has("graph")) {
    PANTOUM_ASSIGN(plan.graph,
                   cost_graph_from_json(*root.need("graph").raw(), where, path.empty() ? "graph" : path + ".graph"));
  }
  return plan;
}

Result<Plan> read_plan(const std::string& path) {
  PANTOUM_ASSIGN(const std::string text, base::read_file(path));
  return parse_plan(text, path);
}

Json to_json(const Plan& plan) {
  const Question& question = plan.question;
  Json json = {{"schema", kSchema}, {kQuestion, question_json(question)}};
  json["budget_bytes"] = question.budget ? Json(*question.budget) : Json();  // null is malformed, as no budget is
  json["deadline_s"] = question.deadline ? Json(*question.deadline) : Json();
  if (question.energy_limit) json["most_energy_j"] = *question.energy_limit;
  json["objective"] = objective_name(question.objective);
  json["initial"] = offsets_json(plan.initial);
  if (plan.staging_at >= 0) json["staging_at"] = plan.staging_at;
  json["instructions"] = Json::array();
  for (const Instruction& step : plan.instructions) json["instructions"].push_back(instruction_json(step));
  json["storage"] = offsets_json(plan.storage);
  json["predicted"] = predicted_json(plan.predicted);
  json["bound"] = bound_json(plan.bound);
  json["status"] = kStatus[static_cast<size_t>(plan.status)];
  json["solver"] = solver_json(plan);
  json["graph"] = to_json(plan.graph);
  if (!plan.model.empty()) json[kModel] = Json::parse(plan.model);
  if (!plan.request.empty()) json[kRequest] = Json::parse(plan.request);
  if (plan.certificate) json[kCertificate] = certificate_json(*plan.certificate);
  for (const Certificate& line : plan.lines) json[kLines].push_back(certificate_json(line));
  return json;
}

Json separators_json(const std::vector<SeparatorCount>& separators) {
  Json json = Json::array();
  for (const SeparatorCount& each : separators)
    json.push_back({{"name", each.name},
                    {"on", each.on},
                    {"found", each.found},
                    {"kept", each.kept},
                    {"bound_moved", each.bound_moved},
                    {"seconds", each.seconds}});
  return json;
}

Result<void> write_plan(const Plan& plan, const std::string& path) {
  return base::write_file_atomically(path, base::json_text(to_json(plan)));
}

}  // namespace pantoum::problem
