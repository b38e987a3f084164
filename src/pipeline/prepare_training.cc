#include "pipeline/prepare_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/units.h"
#include "data/label_range.h"
#include "pipeline/choose_updates.h"
#include "pipeline/probabilities.h"
#include "pipeline/request_json.h"
#include "plan/planner.h"
#include "problem/plan_json.h"
#include "train/feature_cache.h"

namespace pantoum::pipeline {
namespace {

void tell(const Listener& listener, const std::string& note) {
  if (listener.note) listener.note(note);
}

// The size of the file that keeps the features on the host: a checksum is stored beside each.
int64_t feature_cache_bytes(const ir::Graph& training, int64_t samples) {
  return feature_bytes(training, samples) +
         samples * static_cast<int64_t>(training.inputs.size() * train::FeatureCache::kSealBytes);
}

// Refuses early, before anything is measured or planned, what would end the run later: too few samples, samples that do not fit,
// labels that are no class, weights that are not the model's.
Result<void> check_before_planning(const TrainingRequest& request, const data::TrainTest& data,
                                   const ir::Graph& training, const ir::Graph& model) {
  PANTOUM_TRY(check_fit(data, request.data.preparation, model));
  const int64_t samples = data.train.count(), batch = model.value(model.labels.front()).type.shape.front();
  if (samples < batch)
    return fail("E0262", fmt::format("the data hold {} samples, fewer than a batch of {}", samples, batch),
                request.data.path, "use a smaller --batch or more data");
  PANTOUM_TRY(check_labels(data, label_ranges(training, model)));
  return check_initial_weights(training, request.model);
}

// The graphs, and the data that they are to be trained on. The number of samples says whether their features fit; a graph
// says how the samples are read.
Result<Compiled> graphs_for_data(const TrainingRequest& request, const PlanRequest& plan, const Listener& listener,
                                 data::TrainTest& data) {
  ModelRequest model = request.model;
  std::optional<pantoum::Bytes>& most = model.options.feature_cache;
  if (most && request.data.preparation.augmentation.any()) {
    tell(listener, "--augment changes the samples in every epoch: no features are kept");
    most.reset();
  }
  PANTOUM_ASSIGN(Compiled compiled, make_graphs(model, plan, listener.dump));
  if (listener.compiled) PANTOUM_TRY(listener.compiled(compiled.training().graph));
  PANTOUM_ASSIGN(data, open_training_data(request.data, compiled.evaluation().graph));
  PANTOUM_TRY(check_before_planning(request, data, compiled.training().graph, compiled.evaluation().graph));
  const int64_t bytes = most ? feature_cache_bytes(compiled.training().graph, data.train.count()) : 0;
  if (!most || bytes <= most->count()) return compiled;
  tell(listener,
       fmt::format("the features take {}, more than --feature-cache: none are kept", base::show_bytes(bytes)));
  most.reset();
  return make_graphs(model, plan, listener.dump);
}

}  // namespace

Result<PreparedTraining> prepare_training(const TrainingRequest& asked, const Listener& listener,
                                          plan::Infeasible* infeasible) {
  TrainingRequest request = asked;
  if (request.reuse == nullptr) PANTOUM_TRY(choose_updates(request.model, request.plan));
  if (request.model.options.inference)
    return fail("E0231", "the plan is one of inference, which trains nothing", request.model.path,
                "make a plan without --inference");
  PlanRequest costed = request.plan;
  costed.measuring.only_known |= request.reuse != nullptr;  // a plan has the times that it was made with
  if (request.reuse != nullptr) PANTOUM_TRY(take_graph_of(*request.reuse, costed.rewrite));
  PreparedTraining made;
  PANTOUM_ASSIGN(Compiled compiled, graphs_for_data(request, costed, listener, made.data));
  if (std::string warning =
          warn_of_probabilities(compiled.evaluation().graph, made.data.train, request.data.preparation);
      !warning.empty())
    compiled.warnings.push_back(std::move(warning));
  compiled.warnings.insert(compiled.warnings.end(), made.data.train.warnings.begin(), made.data.train.warnings.end());
  PANTOUM_TRY(add_costs(compiled, costed, listener.dump));
  if (listener.warning) std::for_each(compiled.warnings.begin(), compiled.warnings.end(), listener.warning);
  for (const std::string& note : compiled.training().graph.notes) tell(listener, note);

  PlanRequest plan = request.plan;
  plan.settings.samples = made.data.train.count();
  const Result<void> planned = plan_model(compiled, plan, request.reuse, infeasible, listener.dump);
  if (!planned) return Failure(with_leaner_options(planned.error(), compiled, plan));
  if (listener.planned) PANTOUM_TRY(listener.planned(compiled, made.data));

  if (compiled.has_features())
    made.feature_bytes = feature_cache_bytes(compiled.training().graph, made.data.train.count());
  PANTOUM_ASSIGN(made.step, finish_step(compiled, plan, request.weights_path));
  for (const std::string& note : made.step.planning_notes) tell(listener, note);
  for (const std::string& note : made.step.weight_notes) tell(listener, note);
  PANTOUM_TRY(problem::write_plan(made.step.plan, request.plan_path));
  return made;
}

namespace {

// What an op needs in RAM whatever the batch is: tensors that are always there, and its parameters, moments and their gradients.
struct Floor {
  problem::Bytes bytes = 0;
  std::string op;
  std::vector<const problem::Tensor*> tensors;  // largest first
};

// The names of what the batch does not change: parameters, buffers, constants, optimizer state and gradients of parameters.
std::set<std::string> independent_of_batch(const ir::Graph& graph) {
  std::set<std::string> names;
  for (const ir::Value& value : graph.values) {
    if (value.producer != ir::kNone || value.role == ir::Role::kInput || value.role == ir::Role::kLabel) continue;
    names.insert(value.name);
    if (value.role == ir::Role::kParameter) names.insert("grad." + value.name);
  }
  return names;
}

// The largest floor of an op. `pinned`: the tensors that the plan never leaves the choice of are counted too.
Floor floor_of(const Compiled& compiled, bool pinned) {
  const problem::CostGraph& graph = compiled.training().cost.graph;
  const std::set<std::string> independent = independent_of_batch(compiled.training().graph);
  std::map<int64_t, const problem::Tensor*> known;
  std::vector<const problem::Tensor*> always;
  for (const problem::Tensor& tensor : graph.tensors) {
    if (!independent.contains(tensor.name)) continue;
    known[tensor.id] = &tensor;
    if (pinned && tensor.pinned && tensor.start == problem::Home::kRam) always.push_back(&tensor);
  }
  Floor most;
  for (const problem::Op& op : graph.ops) {
    std::set<const problem::Tensor*> needed(always.begin(), always.end());
    for (const std::vector<int64_t>* ids : {&op.inputs, &op.outputs})
      for (const int64_t id : *ids)
        if (const auto found = known.find(id); found != known.end()) needed.insert(found->second);
    Floor floor{.op = op.name, .tensors = {needed.begin(), needed.end()}};
    for (const problem::Tensor* tensor : needed) floor.bytes += tensor->bytes;
    if (floor.bytes > most.bytes) most = std::move(floor);
  }
  std::sort(most.tensors.begin(), most.tensors.end(), [](const problem::Tensor* a, const problem::Tensor* b) {
    return std::tie(b->bytes, a->name) < std::tie(a->bytes, b->name);
  });
  return most;
}

std::string note_of(const Floor& floor) {
  constexpr size_t kNamed = 6;
  std::string text =
      fmt::format("op {} needs {} in RAM whatever the batch is:", floor.op, base::show_bytes(floor.bytes));
  problem::Bytes named = 0;
  for (size_t at = 0; at < std::min(kNamed, floor.tensors.size()); ++at) {
    named += floor.tensors[at]->bytes;
    text += fmt::format("{} {} {}", at == 0 ? "" : ",", floor.tensors[at]->name,
                        base::show_bytes(floor.tensors[at]->bytes));
  }
  if (floor.tensors.size() > kNamed)
    text += fmt::format(", {} others {}", floor.tensors.size() - kNamed, base::show_bytes(floor.bytes - named));
  return text;
}

constexpr std::string_view kGradient = "grad.";

// The largest gradient of the floor that is one of a table of which a step reads rows, or null.
const problem::Tensor* table_gradient(const Floor& floor, const ir::Graph& forward) {
  for (const problem::Tensor* tensor : floor.tensors)
    for (const ir::Op& op : forward.ops)
      if (op.kind == ir::Kind::k_gather && tensor->name == std::string(kGradient) + forward.value(op.inputs[0]).name)
        return tensor;
  return nullptr;
}

// Optimizers that need no gradient of the table. `sparse`: with moments, but without the gradient, it would fit.
std::string leaner_optimizers(const ModelOptions& options, const std::string& table, bool sparse) {
  if (options.accumulate > 1 || options.split_update || options.clip_norm || options.clip_value) return "";
  std::string text = fmt::format(
      "--optimizer sgd without momentum and weight decay updates only the rows of '{}' that a step meets, "
      "and needs neither its gradient nor moments",
      table);
  const bool adam = std::holds_alternative<Adam>(options.optimizer) || std::holds_alternative<AdamW>(options.optimizer);
  if (sparse && adam)
    text += "; --optimizer sparse_adam updates the moments of these rows alone, and needs no gradient";
  return text;
}

}  // namespace

Error with_leaner_options(Error error, const Compiled& compiled, const PlanRequest& request) {
  if (error.code != "E0301" && error.code != "E0302") return error;
  const auto add = [&](const std::string& what) {
    if (!what.empty()) error.help += (error.help.empty() ? "" : "; ") + what;
  };
  const problem::CostGraph& graph = compiled.training().cost.graph;
  const problem::Bytes budget = request.options.question.budget.value_or(graph.device.ram_bytes) - request.reserve -
                                prefetch_bytes(request.settings.prefetch, compiled.training().graph);
  const bool keeps_parameters = std::any_of(graph.tensors.begin(), graph.tensors.end(),
                                            [](const auto& tensor) { return tensor.pinned && tensor.next >= 0; });
  const bool may_leave = compiled.model.options.params_in == ParamsIn::automatic && keeps_parameters;
  // In slices an op needs less than its tensors.
  if (const Floor floor = floor_of(compiled, true); floor.bytes > budget && !problem::streams(graph)) {
    error.notes.push_back(note_of(floor));
    if (const problem::Tensor* gradient = table_gradient(floor, compiled.evaluation().graph); gradient != nullptr)
      add(leaner_optimizers(compiled.model.options, gradient->name.substr(kGradient.size()),
                            floor.bytes - gradient->bytes <= budget));
    if (may_leave && floor_of(compiled, false).bytes <= budget)
      add("auto kept the parameters in RAM, and --params-in aux takes less");
    return error;  // a smaller batch, other kernels or no fusions would not help
  }
  if (error.help.starts_with("--")) error.help += ", or a smaller --batch";
  if (may_leave) add("auto kept the parameters in RAM, and --params-in aux takes less");
  if (compiled.kernels->back_end() != nullptr) add("--kernels portable may take less RAM");
  if (error.code == "E0302") add("without fusions (--disable fusions) some steps take less");
  return error;
}

}  // namespace pantoum::pipeline
