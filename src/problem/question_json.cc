#include "problem/question_json.h"

#include <nlohmann/json.hpp>

namespace pantoum::problem {
namespace {

using base::JsonNode;
using Json = nlohmann::ordered_json;

constexpr double kMostLimit = 1e100;
constexpr const char* kObjective[] = {"energy", "time", "edp", "ram", "weighted"};

std::optional<double> read_limit(const JsonNode& node) {
  if (node.null()) return std::nullopt;
  return node.number(0, kMostLimit);
}

Weights read_weights(const JsonNode& node) {
  if (!node.object({"energy", "time"})) return {};
  const Weights weights{node.need("energy").number(0, kMostLimit), node.need("time").number(0, kMostLimit)};
  if (weights == Weights{0, 0}) node.error("are both 0, so that nothing counts");
  return weights;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace

const char* objective_name(Objective objective) {
  return kObjective[static_cast<size_t>(objective)];
}

Objective read_objective(const JsonNode& node) {
  return static_cast<Objective>(
      node.one_of({kObjective[0], kObjective[1], kObjective[2], kObjective[3], kObjective[4]}));
}

Question read_question(const JsonNode& node) {
  Question question;
  if (!node.object({"budget_bytes", "deadline_s", "energy_limit_j", "objective", "weights", "freedoms"}))
    return question;
  if (const JsonNode budget = node.need("budget_bytes"); !budget.null())
    question.budget = budget.integer(0, base::kLargestInteger);
  question.deadline = read_limit(node.need("deadline_s"));
  question.energy_limit = read_limit(node.need("energy_limit_j"));
  question.objective = read_objective(node.need("objective"));
  if (question.objective == Objective::kWeighted) question.weights = read_weights(node.need("weights"));
  const JsonNode freedoms = node.need("freedoms");
  if (freedoms.object({"paging", "recomputing", "in_place", "reordering", "numerics"}))
    question.freedoms = {.paging = freedoms.need("paging").boolean(),
                         .recomputing = freedoms.need("recomputing").boolean(),
                         .in_place = freedoms.need("in_place").boolean(),
                         .reordering = freedoms.need("reordering").boolean(),
                         .numerics = freedoms.need("numerics").boolean()};
  return question;
}

Json question_json(const Question& question) {
  const Freedoms& freedoms = question.freedoms;
  Json json = {{"budget_bytes", or_null(question.budget)},
               {"deadline_s", or_null(question.deadline)},
               {"energy_limit_j", or_null(question.energy_limit)},
               {"objective", objective_name(question.objective)},
               {"freedoms",
                {{"paging", freedoms.paging},
                 {"recomputing", freedoms.recomputing},
                 {"in_place", freedoms.in_place},
                 {"reordering", freedoms.reordering},
                 {"numerics", freedoms.numerics}}}};
  if (question.objective == Objective::kWeighted)
    json["weights"] = {{"energy", question.weights.joule}, {"time", question.weights.second}};
  return json;
}

}  // namespace pantoum::problem
