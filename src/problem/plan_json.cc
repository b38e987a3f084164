#include "problem/plan_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "problem/cost_graph_json.h"
#include "problem/json_fields.h"
#include "problem/objective_values.h"

namespace pantoum::problem {

using base::JsonNode;
using base::kLargestInteger;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char *kPlanCode = "E0230", *kRefusalCode = "E0232";
constexpr double kMostQuantity = 1e100;
constexpr const char* kDo[] = {"compute", "page_out", "page_in", "free"};
constexpr const char* kStatus[] = {"optimal", "feasible"};
constexpr const char* kOrder[] = {"plan", "any"};
constexpr const char* kRule[] = {"need",     "dep",  "carry",    "stored", "memory", "work",   "move_in",
                                 "move_out", "path", "rounding", "cover",  "spend",  "issued", "flight",
                                 "flow",     "once", "made",     "single", "window", "load",   "relay"};
constexpr const char* kCase[] = {"in_ram",    "computed", "paged_in",
                                 "paged_out", "used",     "rows"};  // the variables, and then
constexpr size_t kCaseRows = 5;

// ---- certificates: rows and cases are lists of numbers ----

void read_rows(const JsonNode& node, std::vector<Certificate::Row>& rows) {
  for (size_t index = 0, count = node.array(); index < count; ++index) {
    const JsonNode numbers = node.item(index);
    const size_t size = numbers.array();
    if (size < 2) return numbers.error("a row has a rule and a multiplier");
    Certificate::Row& row = rows.emplace_back();
    row.rule = static_cast<Rule>(numbers.item(0).one_of(kRule));
    row.multiplier = numbers.item(1).number(0, kMostQuantity);
    for (size_t at = 2; at < size; ++at) row.of.push_back(numbers.item(at).integer(-1, kLargestInteger));
  }
}

Certificate::Case read_case(const JsonNode& node) {
  Certificate::Case entry;
  const size_t size = node.array();
  const size_t what = size > 0 ? node.item(0).one_of(kCase) : kCaseRows;
  const bool decides = what < kCaseRows;
  if (decides ? size != 3 : size % 2 != 1) {
    node.error(size == 0 ? "a case is a decision or has rows"
               : decides ? "a decision has a segment and an index"
                         : "every row of a case has a multiplier");
    return entry;
  }
  const auto index = [&](size_t at) {
    return static_cast<int32_t>(node.item(at).integer(0, std::numeric_limits<int32_t>::max()));
  };
  if (decides) entry.decision = {static_cast<Variable>(what), index(1), index(2)};
  for (size_t at = 1; !decides && at < size; at += 2)
    entry.parts.push_back({index(at), node.item(at + 1).number(0, kMostQuantity)});
  return entry;
}

void read_cases(const JsonNode& node, std::vector<Certificate::Case>& cases) {
  for (size_t index = 0, count = node.array(); index < count; ++index) cases.push_back(read_case(node.item(index)));
}

}  // namespace

static void to_json(Json& json, const Certificate::Row& row) {
  json = {kRule[static_cast<size_t>(row.rule)], row.multiplier};
  for (const int64_t number : row.of) json.push_back(number);
}

static void to_json(Json& json, const Certificate::Case& entry) {
  if (entry.decision) {
    const auto& [variable, segment, index] = *entry.decision;
    json = {kCase[static_cast<size_t>(variable)], segment, index};
    return;
  }
  json = Json::array({kCase[kCaseRows]});
  for (const Certificate::Part& part : entry.parts) json.push_back(part.row), json.push_back(part.multiplier);
}

static void describe(JsonFields& fields, Freedoms& freedoms) {
  fields.need("paging", freedoms.paging);
  fields.need("recomputing", freedoms.recomputing);
  fields.need("in_place", freedoms.in_place);
  fields.need("reordering", freedoms.reordering);
  fields.need("numerics", freedoms.numerics);
  fields.rare("one_slot", freedoms.one_slot, false);
}

static void describe(JsonFields& fields, Weights& weights) {
  fields.need("energy", weights.joule);
  fields.need("time", weights.second);
  if (fields.reads() && weights == Weights{0, 0}) fields.wrong("are both 0, so that nothing counts");
}

static void describe(JsonFields& fields, Question& question) {
  fields.need("budget_bytes", question.budget);
  fields.need("deadline_s", question.deadline);
  fields.need("energy_limit_j", question.energy_limit);
  fields.words("objective", question.objective, kObjectiveNames);
  fields.need("freedoms", question.freedoms);
  if (question.objective == Objective::kWeighted) fields.need("weights", question.weights);
}

static void describe(JsonFields& fields, Certificate& certificate) {
  fields.need("question", certificate.question);
  fields.need("bound", certificate.bound, -kMostQuantity);
  fields.rare("second_price_w", certificate.second_price, 0);
  fields.rare("most_seconds", certificate.most_seconds);
  if (certificate.most_seconds == 0) certificate.most_seconds.reset();
  fields.need("order", certificate.order);
  fields.rare("any_order", certificate.any_order, false);
  fields.need("boundaries", certificate.boundaries);
  fields.need_by("rows", certificate.rows, read_rows);
  if (fields.has("cases", !certificate.cases.empty())) fields.need_by("cases", certificate.cases, read_cases);
}

// ---- plans ----

// An offset; -1 where there is none.
static void describe_offset(JsonFields& fields, const char* key, Bytes& at) {
  if (!fields.has(key, at >= 0)) return;
  fields.need_by(key, at, [](const JsonNode& node, Bytes& read) {
    if (!node.null()) read = node.integer(0, kLargestInteger);
  });
}

static void describe(JsonFields& fields, Instruction& step) {
  fields.words("do", step.what, kDo);
  if (step.what != Do::kCompute) {
    fields.need("tensor", step.subject);
    if (step.what != Do::kPageIn) return;
    Bytes at = step.at.empty() ? -1 : step.at.front();
    fields.need("at", at);
    step.at = {at};
    return;
  }
  fields.need("op", step.subject);
  fields.may("choice", step.choice);
  fields.may("at", step.at);
  describe_offset(fields, "workspace_at", step.workspace_at);
}

static void describe(JsonFields& fields, Predicted& predicted) {
  fields.rare("peak_bytes", predicted.peak_bytes, -1);
  fields.rare("arena_bytes", predicted.arena_bytes, -1);
  if (fields.has("time_s", std::isfinite(predicted.time_s))) fields.need("time_s", predicted.time_s);
  if (fields.has("energy_j", std::isfinite(predicted.energy_j))) fields.need("energy_j", predicted.energy_j);
}

static void describe(JsonFields& fields, UnplannedStep& step) {
  fields.need("peak_bytes", step.figures.peak_bytes);
  fields.need("time_s", step.figures.time_s);
  fields.need("energy_j", step.figures.energy_j);
  fields.need("seconds", step.seconds);
  fields.need("bytes", step.bytes);
  if (fields.reads() && step.seconds.size() != step.bytes.size())
    fields.wrong("bytes", fmt::format("has {} items, and \"seconds\" has {}", step.bytes.size(), step.seconds.size()),
                 "plan again");
}

static void describe(JsonFields& fields, Bound& bound) {
  const auto figure = [&](const char* key, std::optional<double>& value) {
    if (value && !std::isfinite(*value)) value.reset();
    fields.rare(key, value);
  };
  figure("energy_j", bound.energy_j);
  figure("time_s", bound.time_s);
  figure("edp_js", bound.edp_js);
  figure("weighted", bound.weighted);
  if (fields.has("order")) fields.words("order", bound.any_order, kOrder);
}

static void describe(JsonFields& fields, SeparatorCount& separator) {
  fields.need("name", separator.name);
  fields.need("on", separator.on);
  fields.need("found", separator.found);
  fields.need("kept", separator.kept);
  fields.need("bound_moved", separator.bound_moved);
  fields.need("seconds", separator.seconds);
}

static void describe_solver(JsonFields& fields, Plan& plan) {
  fields.may("method", plan.method);
  fields.may("seconds", plan.solver_seconds);
  plan.gap = std::max(0.0, plan.gap);
  if (fields.has("gap", std::isfinite(plan.gap))) fields.need("gap", plan.gap);  // JSON has no infinity
  if (fields.has("x-asked_gap"))
    fields.need_by("x-asked_gap", plan.asked_gap, [](const JsonNode& node, double& gap) { gap = node.number(0, 1); });
  if (fields.has("separators", !plan.separators.empty())) fields.need("separators", plan.separators);
}

static void describe_offsets(JsonFields& fields, const char* key, std::map<int64_t, Bytes>& offsets) {
  if (!fields.has(key)) return;
  Json json = Json::object();
  auto& members = json.get_ref<Json::object_t&>();  // appended without the search for a twin: ids are unique
  for (const auto& [id, at] : offsets) members.emplace_back(std::to_string(id), at);
  fields.need_by(key, json, [&](const JsonNode& node, Json&) {
    for (const auto& [id, at] : node.integers_by_id()) offsets.emplace(id, at);
  });
}

// An object that its own room reads; "": there is none.
static void describe_opaque(JsonFields& fields, const char* key, std::string& text) {
  if (!fields.has(key, !text.empty())) return;
  Json json = fields.reads() ? Json() : Json::parse(text);
  fields.need_by(key, json,
                 [&](const JsonNode& node, Json&) { text = node.is_object() ? node.raw()->dump() : std::string(); });
}

// A part that the caller reads after all others.
static void describe_apart(JsonFields& fields, const char* key, Json json) {
  fields.need_by(key, json, [](const JsonNode&, Json&) {});
}

// The keys beside "question" count where they differ from those in it.
static void describe_question(JsonFields& fields, Question& question) {
  fields.part("question", [&](JsonFields& asked) {
    describe(asked, question);
    if (asked.reads() && !question.budget)
      asked.wrong("budget_bytes", "a plan is for some budget", "plan again, with --ram");
  });
  const bool has_weights = question.objective == Objective::kWeighted;
  if (fields.reads()) question.deadline.reset(), question.energy_limit.reset();
  fields.need_by("budget_bytes", question.budget,
                 [](const JsonNode& node, std::optional<Bytes>& budget) { budget = node.integer(0, kLargestInteger); });
  fields.may("deadline_s", question.deadline);
  fields.rare("most_energy_j", question.energy_limit);
  if (fields.has("objective")) fields.words("objective", question.objective, kObjectiveNames);
  if (!fields.reads()) return;
  if (question.objective == Objective::kRam) fields.wrong("objective", "no plan is made for the least RAM");
  if (question.objective == Objective::kWeighted && !has_weights)
    fields.wrong("objective", "is weighted, and the question has no weights", "plan again");
}

static void describe(JsonFields& fields, Plan& plan) {
  fields.schema("pantoum.plan/2");
  describe_question(fields, plan.question);
  describe_offsets(fields, "initial", plan.initial);
  describe_offset(fields, "staging_at", plan.staging_at);
  fields.need("instructions", plan.instructions);
  describe_offsets(fields, "storage", plan.storage);
  if (fields.reads()) plan.predicted = kNothingPredicted;
  fields.may("predicted", plan.predicted);
  fields.may("bound", plan.bound);
  if (fields.has("status")) fields.words("status", plan.status, kStatus);
  if (fields.has("solver"))
    fields.part("solver", [&](JsonFields& solver_fields) { describe_solver(solver_fields, plan); });
  if (fields.has("graph")) describe_apart(fields, "graph", fields.reads() ? Json() : to_json(plan.graph));
  describe_opaque(fields, "x-model", plan.model);
  describe_opaque(fields, "x-request", plan.request);
  describe_opaque(fields, "x-updates", plan.updates);
  fields.rare("x-unplanned", plan.unplanned);
  fields.rare("x-one-engine", plan.one_engine);
  fields.rare("x-certificate", plan.certificate);
  if (fields.has("x-lines", !plan.lines.empty())) fields.need("x-lines", plan.lines);
}

// ---- refusals ----

static void describe_proved(JsonFields& fields, Refusal& refusal) {
  fields.words("of", refusal.of, kObjectiveNames);
  if (refusal.of == Objective::kEdp) fields.wrong("of", "there is no limit on the product of energy and time");
  fields.words("order", refusal.any_order, kOrder);
  if (refusal.of != Objective::kRam) return fields.need("least", refusal.least);
  auto bytes = static_cast<Bytes>(refusal.least);  // bytes are whole
  fields.need("least", bytes);
  refusal.least = static_cast<double>(bytes);
}

static void describe(JsonFields& fields, Refusal& refusal) {
  fields.schema("pantoum.refusal/1");
  fields.part("question", [&](JsonFields& asked) {
    describe(asked, refusal.question);
    if (asked.reads() && !refusal.question.budget) asked.wrong("budget_bytes", "a refusal is for some budget");
  });
  fields.part("proved", [&](JsonFields& proved_fields) { describe_proved(proved_fields, refusal); });
  fields.need("certificate", refusal.certificate);
  Json plan;
  if (refusal.plan) {
    plan = to_json(*refusal.plan);
    plan.erase("graph");
  }
  describe_apart(fields, "plan", std::move(plan));
  describe_apart(fields, "graph", fields.reads() ? Json() : to_json(refusal.graph));
}

namespace {

// `path`: where the plan stands in the document.
Result<Plan> plan_from_json(const nlohmann::json& json, const std::string& where, const std::string& path,
                            bool needs_graph) {
  base::JsonErrors errors{kPlanCode, where, {}};
  const JsonNode root(json, errors, path);
  Plan plan = read_fields<Plan>(root, kMostQuantity);
  if (needs_graph) (void)root.need("graph");
  if (errors.first) return Failure(std::move(*errors.first));
  if (root.has("graph")) {
    PANTOUM_ASSIGN(plan.graph, cost_graph_from_json(json["graph"], where, path.empty() ? "graph" : path + ".graph"));
  }
  return plan;
}

Result<Refusal> refusal_from_json(const nlohmann::json& json, const std::string& where) {
  base::JsonErrors errors{kRefusalCode, where, {}};
  Refusal refusal = read_fields<Refusal>(JsonNode(json, errors), kMostQuantity);
  if (errors.first) return Failure(std::move(*errors.first));
  PANTOUM_ASSIGN(refusal.graph, cost_graph_from_json(json["graph"], where, "graph"));
  if (json["plan"].is_null()) return refusal;
  PANTOUM_ASSIGN(refusal.plan, plan_from_json(json["plan"], where, "plan", false));
  return refusal;
}

}  // namespace

Result<Plan> parse_plan(std::string_view json_text, const std::string& where, bool needs_graph) {
  PANTOUM_ASSIGN(const nlohmann::json json, base::parse_json(json_text, kPlanCode, where));
  return plan_from_json(json, where, {}, needs_graph);
}

Result<Plan> read_plan(const std::string& path) {
  PANTOUM_ASSIGN(const std::string text, base::read_file(path));
  return parse_plan(text, path);
}

Result<std::variant<Plan, Refusal>> parse_answer(std::string_view json_text, const std::string& where) {
  PANTOUM_ASSIGN(const nlohmann::json json, base::parse_json(json_text, kPlanCode, where));
  const bool refuses = json.is_object() && json.contains("schema") && json["schema"].is_string() &&
                       json["schema"].get_ref<const std::string&>().starts_with("pantoum.refusal/");
  if (refuses) {
    PANTOUM_ASSIGN(Refusal refusal, refusal_from_json(json, where));
    return std::variant<Plan, Refusal>(std::move(refusal));
  }
  PANTOUM_ASSIGN(Plan plan, plan_from_json(json, where, {}, true));
  return std::variant<Plan, Refusal>(std::move(plan));
}

Result<std::variant<Plan, Refusal>> read_answer(const std::string& path) {
  PANTOUM_ASSIGN(const std::string text, base::read_file(path));
  return parse_answer(text, path);
}

Json to_json(const Plan& plan) {
  return written_fields(plan);
}

Json to_json(const Refusal& refusal) {
  return written_fields(refusal);
}

Json separators_json(const std::vector<SeparatorCount>& separators) {
  return written_fields(separators);
}

Question read_question(const JsonNode& node) {
  return read_fields<Question>(node, kMostQuantity);
}

Json question_json(const Question& question) {
  return written_fields(question);
}

Result<void> write_plan(const Plan& plan, const std::string& path) {
  return base::write_file_atomically(path, base::json_text(to_json(plan)));
}

Result<void> write_refusal(const Refusal& refusal, const std::string& path) {
  return base::write_file_atomically(path, base::json_text(to_json(refusal)));
}

}  // namespace pantoum::problem
