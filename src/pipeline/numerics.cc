#include "pipeline/numerics.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/json_text.h"
#include "rewrite/rule.h"

namespace pantoum::pipeline {
namespace {

using Json = nlohmann::ordered_json;

bool changes_bits(const std::vector<Substitution>& made_by) {
  return std::any_of(made_by.begin(), made_by.end(), [](const Substitution& made) {
    const rewrite::Rule* rule = rewrite::find_rule(made.rule.c_str());
    return rule == nullptr || rule->preserves != rewrite::Preserves::kBits;
  });
}

// By op: the class of every choice that a plan takes and that is not the first one's, or that was kept.
std::map<std::string, std::string> classes_of(const problem::Plan& plan, const problem::CostGraph& graph,
                                              std::map<std::string, std::string> classes) {
  std::unordered_map<int64_t, const problem::Op*> ops;
  for (const problem::Op& op : graph.ops) ops.emplace(op.id, &op);
  for (const problem::Instruction& step : plan.instructions) {
    if (step.what != problem::Do::kCompute) continue;
    const problem::Op& op = *ops.at(step.subject);
    const std::string& numerics = op.choices[static_cast<size_t>(step.choice)].numerics;
    if (numerics != op.choices.front().numerics) classes[op.name] = numerics;
  }
  return classes;
}

}  // namespace

std::string numerics_of(const Compiled& compiled) {
  const Program& training = compiled.training();
  const auto classes = classes_of(training.plan, training.cost.graph, compiled.kept_classes);
  if (classes.empty() && !compiled.attention && !changes_bits(compiled.made_by)) return "";
  Json json{{"substitutions", Json::array()}, {"classes", Json(classes)}};
  for (const Substitution& made : compiled.made_by)
    json["substitutions"].push_back({{"rule", made.rule}, {"at", made.at}});
  if (compiled.attention) json["attention"] = true;
  return base::ascii_json(json);
}

Result<void> keep_numerics(const std::string& numerics, const std::string& where, PlanRequest& request) {
  request.options.question.freedoms.numerics = false;
  if (numerics.empty()) return {};
  request.rewrite.search = false;
  try {
    const Json json = Json::parse(numerics);
    for (const Json& made : json.at("substitutions"))
      request.rewrite.substitutions.push_back({made.at("rule").get<std::string>(), made.at("at").get<std::string>()});
    for (const auto& [op, name] : json.at("classes").items())
      request.rewrite.classes.emplace(op, name.get<std::string>());
    request.rewrite.attention = json.value("attention", false);
  } catch (const Json::exception& wrong) {
    return fail("E0243", std::string("what its ops were computed by is damaged: ") + wrong.what(), where,
                "resume from an older checkpoint, or begin with these weights: --weights");
  }
  return {};
}

}  // namespace pantoum::pipeline
