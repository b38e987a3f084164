#include "pipeline/costing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "cost/build_cost_graph.h"
#include "ir/graph_hash.h"
#include "pipeline/device_engine.h"
#include "pipeline/request_json.h"
#include "plan/attempts/planners.h"
#include "plan/simulate/time_limit.h"
#include "rewrite/passes.h"

namespace pantoum::pipeline {
namespace {

constexpr size_t kGraphsOfEffort = 40;  // that are looked at for one unit of effort
constexpr size_t kMostOpsLookedAt = 400'000;
constexpr size_t kMostOpsOfSameBits = 100'000;  // fewer rules, which gain less
constexpr double kWorthPlanning = 0.995;        // of the first graph's cost
constexpr double kDoubtOfModel = 0.5;           // of modelled seconds, where the first graph's were measured

rewrite::BlockKernels block_kernels(const host::KernelSet& kernels) {
  const pt_back_end* back_end = kernels.back_end();
  if (back_end == nullptr) return {};
  return {.block = back_end->channel_block,
          .weight_layout = [back_end](uint16_t op, const pt_tensor& x, const pt_tensor& y, const uint32_t w[4],
                                      const int64_t* ints) { return back_end->weight_layout(op, &x, &y, w, ints); }};
}

std::set<int> thread_counts_of(const std::vector<cost::HostEngine>& engines) {
  std::set<int> counts;
  for (const cost::HostEngine& engine : engines)
    if (!engine.opencl) counts.insert(engine.threads);
  return counts;
}

// A tensor begins at a multiple of its elements' size: labels of 64 bits on devices whose words have 32.
problem::Bytes widest_element(const ir::Graph& graph) {
  problem::Bytes widest = 1;
  for (const ir::Value& value : graph.values) widest = std::max<problem::Bytes>(widest, ir::size_of(value.type.dtype));
  return widest;
}

// Constants that were folded into others take no RAM: no other program reads them.
void forget_unread(ir::Graph& graph) {
  const std::vector<std::vector<ir::OpId>> users = ir::users_of(graph);
  for (size_t id = 0; id < graph.values.size(); ++id) {
    ir::Value& value = graph.values[id];
    const bool is_result = std::find(graph.results.begin(), graph.results.end(), id) != graph.results.end();
    if (value.role == ir::Role::kConstant && value.producer == ir::kNone && users[id].empty() && !is_result)
      value.role = ir::Role::kActivation, value.data = nullptr;
  }
}

}  // namespace

Result<Costing> Costing::begin(const Compiled& compiled, const PlanRequest& request, cost::DeviceProfile device) {
  device.device.align_bytes = std::max(device.device.align_bytes, widest_element(compiled.training().graph));
  PANTOUM_ASSIGN(const problem::Bytes of_operands, alignment_of(request.engines));
  device.device.align_bytes = std::max(device.device.align_bytes, of_operands);
  PANTOUM_ASSIGN(MachineMeasurement machine, MachineMeasurement::begin(request, *compiled.kernels, device));
  machine.measure_storage(device.device.pager);
  if (request.settings.rom) device.rom_bytes = request.settings.rom->count();
  return Costing(compiled, request, std::move(device), std::move(machine));
}

// Equivalent graphs that the device runs in less time or RAM.
ir::Graph Costing::rewritten(ir::Graph graph, const ProgramKind& kind) const {
  const host::KernelSet& kernels = *compiled_.kernels;
  // A norm and its activation in one pass; what is made of its result, made again where that takes less RAM.
  if (request_.runs("fusions")) graph = rewrite::fuse_norm_activation(std::move(graph));
  if (remakes_ && kind.backward) graph = rewrite::remake_activations(graph);
  // What follows a product while its result is in the caches.
  if (request_.runs("fusions")) graph = rewrite::fuse_epilogues(std::move(graph), kernels.back_end() != nullptr);
  // Images in the layout that the kernels are fast with; reorders between layouts are ops like all others.
  if (request_.runs("layouts")) graph = rewrite::block_channels(graph, block_kernels(kernels));
  // Signs and window taps in place of activations: more choices for the planner, the same values.
  if (request_.settings.compact_activations && kind.backward) graph = rewrite::compact_activations(graph);
  // A back end's convolutions know nothing of activations.
  if (request_.runs("fusions") && kind.backward && kernels.back_end() == nullptr)
    graph = rewrite::fuse_conv_gradient(std::move(graph));
  // Gradients that need not be tensors; the host's products are made for whole ones.
  if (request_.runs("fusions") && request_.runs("updates") && kind == kTrain && !device_.host)
    graph = rewrite::fuse_updates(std::move(graph));
  return graph;
}

Result<Program> Costing::program_of(ir::Graph graph, const ProgramKind& kind) const {
  Program program{.kind = kind, .graph = rewritten(std::move(graph), kind)};
  if (kind == kInfer) forget_unread(program.graph);
  PANTOUM_ASSIGN(program.cost, cost::build_cost_graph(program.graph, device_, options_));
  if (const Result<void> valid = problem::validate(program.cost.graph); !valid)
    return fail("E0271",
                fmt::format("a step on device '{}' is beyond what can be planned: {}", device_.device.name,
                            valid.error().message),
                valid.error().where, "correct the profile's constants, which are in SI units, or give a smaller model");
  return program;
}

// Seconds, joules and bytes of every op on the device: the planner sees nothing else.
Result<void> Costing::add_costs(Compiled& compiled) {
  std::vector<const ir::Graph*> graphs;
  for (const Program& program : compiled.programs) graphs.push_back(&program.graph);
  options_ = {.params_in = static_cast<cost::ParamsIn>(compiled.model.options.params_in),
              .budget = request_.options.question.budget,
              .in_rom = cost::read_in_place(graphs, device_),
              .in_place = request_.options.question.freedoms.in_place,
              .kernels = compiled.kernels->table(),
              .threads = request_.kernel_threads,
              .thread_counts = thread_counts_of(request_.engines),
              .first_choices = !request_.rewrite.algorithms};
  first_ = compiled.training().graph;
  remakes_ = compiled.remakes = request_.runs("fusions") && request_.rewrite.remake;
  for (Program& program : compiled.programs) {
    PANTOUM_ASSIGN(program, program_of(std::move(program.graph), program.kind));
  }
  compiled.graph_hash = ir::graph_hash(compiled.training().graph);
  options_.classes = compiled.kept_classes = request_.rewrite.classes;
  if (!request_.rewrite.substitutions.empty() || !options_.classes.empty()) {
    PANTOUM_ASSIGN(ir::Graph graph, substituted(first_, request_.rewrite.substitutions));
    PANTOUM_ASSIGN(compiled.training(), program_of(std::move(graph), compiled.training().kind));
    compiled.made_by = request_.rewrite.substitutions;
  }
  compiled.measured = machine_.measure_ops(compiled.programs);
  return {};
}

bool Costing::searches() const {
  const ProgramKind& kind = compiled_.training().kind;
  return request_.rewrite.search && request_.rewrite.substitutions.empty() &&
         request_.settings.planner == plan::kOwnPlanner && (kind == kTrain || kind == kInfer);
}

// Adds the graph as an alternative to the first one if its ops cost less by today's costs, or if it is given.
Result<void> Costing::offer(Compiled& compiled, FoundGraph found, bool remakes, const plan::Aim& aim, bool given) {
  if (found.made_by.empty() && remakes == remakes_) return {};
  const bool usual = std::exchange(remakes_, remakes);
  Programs one;
  Result<Program> program = program_of(std::move(found.graph), compiled.training().kind);
  remakes_ = usual;
  if (!program) return Failure(program.error());
  one.push_back(*std::move(program));
  const double share = machine_.measure_ops(one).share;
  const double now = plan::assign_algorithms(one.front().cost.graph, aim).value;
  const double first = plan::assign_algorithms(compiled.training().cost.graph, aim).value;
  const double doubt = 1 + kDoubtOfModel * std::max(0.0, compiled.measured.share - share);
  if (given || doubt * now < std::min(kWorthPlanning, worth_of_another_graph(compiled)) * first)
    compiled.alternatives.push_back({std::move(one.front()), std::move(found.made_by), remakes, now, doubt, given});
  return {};
}

// The search need not come upon the graph of an earlier plan again. A plan of another model, or one whose rules are off, has
// no graph here.
Result<void> Costing::offer_start(Compiled& compiled, const std::vector<const rewrite::Rule*>& rules,
                                  const plan::Aim& aim) {
  RewriteOptions made;
  if (request_.options.warm_start == nullptr || !take_graph_of(*request_.options.warm_start, made)) return {};
  const bool allowed = std::all_of(made.substitutions.begin(), made.substitutions.end(), [&](const Substitution& by) {
    return std::any_of(rules.begin(), rules.end(), [&](const rewrite::Rule* rule) { return rule->name == by.rule; });
  });
  if (!allowed) return {};
  Result<ir::Graph> graph = substituted(first_, made.substitutions);
  if (!graph) return {};
  return offer(compiled, {*std::move(graph), std::move(made.substitutions), 0}, made.remake && remakes_, aim, true);
}

Result<void> Costing::search(Compiled& compiled) {
  if (!searches()) return {};
  const plan::TimeLimit time(request_.options.time_limit);
  std::optional<plan::ObjectiveExpression> expression;
  if (!request_.expression.empty()) {
    PANTOUM_ASSIGN(expression, plan::ObjectiveExpression::parse(request_.expression, "--objective"));
  }
  PlanRequest sized = request_;
  sized.batch = batch_of(compiled);
  PANTOUM_ASSIGN(const problem::Predicted unplanned, unplanned_step(compiled.training().cost.graph, sized));
  problem::Question question = request_.options.question;
  if (const auto deadline = step_deadline_of(sized, unplanned)) question.deadline = *deadline;  // else it is told later
  const plan::Aim aim{question, expression ? &*expression : nullptr};
  const ProgramKind kind = compiled.training().kind;
  const int64_t effort = request_.options.effort;
  const size_t most = effort > 0 ? kGraphsOfEffort * static_cast<size_t>(effort) : SIZE_MAX;
  const bool same_bits = !request_.options.question.freedoms.numerics && kind == kTrain;
  const size_t most_ops = same_bits ? kMostOpsOfSameBits : kMostOpsLookedAt;
  const std::vector<const rewrite::Rule*> rules = rules_for(request_, kind == kInfer);
  const GraphSearchRequest asked{
      .rules = rules,
      .cleaning = kind == kInfer ? cleaning_rules(rules) : std::vector<const rewrite::Rule*>(),
      .most_graphs = std::min(most, most_ops / std::max<size_t>(1, first_.ops.size())),
      .is_over = [&] {
        return request_.options.stop.stop_requested() ||
               (effort == 0 && time.elapsed() > time.for_attempt(plan::Attempt::kFindGraphs));
      }};
  const CostOfGraph cost = [&](const ir::Graph& graph) -> std::optional<double> {
    Programs one;
    Result<Program> program = program_of(graph, kind);
    if (!program) return std::nullopt;
    one.push_back(*std::move(program));
    machine_.know_ops(one);
    return plan::assign_algorithms(one.front().cost.graph, aim).value;
  };
  PANTOUM_TRY(offer_start(compiled, rules, aim));
  const auto is_known = [&](const FoundGraph& found, bool remakes) {
    return std::any_of(compiled.alternatives.begin(), compiled.alternatives.end(), [&](const Alternative& known) {
      return known.made_by == found.made_by && known.remakes == remakes;
    });
  };
  const auto offer_new = [&](FoundGraph found, bool remakes) {
    return is_known(found, remakes) ? Result<void>() : offer(compiled, std::move(found), remakes, aim);
  };
  PANTOUM_TRY(offer_new({.graph = first_}, false));  // RAM for time
  for (FoundGraph& found : search_graphs(first_, cost, asked))
    if (!found.made_by.empty()) PANTOUM_TRY(offer_new(std::move(found), remakes_));
  std::stable_sort(
      compiled.alternatives.begin(), compiled.alternatives.end(),
      [](const Alternative& a, const Alternative& b) { return a.given != b.given ? a.given : a.least < b.least; });
  return {};
}

void Costing::tell(Compiled& compiled) const {
  machine_.tell(compiled.warnings);
  compiled.measuring_s = machine_.seconds();
  compiled.costing_s = machine_.elapsed();
  compiled.storage = machine_.storage();
  compiled.waited_for = machine_.waited_for();
}

}  // namespace pantoum::pipeline
