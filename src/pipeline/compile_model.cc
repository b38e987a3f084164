#include <fmt/format.h>

#include <optional>

#include "autodiff/feature_cut.h"
#include "autodiff/running_statistics.h"
#include "cost/measure.h"
#include "cost/read_in_place.h"
#include "pipeline/pipeline.h"
#include "problem/cost_graph_json.h"
#include "rewrite/channel_blocks.h"
#include "rewrite/compact_activations.h"
#include "rewrite/fusions.h"

#include <nlohmann/json.hpp>

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

struct Measuring {
  std::unique_ptr<cost::ProfileStore> store;
  std::unique_ptr<cost::OpTimer> timer;
};

Result<Measuring> start_measuring(const MeasureOptions& options, const host::KernelSet& kernels,
                                  cost::DeviceProfile& device) {
  Measuring measuring;
  if (!options.measure) return measuring;
  if (!device.host)
    return fail("E0114", fmt::format("device '{}' cannot be measured on this machine", device.device.name), "--measure",
                "use --device host");
  PANTOUM_ASSIGN(measuring.store,
                 cost::ProfileStore::open(options.profile_store.empty() ? ":memory:" : options.profile_store));
  measuring.timer = cost::measuring_timer(*measuring.store, kernels.pool());
  PANTOUM_TRY(cost::measure_storage(options.page_folder.empty() ? "." : options.page_folder, *measuring.store,
                                    device.device.pager));
  return measuring;
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

std::vector<const ir::Graph*> programs_of(const Compiled& compiled) {
  std::vector<const ir::Graph*> programs{&compiled.training, &compiled.evaluation};
  if (compiled.features) programs.push_back(&*compiled.features);
  if (compiled.accumulation) programs.push_back(&*compiled.accumulation);
  return programs;
}

}  // namespace

Result<Compiled> compile_model(const ModelOptions& model, const PlanRequest& request, const Dump& dump) {
  const auto tell = [&](const char* pass, const std::string& text) {
    if (dump) dump(pass, text);
  };
  Compiled compiled;

  // ONNX operators become Pantoum's, with batch norm and dropout in their training form.
  PANTOUM_ASSIGN(import::Imported imported, import::load_onnx(model.path, {.batch = model.batch}));
  tell("import", ir::to_text(imported.graph));

  // What exporters write as several ops and is one.
  if (request.fuse) imported.graph = rewrite::fuse_gelu(rewrite::fuse_product_bias(std::move(imported.graph)));

  // What is frozen is known before anything else: evaluation is a graph of its own, of the whole model.
  PANTOUM_TRY(autodiff::freeze(imported.graph, model.training.freeze));
  PANTOUM_TRY(autodiff::freeze_statistics(imported.graph, model.freeze_stats));
  PANTOUM_ASSIGN(compiled.evaluation, autodiff::make_evaluation(imported.graph, model.training));

  // The frozen backbone runs once for every sample, the step begins at what it gives.
  autodiff::TrainingOptions training = model.training;
  training.freeze.clear();
  if (model.cut_features) {
    PANTOUM_ASSIGN(autodiff::FeatureCut cut, autodiff::cut_features(imported.graph));
    compiled.features = std::move(cut.backbone);
    imported.graph = std::move(cut.head);
  }

  // Loss, gradients and updates join the forward graph.
  PANTOUM_ASSIGN(compiled.training, autodiff::make_training(imported.graph, training));
  keep_persistent(compiled.training, compiled.evaluation);
  if (compiled.features) keep_persistent(compiled.training, *compiled.features);

  // Micro-batches before the last one of a step: the same forward and backward, gradients added up.
  if (model.training.accumulate > 1) {
    PANTOUM_ASSIGN(compiled.accumulation, autodiff::make_accumulation(imported.graph, training));
    keep_persistent(compiled.training, *compiled.accumulation);
  }
  tell("autodiff", ir::to_text(compiled.training));

  // Images in the layout that the device's kernels are fast with; reorders between layouts are ops like all others.
  PANTOUM_ASSIGN(cost::DeviceProfile device, cost::load_device(request.device));
  PANTOUM_ASSIGN(compiled.kernels,
                 host::KernelSet::open(device.host ? request.kernels : host::KernelSet::Choice::kPortable,
                                       request.kernel_threads));
  if (request.layouts) {
    compiled.training = rewrite::block_channels(compiled.training, block_kernels(*compiled.kernels));
    compiled.evaluation = rewrite::block_channels(compiled.evaluation, block_kernels(*compiled.kernels));
    if (compiled.features)
      compiled.features = rewrite::block_channels(*compiled.features, block_kernels(*compiled.kernels));
    if (compiled.accumulation)
      compiled.accumulation = rewrite::block_channels(*compiled.accumulation, block_kernels(*compiled.kernels));
  }
  // Signs and window taps in place of activations: more choices for the planner, the same values.
  if (request.small_saves) {
    compiled.training = rewrite::compact_activations(compiled.training);
    if (compiled.accumulation) compiled.accumulation = rewrite::compact_activations(*compiled.accumulation);
  }
  // A back end's convolutions know nothing of activations.
  if (request.fuse && compiled.kernels->back_end() == nullptr) {
    compiled.training = rewrite::fuse_conv_gradient(std::move(compiled.training));
    if (compiled.accumulation) compiled.accumulation = rewrite::fuse_conv_gradient(*std::move(compiled.accumulation));
  }
  // Gradients that need not be tensors; the host's products are made for whole ones.
  if (request.fuse_updates && !device.host) compiled.training = rewrite::fuse_updates(std::move(compiled.training));
  tell("rewrite", ir::to_text(compiled.training));

  device.device.align_bytes = std::max(device.device.align_bytes, widest_element(compiled.training));

  // Seconds, joules and bytes of every op on the device: the planner sees nothing else.
  PANTOUM_ASSIGN(const Measuring measuring, start_measuring(request.measure, *compiled.kernels, device));
  if (request.rom) device.rom_bytes = *request.rom;
  const cost::CostGraphOptions options{.params_in = model.params_in,
                                       .budget = request.options.question.budget,
                                       .in_rom = cost::read_in_place(programs_of(compiled), device),
                                       .in_place = request.options.question.freedoms.in_place,
                                       .kernels = compiled.kernels->table(),
                                       .threads = request.kernel_threads,
                                       .timer = measuring.timer.get()};
  PANTOUM_ASSIGN(compiled.training_cost, cost::build_cost_graph(compiled.training, device, options));
  PANTOUM_ASSIGN(compiled.evaluation_cost, cost::build_cost_graph(compiled.evaluation, device, options));
  if (compiled.features) {
    PANTOUM_ASSIGN(compiled.features_cost, cost::build_cost_graph(*compiled.features, device, options));
  }
  if (compiled.accumulation) {
    PANTOUM_ASSIGN(compiled.accumulation_cost, cost::build_cost_graph(*compiled.accumulation, device, options));
  }
  tell("cost", problem::to_json(compiled.training_cost.graph).dump(1));
  return compiled;
}

}  // namespace pantoum::pipeline
