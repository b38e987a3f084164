// The table of contents: a model file, a budget and a device become a checked, executable plan.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "check/replay.h"
#include "cost/build_cost_graph.h"
#include "ir/graph.h"
#include "pantoum/plan.hpp"
#include "pipeline/measure_storage.h"
#include "pipeline/request.h"
#include "problem/plan.h"

namespace pantoum::plan {
struct Infeasible;
}

namespace pantoum::pipeline {

// The programs of a network: streams of one binary plan, which share an arena.

struct ProgramKind {
  const char* name;   // in the binary plan
  const char* words;  // in messages
  bool backward;      // it has gradients: it is part of the training step, whose limits it keeps
  bool operator==(const ProgramKind& other) const { return std::string_view(name) == other.name; }
};

inline constexpr ProgramKind kTrain{"train", "training", true};
inline constexpr ProgramKind kEvaluate{"eval", "evaluation", false};          // of the whole model
inline constexpr ProgramKind kAccumulate{"accumulate", "micro-batch", true};  // all micro-batches but the last
// These two replace kTrain if gradients and update are separate programs.
inline constexpr ProgramKind kGradients{"gradients", "gradients", true};
inline constexpr ProgramKind kUpdate{"update", "update", true};
inline constexpr ProgramKind kMakeFeatures{"features", "features", false};  // the frozen backbone

inline constexpr ProgramKind kInfer{"infer", "inference", false};  // alone, in place of training

struct Program {
  ProgramKind kind;
  ir::Graph graph;
  cost::BuiltCostGraph cost = {};
  problem::Plan plan = {};  // from here on: once it is planned
  check::Found found = {};  // the independent replay's figures
};

// The programs in the order of the binary plan: training (or its gradients), evaluation, then the others that exist.
using Programs = std::vector<Program>;

[[nodiscard]] const Program* find_program(const Programs& programs, const ProgramKind& kind);

// What one pass has made, in words: for --dump-after.
using Dump = std::function<void(const std::string& pass, const std::string& text)>;

// Another graph of the first program: the same values, or with --allow-numerics-change nearly so.
struct Alternative {
  Program program;
  std::vector<Substitution> made_by;
  bool remakes = true;  // activations behind norms, in backward
  double least = 0;     // its ops once, each by its best algorithm: no plan of it costs less
  double doubt = 1;     // its value counts for so many times as much: the less of its seconds was measured
  bool given = false;   // of the plan that the search starts from: it need not be worth clearly more than the first
};

struct Compiled {
  ModelRequest model;                              // as it was asked for
  std::shared_ptr<const host::KernelSet> kernels;  // of the plan's choices; what trains has to use them too
  Programs programs;
  std::vector<std::string> warnings;                // of the model's file
  problem::Seconds measuring_s = 0;                 // spent on times of this machine
  problem::Seconds costing_s = 0;                   // that, and the search over graphs: they are of planning's time
  cost::MeasuredCosts measured = {};                // what they are
  std::optional<MeasuredStorage> storage = {};      // where it was measured
  std::optional<problem::Pager> waited_for = {};    // as MachineMeasurement has it
  std::map<std::string, std::string> kept_classes;  // as RewriteOptions has them
  uint64_t graph_hash = 0;                // of the first program as no substitution has changed it: it tells the model
  bool remakes = true;                    // activations behind norms, in backward
  bool attention = false;                 // in blocks of other bits than the ops' that they stand for
  std::vector<Substitution> made_by;      // what made the first program's graph
  std::vector<Alternative> alternatives;  // until it is planned
  problem::Predicted unplanned;  // once planned: the step without budget, paging and recomputing; in place used

  [[nodiscard]] Program& training() { return programs.front(); }
  [[nodiscard]] const Program& training() const { return programs.front(); }
  [[nodiscard]] const Program& evaluation() const {  // of inference alone, that
    const Program* evaluation = find_program(programs, kEvaluate);
    return evaluation != nullptr ? *evaluation : programs.front();
  }
  [[nodiscard]] bool has_features() const { return find_program(programs, kMakeFeatures) != nullptr; }
};

// A step's cost graph, and those of the graphs that could stand in its place (Compiled::alternatives).
using SweptGraphs = std::vector<problem::CostGraph>;
[[nodiscard]] SweptGraphs swept_graphs(Compiled compiled);

// Import and autodiff: the graphs of all programs. Nothing is measured. E04xx, E02xx, E01xx as those rooms have them.
[[nodiscard]] Result<Compiled> make_graphs(const ModelRequest& model, const PlanRequest& request,
                                           const Dump& dump = {});
// Rewrite and cost: what the ops of these graphs take, and the graphs that could stand in the first one's place.
[[nodiscard]] Result<void> add_costs(Compiled& compiled, const PlanRequest& request, const Dump& dump = {});
// Both.
[[nodiscard]] Result<Compiled> compile_model(const ModelRequest& model, const PlanRequest& request,
                                             const Dump& dump = {});

// Samples of a training step.
[[nodiscard]] int64_t batch_of(const Compiled& compiled);

// Plans every program: the training step first, the others in the same arena. All are replayed by the checker. The
// training plan carries the settings that it was made with. Batches made ahead (settings.prefetch) are taken off the budget. `reuse`, when given, is taken as the training plan if it is
// of the same structure (E0231 otherwise).
[[nodiscard]] Result<void> plan_model(Compiled& compiled, const PlanRequest& request,
                                      const problem::Plan* reuse = nullptr, plan::Infeasible* infeasible = nullptr,
                                      const Dump& dump = {});

// Another graph than the first has to cost less than this share of what the first does: measured times of two graphs differ
// by chance.
[[nodiscard]] double worth_of_another_graph(const Compiled& compiled);

// How long a step of a training plan takes here: where the storage was measured, with what a waiting step finds it to take,
// and with what transfers take of the processor.
problem::Seconds expected_seconds(const Compiled& compiled, const problem::Plan& plan);

// A bare cost graph, the same way.
struct PlannedGraph {
  problem::Plan plan;
  check::Found found;
  problem::Predicted unplanned;
  std::vector<std::string> warnings;
};
[[nodiscard]] Result<PlannedGraph> plan_cost_graph(const problem::CostGraph& graph, const PlanRequest& request,
                                                   plan::Infeasible* infeasible = nullptr);

// What a step takes when nothing is planned: the figures that plans are compared with.
[[nodiscard]] Result<problem::Predicted> unplanned_step(const problem::CostGraph& graph, const PlanRequest& request);

// A step's deadline in seconds; none: no deadline is asked. E0122 as planner_options.
[[nodiscard]] Result<std::optional<problem::Seconds>> step_deadline_of(const PlanRequest& request,
                                                                       const problem::Predicted& unplanned);

// What a request asks of the planner for this graph: the device's RAM where none is named, the reserve taken off, the
// deadline in seconds (of `unplanned`, where it is relative). E0300 nothing is left; E0122 the number of steps is not
// known, or 0, and the deadline is one of the whole training.
[[nodiscard]] Result<plan::PlanOptions> planner_options(const problem::CostGraph& graph, const PlanRequest& request,
                                                        const problem::Predicted& unplanned);

// The checker has the last word on every plan: E0001 where it rejects one of the planner's.
[[nodiscard]] Result<check::Found> checked(const problem::CostGraph& graph, const problem::Plan& plan,
                                           const std::string& what);

// The binary twin of all programs.
[[nodiscard]] Result<std::vector<std::byte>> encode_programs(const Programs& programs);

// E0240 to E0242 weights that write_initial_weights would refuse.
[[nodiscard]] Result<void> check_initial_weights(const ir::Graph& training, const ModelOptions& options);

// Writes the initial values of parameters and buffers: those of options.weights where they have them
// (weights::match_weights) and options.keep_init does not name them, the model's own otherwise. Notes on what was found
// how. E0240 to E0242; E0901.
[[nodiscard]] Result<std::vector<std::string>> write_initial_weights(const ir::Graph& training,
                                                                     const ModelOptions& options,
                                                                     const std::string& path);

// The deadline of one step, of a deadline for the whole training.

// An equal part of settings.finish_within, which is set, for every step of `batch` samples; evaluations come on top. E0122
// the number of steps is not known, or 0.
[[nodiscard]] Result<double> step_deadline(const PlanOptions& settings, int64_t batch);

}  // namespace pantoum::pipeline
