#include "pipeline/prepare_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "data/label_range.h"
#include "pipeline/numerics.h"
#include "pipeline/request_json.h"
#include "plan/planner.h"
#include "problem/plan_json.h"
#include "train/feature_cache.h"

namespace pantoum::pipeline {
namespace {

std::vector<std::string> names_of(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const ir::ValueId value : values) names.push_back(graph.value(value).name);
  return names;
}

void tell(const Listener& listener, const std::string& note) {
  if (listener.note) listener.note(note);
}

// Of the file that keeps them on the host: a sum is beside each.
int64_t feature_cache_bytes(const ir::Graph& training, int64_t samples) {
  return feature_bytes(training, samples) +
         samples * static_cast<int64_t>(training.inputs.size() * train::FeatureCache::kSealBytes);
}

struct CompiledWithData {
  Compiled compiled;
  data::TrainTest data;
};

// What would end the run later is told before anything is measured or planned: too few samples, samples that do not fit,
// labels that are no class, weights that are not the model's.
Result<void> check_before_planning(const TrainingRequest& request, const data::TrainTest& data,
                                   const ir::Graph& training, const ir::Graph& model) {
  PANTOUM_TRY(check_fit(data, request.data.preparation, model));
  const int64_t samples = data.train.count(), batch = model.value(model.labels.front()).type.shape.front();
  if (samples < batch)
    return fail("E0262", fmt::format("the data hold {} samples, fewer than a batch of {}", samples, batch),
                request.data.path, "use a smaller --batch or more data");
  PANTOUM_TRY(check_labels(data, training));
  return check_initial_weights(training, request.model.weights);
}

// The number of samples says whether their features fit; the graph says how the samples are read.
Result<CompiledWithData> compile_with_data(const TrainingRequest& request, const Listener& listener) {
  ModelOptions model = request.model;
  if (model.feature_cache && request.data.preparation.augmentation.any()) {
    tell(listener, "--augment changes the samples in every epoch: no features are kept");
    model.feature_cache.reset();
  }
  CompiledWithData made;
  PlanRequest plan = request.plan;
  plan.measure.only_known = request.reuse != nullptr;  // a plan has the times that it was made with
  if (request.reuse != nullptr) PANTOUM_TRY(take_graph_of(*request.reuse, plan.rewrite));
  plan.graphs_made = [&](const ir::Graph& training, const ir::Graph& evaluation) -> Result<void> {
    PANTOUM_ASSIGN(made.data, open_training_data(request.data, evaluation));
    return check_before_planning(request, made.data, training, evaluation);
  };
  PANTOUM_ASSIGN(made.compiled, compile_model(model, plan, listener.dump));
  if (!model.feature_cache) return made;
  const int64_t bytes = feature_cache_bytes(made.compiled.training().graph, made.data.train.count());
  if (bytes <= *model.feature_cache) return made;
  tell(listener,
       fmt::format("the features take {}, more than --feature-cache: none are kept", base::show_bytes(bytes)));
  model.feature_cache.reset();
  plan.graphs_made = {};
  PANTOUM_ASSIGN(made.compiled, compile_model(model, plan, listener.dump));
  return made;
}

// The question of a plan, without what its answer chose, and without the freedom of numerics, of which a resumed run
// keeps what was made.
nlohmann::json question_of_request(const std::string& request) {
  nlohmann::json question = nlohmann::json::parse(request, nullptr, false);
  if (!question.is_object()) return question;
  for (const char* chosen : {"rewriting", "substitutions", "remaking", "attention"}) question.erase(chosen);
  if (const auto freedoms = question.find("freedoms"); freedoms != question.end() && freedoms->is_object())
    freedoms->erase("numerics");
  return question;
}

// A plan of another question that stands where this one goes stays beside it.
Result<void> keep_other_plan(const std::string& path, const problem::Plan& plan, const Listener& listener) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  const Result<problem::Plan> old = problem::read_plan(path);
  const auto parsed = [](const std::string& text) { return nlohmann::json::parse(text, nullptr, false); };
  const bool same = old && parsed(old->model) == parsed(plan.model) &&
                    question_of_request(old->request) == question_of_request(plan.request);
  if (same) return {};
  const std::string kept = path + ".previous";
  std::filesystem::rename(path, kept, ignored);
  if (ignored)
    return fail("E0901", "the plan that stands there cannot be kept under another name", kept,
                "name another file with --plan-out");
  tell(listener, fmt::format("{} was the plan of another run: it is {} now", path, kept));
  return {};
}

double step_energy(const Compiled& compiled) {
  const double energy = compiled.training().found.energy_j;
  const auto micro_batches = static_cast<double>(compiled.model.training.accumulate);
  if (const Program* update = find_program(compiled.programs, kUpdate))
    return micro_batches * energy + update->found.energy_j;
  const Program* accumulation = find_program(compiled.programs, kAccumulate);
  return accumulation == nullptr ? energy : energy + (micro_batches - 1) * accumulation->found.energy_j;
}

Result<PreparedTraining> prepared(const Compiled& compiled, data::TrainTest data) {
  const Program& training = compiled.training();
  const ir::Graph& model = compiled.evaluation().graph;
  PreparedTraining made{.kernels = compiled.kernels, .data = std::move(data)};
  PANTOUM_ASSIGN(made.binary, encode_programs(compiled.programs));
  made.inputs = names_of(model, model.inputs);
  if (compiled.has_features()) {
    made.features = names_of(training.graph, training.graph.inputs);
    made.feature_bytes = feature_cache_bytes(training.graph, made.data.train.count());
  }
  made.graph_hash = fmt::format("{:016x}", compiled.graph_hash);
  made.numerics = numerics_of(compiled);
  made.energy_j = step_energy(compiled);
  made.labels = label_ranges(training.graph);
  made.budget_bytes = training.plan.question.budget_bytes();
  made.unplanned_peak_bytes = compiled.unplanned.peak_bytes;
  return made;
}

}  // namespace

Result<PreparedTraining> prepare_training(const TrainingRequest& request, const Listener& listener,
                                          plan::Infeasible* infeasible) {
  PANTOUM_ASSIGN(CompiledWithData made, compile_with_data(request, listener));
  Compiled& compiled = made.compiled;
  if (listener.warning) std::for_each(compiled.warnings.begin(), compiled.warnings.end(), listener.warning);
  for (const std::string& note : compiled.training().graph.notes) tell(listener, note);

  PlanRequest plan = request.plan;
  plan.reserve += prefetch_bytes(request.data, compiled.training().graph);
  plan.length.samples = made.data.train.count();
  const Result<void> planned = plan_model(compiled, plan, request.reuse, infeasible, listener.dump);
  if (!planned) return Failure(with_leaner_options(planned.error(), compiled));
  if (listener.planned) PANTOUM_TRY(listener.planned(compiled, made.data));

  PANTOUM_ASSIGN(PreparedTraining training, prepared(compiled, std::move(made.data)));
  PANTOUM_ASSIGN(const std::vector<std::string> notes,
                 write_initial_weights(compiled.training().graph, request.model.weights, request.weights_path));
  for (const std::string& note : notes) tell(listener, note);
  if (request.keeps_other_plan) PANTOUM_TRY(keep_other_plan(request.plan_path, compiled.training().plan, listener));
  PANTOUM_TRY(problem::write_plan(compiled.training().plan, request.plan_path));
  return training;
}

Error with_leaner_options(Error error, const Compiled& compiled) {
  if (error.code != "E0301" && error.code != "E0302") return error;
  const auto add = [&](const char* what) { error.help += (error.help.empty() ? "" : "; ") + std::string(what); };
  const std::vector<problem::Tensor>& tensors = compiled.training().cost.graph.tensors;
  const bool keeps_parameters =
      std::any_of(tensors.begin(), tensors.end(), [](const auto& tensor) { return tensor.pinned && tensor.next >= 0; });
  if (compiled.model.params_in == cost::ParamsIn::kAuto && keeps_parameters)
    add("auto kept the parameters in RAM, and --params-in aux takes less");
  if (compiled.kernels->back_end() != nullptr) add("--kernels portable may take less RAM");
  if (error.code == "E0302") add("without fusions (--disable fusions) some steps take less");
  return error;
}

}  // namespace pantoum::pipeline
