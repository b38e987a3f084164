#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "autodiff/feature_cut.h"
#include "autodiff/running_statistics.h"
#include "base/json_text.h"
#include "cost/device.h"
#include "cost/read_in_place.h"
#include "pipeline/import_model.h"
#include "pipeline/measure_machine.h"
#include "pipeline/pipeline.h"
#include "problem/cost_graph_json.h"
#include "rewrite/channel_blocks.h"
#include "rewrite/compact_activations.h"
#include "rewrite/fusions.h"
#include "rewrite/remake_activations.h"

namespace pantoum::pipeline {
namespace {

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

rewrite::BlockKernels block_kernels(const host::KernelSet& kernels) {
  const pt_back_end* back_end = kernels.back_end();
  if (back_end == nullptr) return {};
  return {.block = back_end->channel_block,
          .weight_layout = [back_end](uint16_t op, const pt_tensor& x, const pt_tensor& y, const uint32_t w[4],
                                      const int64_t* ints) { return back_end->weight_layout(op, &x, &y, w, ints); }};
}

// A tensor begins at a multiple of its elements' size: labels of 64 bits on devices whose words have 32.
problem::Bytes widest_element(const ir::Graph& graph) {
  problem::Bytes widest = 1;
  for (const ir::Value& value : graph.values) widest = std::max<problem::Bytes>(widest, ir::size_of(value.type.dtype));
  return widest;
}

import::OnnxOptions import_options(const ModelOptions& model){return {
    .batch = model.batch, .train = model.train, .freeze = model.training.freeze, .accept_folded = model.accept_folded};
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

// Batch norm and dropout in their training form; what exporters write as several ops and is one; what is frozen.
Result<import::Imported> forward_graph(const ModelOptions& model, const PlanRequest& request, const Dump& dump) {
  PANTOUM_ASSIGN(import::Imported imported, import_model({model.path, model.bytes.get()}, import_options(model)));
  dump("import", ir::to_text(imported.graph));
  PANTOUM_TRY(check_names(imported.graph));
  if (request.fuse) imported.graph = rewrite::fuse_gelu(rewrite::fuse_product_bias(std::move(imported.graph)));
  PANTOUM_TRY(autodiff::freeze(imported.graph, globs_of_parameters(imported.graph, model.training.freeze)));
  PANTOUM_TRY(autodiff::freeze_statistics(imported.graph, model.freeze_stats));
  return imported;
}

// Loss, gradients and updates join the forward graph; the other programs are graphs of their own.
Result<Programs> differentiate(ir::Graph forward, const ModelOptions& model) {
  PANTOUM_ASSIGN(ir::Graph evaluation, autodiff::make_evaluation(forward, model.training));
  autodiff::TrainingOptions options = model.training;
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
  programs.push_back({.kind = update ? kGradients : kTrain, .graph = std::move(training)});
  programs.push_back({.kind = kEvaluate, .graph = std::move(evaluation)});
  if (update) programs.push_back({.kind = kUpdate, .graph = *std::move(update)});
  if (accumulation) programs.push_back({.kind = kAccumulate, .graph = *std::move(accumulation)});
  if (backbone) programs.push_back({.kind = kMakeFeatures, .graph = *std::move(backbone)});
  for (size_t other = 1; other < programs.size(); ++other)
    keep_persistent(programs.front().graph, programs[other].graph);
  return programs;
}

// Equivalent graphs that the device runs in less time or RAM.
ir::Graph rewritten(const Program& program, const PlanRequest& request, const host::KernelSet& kernels, bool on_host) {
  ir::Graph graph = program.graph;
  // A norm and its activation in one pass; what is made of its result, made again where that takes less RAM.
  if (request.fuse) graph = rewrite::fuse_norm_activation(std::move(graph));
  if (request.fuse && program.kind.backward) graph = rewrite::remake_activations(graph);
  // Images in the layout that the kernels are fast with; reorders between layouts are ops like all others.
  if (request.layouts) graph = rewrite::block_channels(graph, block_kernels(kernels));
  // Signs and window taps in place of activations: more choices for the planner, the same values.
  if (request.compact_activations && program.kind.backward) graph = rewrite::compact_activations(graph);
  // A back end's convolutions know nothing of activations.
  if (request.fuse && program.kind.backward && kernels.back_end() == nullptr)
    graph = rewrite::fuse_conv_gradient(std::move(graph));
  // Gradients that need not be tensors; the host's products are made for whole ones.
  if (request.fuse_updates && program.kind == kTrain && !on_host) graph = rewrite::fuse_updates(std::move(graph));
  return graph;
}

// Seconds, joules and bytes of every op on the device: the planner sees nothing else.
Result<void> add_costs(Compiled& compiled, const PlanRequest& request, cost::DeviceProfile device) {
  device.device.align_bytes = std::max(device.device.align_bytes, widest_element(compiled.training().graph));
  PANTOUM_ASSIGN(MachineMeasurement machine, MachineMeasurement::begin(request, *compiled.kernels, device));
  machine.measure_storage(device.device.pager);
  if (request.rom) device.rom_bytes = *request.rom;
  std::vector<const ir::Graph*> graphs;
  for (const Program& program : compiled.programs) graphs.push_back(&program.graph);
  const cost::CostGraphOptions options{.params_in = compiled.model.params_in,
                                       .budget = request.options.question.budget,
                                       .in_rom = cost::read_in_place(graphs, device),
                                       .in_place = request.options.question.freedoms.in_place,
                                       .kernels = compiled.kernels->table(),
                                       .threads = request.kernel_threads};
  for (Program& program : compiled.programs) {
    PANTOUM_ASSIGN(program.cost, cost::build_cost_graph(program.graph, device, options));
  }
  machine.measure_ops(compiled.programs);
  machine.tell(compiled.warnings);
  compiled.measuring_s = machine.seconds();
  return {};
}

}  // namespace pantoum::pipeline

Result<Compiled> compile_model(const ModelOptions& model, const PlanRequest& request, const Dump& dump) {
  const Dump tell = dump ? dump : [](const std::string&, const std::string&) {};
  Compiled compiled{.model = model};
  PANTOUM_ASSIGN(import::Imported imported, forward_graph(model, request, tell));
  compiled.warnings = std::move(imported.info.warnings);
  if (model.freeze_stats.empty() && imported.info.inference_norms > 0)
    compiled.warnings.push_back(
        fmt::format("{} batch norm{} exported for inference: training takes the statistics of the batch, as after "
                    "model.train(); to keep the running ones, add --freeze-stats '*'",
                    imported.info.inference_norms, imported.info.inference_norms == 1 ? " was" : "s were"));
  PANTOUM_ASSIGN(compiled.programs, differentiate(std::move(imported.graph), model));
  tell("autodiff", ir::to_text(compiled.training().graph));
  if (request.graphs_made) PANTOUM_TRY(request.graphs_made(compiled.training().graph, compiled.evaluation().graph));

  PANTOUM_ASSIGN(const cost::DeviceProfile device, cost::load_device(request.device));
  PANTOUM_ASSIGN(compiled.kernels,
                 host::KernelSet::open(device.host ? request.kernels : host::KernelSet::Choice::kPortable,
                                       request.kernel_threads));
  if (const std::optional<Error>& lack = compiled.kernels->lack())
    compiled.warnings.push_back(fmt::format("{}: the portable kernels alone compute, which are slower ({}); {}",
                                            lack->message, fmt::join(lack->notes, "; "), lack->help));
  for (Program& program : compiled.programs)
    program.graph = rewritten(program, request, *compiled.kernels, device.host);
  tell("rewrite", ir::to_text(compiled.training().graph));

  PANTOUM_TRY(add_costs(compiled, request, device));
  tell("cost", base::ascii_json(problem::to_json(compiled.training().cost.graph), 1));
  return compiled;
}

}  // namespace pantoum::pipeline
