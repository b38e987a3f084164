#include "problem/certificate_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "problem/question_json.h"

namespace pantoum::problem {
namespace {

using base::JsonNode;
using base::kLargestInteger;
using Json = nlohmann::ordered_json;

constexpr double kMostQuantity = 1e100;
constexpr const char* kRule[] = {"need",     "dep",  "carry",    "stored", "memory", "work",   "move_in",
                                 "move_out", "path", "rounding", "cover",  "spend",  "issued", "flight",
                                 "flow",     "once", "made",     "single", "window"};
constexpr const char* kVariable[] = {"in_ram", "computed", "paged_in", "paged_out"};
constexpr const char* kCaseRows = "rows";

Rule read_rule(const JsonNode& node) {
  return static_cast<Rule>(
      node.one_of({kRule[0], kRule[1], kRule[2], kRule[3], kRule[4], kRule[5], kRule[6], kRule[7], kRule[8], kRule[9],
                   kRule[10], kRule[11], kRule[12], kRule[13], kRule[14], kRule[15], kRule[16], kRule[17], kRule[18]}));
}

Certificate::Row read_row(const JsonNode& node) {
  Certificate::Row row;
  const size_t numbers = node.array();
  if (numbers < 2) {
    node.error("a row has a rule and a multiplier");
    return row;
  }
  row.rule = read_rule(node.item(0));
  row.multiplier = node.item(1).number(0, kMostQuantity);
  for (size_t number = 2; number < numbers; ++number) row.of.push_back(node.item(number).integer(-1, kLargestInteger));
  return row;
}

void read_rows(const JsonNode& node, Certificate& certificate) {
  for (size_t row = 0, rows = node.array(); row < rows; ++row) certificate.rows.push_back(read_row(node.item(row)));
}

Certificate::Case read_case(const JsonNode& node) {
  Certificate::Case entry;
  const size_t numbers = node.array();
  if (numbers == 0) {
    node.error("a case is a decision or has rows");
    return entry;
  }
  const size_t what = node.item(0).one_of({kVariable[0], kVariable[1], kVariable[2], kVariable[3], kCaseRows});
  const auto index = [&](size_t at) {
    return static_cast<int32_t>(node.item(at).integer(0, std::numeric_limits<int32_t>::max()));
  };
  const bool decides = what < std::size(kVariable);
  if (decides ? numbers != 3 : numbers % 2 != 1) {
    node.error(decides ? "a decision has a segment and an index" : "every row of a case has a multiplier");
    return entry;
  }
  if (decides) entry.decision = {static_cast<Variable>(what), index(1), index(2)};
  for (size_t at = 1; !decides && at < numbers; at += 2)
    entry.parts.push_back({index(at), node.item(at + 1).number(0, kMostQuantity)});
  return entry;
}

Json case_json(const Certificate::Case& entry) {
  if (entry.decision)
    return {kVariable[static_cast<size_t>(entry.decision->variable)], entry.decision->segment, entry.decision->index};
  Json json = {kCaseRows};
  for (const Certificate::Part& part : entry.parts) json.push_back(part.row), json.push_back(part.multiplier);
  return json;
}

void read_order(const JsonNode& order, const JsonNode& boundaries, Certificate& certificate) {
  for (size_t op = 0, ops = order.array(); op < ops; ++op)
    certificate.order.push_back(order.item(op).integer(0, kLargestInteger));
  for (size_t segment = 0, segments = boundaries.array(); segment < segments; ++segment)
    certificate.boundaries.push_back(
        static_cast<int32_t>(boundaries.item(segment).integer(0, std::numeric_limits<int32_t>::max())));
}

// As `pantoum.plan/1` has it: the question's parts one by one.
Question read_parts(const JsonNode& node) {
  Question question{.budget = node.need("ram_bytes").integer(0, kLargestInteger),
                    .objective = read_objective(node.need("objective"))};
  if (node.has("deadline_s") && !node.need("deadline_s").null())
    question.deadline = node.need("deadline_s").number(0, kMostQuantity);
  if (node.has("most_energy_j")) question.energy_limit = node.need("most_energy_j").number(0, kMostQuantity);
  question.freedoms = {.paging = node.need("paging").boolean(),
                       .recomputing = node.need("remat").boolean(),
                       .in_place = node.need("in_place").boolean(),
                       .numerics = node.need("any_numerics").boolean()};
  return question;
}

}  // namespace

Certificate read_certificate(const JsonNode& node) {
  Certificate certificate;
  const bool whole = node.has("question");
  if (whole ? !node.object({"question", "bound", "second_price_w", "most_seconds", "order", "any_order", "boundaries",
                            "rows", "cases"})
            : !node.object({"objective", "bound", "ram_bytes", "second_price_w", "deadline_s", "most_energy_j",
                            "most_seconds", "paging", "remat", "in_place", "any_numerics", "order", "boundaries",
                            "rows", "cases"}))
    return certificate;
  certificate.question = whole ? read_question(node.need("question")) : read_parts(node);
  certificate.bound = node.need("bound").number(-kMostQuantity, kMostQuantity);
  if (node.has("second_price_w")) certificate.second_price = node.need("second_price_w").number(0, kMostQuantity);
  if (node.has("most_seconds")) {
    const double most = node.need("most_seconds").number(0, kMostQuantity);
    if (most > 0) certificate.most_seconds = most;
  }
  read_order(node.need("order"), node.need("boundaries"), certificate);
  if (node.has("any_order")) certificate.any_order = node.need("any_order").boolean();
  read_rows(node.need("rows"), certificate);
  if (node.has("cases"))
    for (size_t at = 0, cases = node.need("cases").array(); at < cases; ++at)
      certificate.cases.push_back(read_case(node.need("cases").item(at)));
  return certificate;
}

Json certificate_json(const Certificate& certificate) {
  Json json = {{"question", question_json(certificate.question)}, {"bound", certificate.bound}};
  if (certificate.second_price > 0) json["second_price_w"] = certificate.second_price;
  if (certificate.most_seconds) json["most_seconds"] = *certificate.most_seconds;
  json["order"] = certificate.order;
  if (certificate.any_order) json["any_order"] = true;
  json["boundaries"] = certificate.boundaries;
  json["rows"] = Json::array();
  for (const Certificate::Row& row : certificate.rows) {
    Json numbers = {kRule[static_cast<size_t>(row.rule)], row.multiplier};
    for (const int64_t number : row.of) numbers.push_back(number);
    json["rows"].push_back(std::move(numbers));
  }
  for (const Certificate::Case& entry : certificate.cases) json["cases"].push_back(case_json(entry));
  return json;
}

}  // namespace pantoum::problem
