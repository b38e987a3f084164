#include "pipeline/planned_step.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/json_text.h"
#include "pipeline/request_json.h"
#include "rewrite/rule.h"
#include "settings/fields.h"

namespace pantoum::pipeline {

namespace {

std::vector<BatchPart> parts_of(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  std::vector<BatchPart> parts;
  parts.reserve(values.size());
  for (const ir::ValueId value : values) parts.push_back({graph.value(value).name, graph.value(value).type});
  return parts;
}

double step_energy(const Compiled& compiled) {
  const double energy = compiled.training().found.energy_j;
  const auto micro_batches = static_cast<double>(compiled.model.options.accumulate);
  if (const Program* update = find_program(compiled.programs, kUpdate))
    return micro_batches * energy + update->found.energy_j;
  const Program* accumulation = find_program(compiled.programs, kAccumulate);
  return accumulation == nullptr ? energy : energy + (micro_batches - 1) * accumulation->found.energy_j;
}

}  // namespace

std::vector<std::string> PlannedStep::input_names() const {
  std::vector<std::string> names;
  for (const BatchPart& input : inputs) names.push_back(input.name);
  return names;
}

Result<PlannedStep> finish_step(Compiled& compiled, const PlanRequest& request, const std::string& weights_path) {
  Program& training = compiled.training();
  const ir::Graph& model = compiled.evaluation().graph;
  PlannedStep step{.name = training.graph.name, .model = compiled.model, .settings = request.settings};
  step.notes = training.graph.notes;
  step.planning_notes = compiled.planning_notes;
  step.notes.insert(step.notes.end(), step.planning_notes.begin(), step.planning_notes.end());
  step.warnings = std::move(compiled.warnings);
  PANTOUM_ASSIGN(step.binary, encode_programs(compiled.programs));
  PANTOUM_ASSIGN(step.weight_notes,
                 write_initial_weights(compiled.gives_outputs_alone() ? model : training.graph, compiled.model,
                                       weights_path, compiled.fixed, compiled.computed));
  step.inputs = parts_of(model, model.inputs);
  step.targets = parts_of(model, model.labels);
  step.no_prediction = compiled.no_prediction;
  if (const Program* prediction = find_program(compiled.programs, kPredict))
    for (const std::vector<ir::ValueId>* list : {&prediction->graph.inputs, &prediction->graph.labels})
      for (const ir::ValueId input : *list) step.prediction_inputs.push_back(prediction->graph.value(input).name);
  for (const ir::ValueId input : training.graph.inputs) step.step_inputs.push_back(training.graph.value(input).name);
  if (compiled.has_features()) {
    step.features = step.step_inputs;
    step.feature_row_bytes = feature_bytes(training.graph, 1);
  }
  step.wanted = wanted_of(model);
  step.labels = label_ranges(training.graph, compiled.evaluation().graph);
  step.graph_hash = fmt::format("{:016x}", compiled.graph_hash);
  step.numerics = numerics_of(compiled);
  step.energy_j = step_energy(compiled);
  step.unplanned = compiled.unplanned;
  step.kernels = compiled.kernels;
  step.threads = request.kernel_threads;
  for (const cost::HostEngine& engine : request.engines) {
    step.engines.push_back(engine.opencl ? 0 : engine.threads);
    step.engine_processors.push_back(engine.processors);
    step.opencl_device = engine.opencl.value_or(step.opencl_device);
  }
  if (problem::several_engines(training.cost.graph.device))  // threads stand for another device's engines
    step.engines.resize(std::max(step.engines.size(), request.profile_engines.size()), 1);
  step.found = training.found;
  step.plan = std::move(training.plan);
  return step;
}

Result<PlannedStep> step_of_plan(const problem::Plan& given, const ModelRequest& model, PlanRequest request,
                                 const std::string& weights_path) {
  request.settings.measure = Measure::off;  // the plan has the times that it was made with
  PlanRequest of_its_graph = request;
  of_its_graph.rewrite.search = false;
  PANTOUM_ASSIGN(Compiled compiled, compile_model(model, of_its_graph));
  PANTOUM_TRY(plan_model(compiled, request, &given));
  return finish_step(compiled, request, weights_path);
}

Result<PlanRecord> record_of(const problem::Plan& plan, const std::string& where) {
  if (plan.model.empty() || plan.request.empty())
    return fail("E0293", "the plan does not say which model it is of", where,
                "make it with `pantoum plan MODEL ... -o FILE` or Plan::save");
  PlanRecord record;
  PANTOUM_ASSIGN(record.model, parse_model_json(plan.model, where));
  if (!plan.updates.empty()) {
    PANTOUM_ASSIGN(record.model.updates, parse_updates_json(plan.updates, where));
  }
  PANTOUM_ASSIGN(record.request, parse_request_json(plan.request, where));
  return record;
}

Result<train::TrainerOptions> trainer_options(const PlannedStep& step, const host::KernelSet& kernels,
                                              const TrainerOptions& options) {
  Optimizer optimizer = step.model.options.optimizer;
  const double lr = options.lr.value_or(settings::learning_rate(optimizer));
  if (!std::isfinite(lr) || lr < 0) return fail("E0116", "the learning rate is negative or not finite", "lr");
  if (options.prefetch < 0 || options.prefetch > step.settings.prefetch)
    return fail("E0116",
                fmt::format("{} batches ahead, and the plan has room for {}", options.prefetch, step.settings.prefetch),
                "TrainerOptions::prefetch", "plan with PlanOptions::prefetch");
  train::TrainerOptions made{.page_file = options.page_file.value_or(""),
                             .threads = step.threads,
                             .engines = step.engines,
                             .engine_processors = step.engine_processors,
                             .opencl_device = step.opencl_device,
                             .direct_io = options.direct_io,
                             .encrypt = options.page_encryption,
                             .seed = options.seed,
                             .lr = lr,
                             .micro_batches = step.model.options.accumulate,
                             .plan_hash = step.graph_hash,
                             .kernels = kernels.table(),
                             .kernel_name = kernels.name(),
                             .numerics = step.numerics,
                             .pool = kernels.pool(),
                             .inputs = step.input_names(),
                             .features = step.features,
                             .prefetch = options.prefetch,
                             .preparation = {}};
  for (const ParameterGroup& group : step.model.options.groups) made.groups.push_back({group.lr, group.weight_decay});
  PANTOUM_ASSIGN(made.preparation, preparation_of(options));
  PANTOUM_ASSIGN(made.schedule, train::parse_schedule(options.schedule, "--schedule"));
  return made;
}

namespace {

using Json = nlohmann::ordered_json;

bool changes_bits(const std::vector<Substitution>& made_by) {
  return std::any_of(made_by.begin(), made_by.end(), [](const Substitution& made) {
    const rewrite::Rule* rule = rewrite::find_rule(made.rule.c_str());
    return rule == nullptr || rule->preserves != rewrite::Preserves::kBits;
  });
}

// The class of numerics, by op, of every choice in a plan that differs from the first choice's or that was kept.
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
