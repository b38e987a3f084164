#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "autodiff/autodiff.h"
#include "autodiff/feature_cut.h"
#include "autodiff/running_statistics.h"
#include "base/json_text.h"
#include "cost/device.h"
#include "pipeline/costing.h"
#include "pipeline/import_model.h"
#include "pipeline/pipeline.h"
#include "plan/attempts/attempts.h"
#include "problem/cost_graph_json.h"
#include "rewrite/passes.h"
#include "train/trainer.h"

namespace pantoum::pipeline {

namespace {

const Dump kTellNobody = [](const std::string&, const std::string&) {};

// Every program keeps every persistent tensor of training in its arena, those it does not read (optimizer state) too.
void keep_persistent(const ir::Graph& training, ir::Graph& program) {
  std::map<std::string, char> known;
  for (const ir::Value& value : program.values)
    if (value.producer == ir::kNone) known[value.name] = 1;
  for (const ir::Value& value : training.values) {
    const bool persistent = value.role == ir::Role::kParameter || value.role == ir::Role::kBuffer ||
                            value.role == ir::Role::kState || value.role == ir::Role::kConstant;
    if (!persistent || value.producer != ir::kNone || known.contains(value.name)) continue;
    ir::Value kept = value;
    kept.next = ir::kNone;
    program.values.push_back(std::move(kept));
  }
}

import::OnnxOptions import_options(const ModelOptions& model,
                                   bool fuse){return {.batch = model.batch.value_or(0),
                                                      .train = model.train,
                                                      .freeze = model.freeze,
                                                      .shapes = model.shapes,
                                                      .accept_folded = model.accept_folded,
                                                      .recurrent_series = fuse && !model.inference};
}  // namespace

// Those that name a parameter; the others name what is fixed already, as the import has checked.
std::vector<std::string> globs_of_parameters(const ir::Graph& graph, std::vector<std::string> globs) {
  std::erase_if(globs, [&](const std::string& glob) {
    return std::none_of(graph.values.begin(), graph.values.end(), [&](const ir::Value& value) {
      return value.role == ir::Role::kParameter && fnmatch(glob.c_str(), value.name.c_str(), 0) == 0;
    });
  });
  return globs;
}

// What training adds to a program is found by its name there, beside the names of the model's file.
bool is_of_training(const std::string& name) {
  return name == "loss" || name == "accumulate.loss" || name.starts_with("eval.") || name.starts_with("optim.") ||
         name.starts_with("accumulated.");
}

// A parameter may be called so: the weights tell it from a target.
bool is_target(const std::string& name) {
  return name == "label" || name.starts_with("label.");
}

Result<void> check_names(const ir::Graph& graph) {
  using enum ir::Role;
  for (const ir::Value& value : graph.values)
    if ((is_of_training(value.name) && (value.role == kParameter || value.role == kBuffer || value.role == kInput)) ||
        (is_target(value.name) && value.role == kInput))
      return fail("E0207", fmt::format("a tensor of the model is named '{}', as training names its own", value.name),
                  graph.name, "rename it in the model");
  return {};
}

// What a trainer refuses about a model and its options, whatever the data are. Every verb and every library call makes
// graphs, so that all of them refuse the same.
Result<void> check_trainable(const ir::Graph& model) {
  const auto rows_of = [&](ir::ValueId id) {
    const ir::Shape& shape = model.value(id).type.shape;
    return shape.empty() ? int64_t{0} : shape.front();
  };
  const auto told = [&](ir::ValueId id) {
    return model.value(id).type.shape.empty() ? "no dimensions" : fmt::format("{} rows", rows_of(id));
  };
  if (model.inputs.empty())
    return fail("E0403", "the model has no input, so that no sample changes what a step computes", model.name,
                "export the model with the samples as an input");
  if (model.labels.size() > train::kMaxLosses)
    return fail("E0403",
                fmt::format("there are {} losses, and a trainer takes {}", model.labels.size(), int{train::kMaxLosses}),
                model.name, "train fewer outputs at a time");
  const int64_t batch = rows_of(model.labels.front());
  for (const std::vector<ir::ValueId>* read : {&model.inputs, &model.labels})
    for (const ir::ValueId id : *read) {
      if (rows_of(id) == batch && batch > 0) continue;
      return fail(
          "E0403",
          fmt::format("{} '{}' {} {}, the targets of the loss have {}: a step needs as many rows of each",
                      read == &model.inputs ? "the input" : "the targets", model.value(id).name,
                      read == &model.inputs ? "has" : "have", told(id), told(model.labels.front())),
          model.name,
          "keep the batch as the first dimension of inputs and outputs: an output [N,T,V] with classes_last, or "
          "[N,V,T], in place of [N*T,V]; an output [T,N,..] with --loss LOSS,batch_axis=1");
    }
  return {};
}

// Batch norm and dropout in their training form; what exporters write as several ops and is one; what is frozen.
Result<import::Imported> forward_graph(const ModelRequest& asked, bool fuse, const Dump& dump) {
  const ModelOptions& model = asked.options;
  PANTOUM_ASSIGN(import::Imported imported, import_model({asked.path, asked.bytes.get()}, import_options(model, fuse)));
  dump("import", ir::to_text(imported.graph));
  PANTOUM_TRY(check_names(imported.graph));
  if (fuse)
    imported.graph = rewrite::fuse_lstm_cell(rewrite::fuse_gelu(rewrite::fuse_product_bias(std::move(imported.graph))));
  PANTOUM_TRY(autodiff::freeze(imported.graph, globs_of_parameters(imported.graph, model.freeze)));
  PANTOUM_TRY(autodiff::freeze_statistics(imported.graph, model.freeze_stats));
  return imported;
}

// Parameters, buffers and constants that no op reads are no part of the program.
void forget_unread_weights(ir::Graph& graph) {
  std::vector<char> read(graph.values.size(), 0);
  for (const ir::Op& op : graph.ops)
    for (const ir::ValueId input : op.inputs) read[static_cast<size_t>(input)] = 1;
  for (size_t value = 0; value < graph.values.size(); ++value)
    if (read[value] == 0 && graph.values[value].producer == ir::kNone) graph.values[value].role = ir::Role::kActivation;
}

// Not of braces: where memory is short, g++ 12 destroys members of an aggregate that it has not made.
void add_program(Programs& programs, const ProgramKind& kind, ir::Graph graph) {
  Program& made = programs.emplace_back();
  made.kind = kind;
  made.graph = std::move(graph);
}

// Loss, gradients and updates join the forward graph; the other programs are graphs of their own. `outputs_alone`: where the
// outputs are made of inputs only, these two programs: prediction and evaluation.
Result<Programs> differentiate(ir::Graph forward, const ModelOptions& model, bool outputs_alone) {
  if (model.inference) {
    PANTOUM_ASSIGN(ir::Graph inference, autodiff::make_inference(forward, !model.weights));
    Programs programs;
    add_program(programs, kInfer, std::move(inference));
    return programs;
  }
  PANTOUM_ASSIGN(ir::Graph evaluation, autodiff::make_evaluation(forward, model));
  PANTOUM_ASSIGN(ir::Graph prediction, autodiff::make_prediction(forward, model));
  if (outputs_alone && !prediction.results.empty() && prediction.labels.empty()) {
    forget_unread_weights(prediction);
    keep_persistent(prediction, evaluation);
    Programs programs;
    add_program(programs, kPredict, std::move(prediction));
    add_program(programs, kEvaluate, std::move(evaluation));
    return programs;
  }
  ModelOptions options = model;
  options.freeze.clear();  // it is done

  // The frozen backbone runs once for every sample, the step begins at what it gives.
  std::optional<ir::Graph> backbone, accumulation;
  if (model.feature_cache) {
    PANTOUM_ASSIGN(autodiff::FeatureCut cut, autodiff::cut_features(forward));
    backbone = std::move(cut.backbone);
    forward = std::move(cut.head);
  }
  std::optional<ir::Graph> update;
  PANTOUM_ASSIGN(ir::Graph training, options.split_update ? autodiff::make_accumulation(forward, options)
                                                          : autodiff::make_training(forward, options));
  if (options.split_update) {
    PANTOUM_ASSIGN(update, autodiff::make_update(training, options));
    keep_persistent(*update, training);  // optimizer state
  }
  // Micro-batches before the last one of a step: the same forward and backward, gradients added up.
  if (options.accumulate > 1 && !options.split_update) {
    PANTOUM_ASSIGN(accumulation, autodiff::make_accumulation(forward, options));
  }

  Programs programs;
  add_program(programs, update ? kGradients : kTrain, std::move(training));
  add_program(programs, kEvaluate, std::move(evaluation));
  if (update) add_program(programs, kUpdate, *std::move(update));
  if (accumulation) add_program(programs, kAccumulate, *std::move(accumulation));
  if (backbone) add_program(programs, kMakeFeatures, *std::move(backbone));
  add_program(programs, kPredict, std::move(prediction));
  for (size_t other = 1; other < programs.size(); ++other)
    keep_persistent(programs.front().graph, programs[other].graph);
  return programs;
}

// Blocks of attention are made by portable kernels, or by a back end's products with other bits. Other bits must be
// asked for, by the user, a plan or a checkpoint; only then may the budget decide (fits_unplanned).
bool may_attend_in_blocks(const PlanRequest& request, const host::KernelSet& kernels) {
  const bool asked = request.options.question.freedoms.numerics && request.rewrite.search;
  return request.runs("fusions") && (kernels.back_end() == nullptr || asked || request.rewrite.attention);
}

ir::Bytes peak_of(const Programs& programs) {
  const std::vector<ir::Bytes> live = rewrite::unplanned_bytes(programs.front().graph);
  return live.empty() ? 0 : *std::max_element(live.begin(), live.end());
}

// Does the unplanned step fit the user's budget, parameters and batch included?
bool fits_unplanned(const Programs& programs, const PlanRequest& request) {
  ir::Bytes bytes = peak_of(programs);
  for (const ir::Value& value : programs.front().graph.values)
    if (value.producer == ir::kNone) bytes += value.type.bytes();
  return !request.options.question.budget || bytes <= *request.options.question.budget - request.reserve;
}

// Attention in blocks takes a product more and less RAM: it is for steps whose peak falls. A back end's has other bits,
// and is slower: where it was asked for anew, it is for steps that do not fit without it.
Result<Programs> differentiate_with_attention(ir::Graph forward, const Compiled& compiled, const PlanRequest& request,
                                              bool& in_blocks) {
  in_blocks = false;
  if (!may_attend_in_blocks(request, *compiled.kernels))
    return differentiate(std::move(forward), compiled.model.options, request.outputs_alone);
  ir::Graph fused = rewrite::fuse_attention(forward);
  PANTOUM_ASSIGN(Programs plain, differentiate(std::move(forward), compiled.model.options, request.outputs_alone));
  const auto is_attention = [](const ir::Op& op) { return op.kind == ir::Kind::k_attention; };
  if (std::none_of(fused.ops.begin(), fused.ops.end(), is_attention)) return plain;
  PANTOUM_ASSIGN(Programs programs, differentiate(std::move(fused), compiled.model.options, request.outputs_alone));
  const bool is_kept = compiled.kernels->back_end() == nullptr || request.rewrite.attention;
  in_blocks = peak_of(programs) < peak_of(plain) && (is_kept || !fits_unplanned(plain, request));
  return in_blocks ? std::move(programs) : std::move(plain);
}

// The last of the programs gives the outputs, if there are some: which ones it leaves out is told.
void keep_prediction(Compiled& compiled) {
  if (compiled.programs.front().kind == kPredict) {
    compiled.unplanned_evaluation = std::move(compiled.programs.back());
    compiled.programs.pop_back();
  }
  ir::Graph& prediction = compiled.programs.back().graph;
  compiled.planning_notes = std::exchange(prediction.notes, {});
  if (!prediction.results.empty()) return;
  compiled.programs.pop_back();
  compiled.no_prediction =
      "the model gives nothing but its loss, or outputs without the batch as their first dimension";
}

}  // namespace pantoum::pipeline

Result<Compiled> make_graphs(const ModelRequest& model, const PlanRequest& request, const Dump& dump) {
  const Dump tell = dump ? dump : kTellNobody;
  if (model.options.update_within || model.options.contributions)
    return fail("E0113", "what is trained is chosen where a step is planned, and not here", "--update-within",
                "plan with --update-within first, and go on with the plan or with --freeze");
  Compiled compiled{.model = model};
  PANTOUM_ASSIGN(import::Imported imported, forward_graph(model, request.runs("fusions"), tell));
  compiled.warnings = std::move(imported.info.warnings);
  PANTOUM_TRY(check_fixed_tensors(imported.fixed, imported.computed, model));
  compiled.computed = std::move(imported.computed);
  for (const auto& [name, tensor] : imported.fixed) compiled.fixed.insert(name);
  if (!model.options.batch && !imported.info.batch_name.empty() && !model.options.inference)
    compiled.warnings.emplace_back(
        "the model leaves its batch open, and no --batch was given: a step has 1 sample; give more with --batch");
  if (model.options.freeze_stats.empty() && imported.info.inference_norms > 0 && !model.options.inference)
    compiled.warnings.push_back(
        fmt::format("{} batch norm{} exported for inference: training takes the statistics of the batch, as after "
                    "model.train(); to keep the running ones, add --freeze-stats '*'",
                    imported.info.inference_norms, imported.info.inference_norms == 1 ? " was" : "s were"));
  PANTOUM_ASSIGN(const cost::DeviceProfile device, cost::load_device(request.device));
  PANTOUM_ASSIGN(compiled.kernels,
                 host::KernelSet::open(device.host ? request.kernels : host::KernelSet::Choice::kPortable,
                                       request.kernel_threads));
  bool in_blocks = false;
  PANTOUM_ASSIGN(compiled.programs,
                 differentiate_with_attention(std::move(imported.graph), compiled, request, in_blocks));
  compiled.attention = in_blocks && compiled.kernels->back_end() != nullptr;
  if (!model.options.inference) keep_prediction(compiled);
  tell("autodiff", ir::to_text(compiled.training().graph));
  if (!model.options.inference) PANTOUM_TRY(check_trainable(compiled.evaluation().graph));
  return compiled;
}

Result<void> add_costs(Compiled& compiled, const PlanRequest& request, const Dump& dump) {
  const Dump tell = dump ? dump : kTellNobody;
  if (const std::optional<Error>& lack = compiled.kernels->lack())
    compiled.warnings.push_back(fmt::format("{}: the portable kernels alone compute, which are slower ({}); {}",
                                            lack->message, fmt::join(lack->notes, "; "), lack->help));
  PANTOUM_ASSIGN(const cost::DeviceProfile device, cost::load_device(request.device));
  PANTOUM_ASSIGN(Costing costing, Costing::begin(compiled, request, device));
  PANTOUM_TRY(costing.add_costs(compiled));
  PANTOUM_TRY(costing.search(compiled));
  costing.tell(compiled);
  std::vector<const problem::CostGraph*> graphs{&compiled.training().cost.graph};
  for (const Alternative& each : compiled.alternatives) graphs.push_back(&each.program.cost.graph);
  if (std::string warning = plan::warning_of_start(request.options, graphs); !warning.empty())
    compiled.warnings.push_back(std::move(warning));
  tell("rewrite", ir::to_text(compiled.training().graph));
  tell("cost", base::ascii_json(problem::to_json(compiled.training().cost.graph), 1));
  return {};
}

Result<Compiled> compile_model(const ModelRequest& model, const PlanRequest& request, const Dump& dump) {
  PANTOUM_ASSIGN(Compiled compiled, make_graphs(model, request, dump));
  PANTOUM_TRY(add_costs(compiled, request, dump));
  return compiled;
}

SweptGraphs swept_graphs(Compiled compiled) {
  SweptGraphs graphs;
  graphs.push_back(std::move(compiled.training().cost.graph));
  for (Alternative& each : compiled.alternatives) graphs.push_back(std::move(each.program.cost.graph));
  return graphs;
}

const Program* find_program(const Programs& programs, const ProgramKind& kind) {
  const auto found =
      std::find_if(programs.begin(), programs.end(), [&](const Program& program) { return program.kind == kind; });
  return found == programs.end() ? nullptr : &*found;
}

}  // namespace pantoum::pipeline
