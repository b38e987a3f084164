// The stages of the compiler: from a model file, a budget and a device to a checked, executable plan.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "check/replay.h"
#include "cost/build_cost_graph.h"
#include "import/tensor.h"
#include "ir/graph.h"
#include "pantoum/plan.hpp"
#include "pipeline/measure_storage.h"
#include "pipeline/request.h"
#include "problem/plan.h"
#include "weights/safetensors.h"

namespace pantoum::plan {
struct Infeasible;
}

namespace pantoum::pipeline {

// The kinds of programs of a network. The programs are instruction streams of one binary plan and share an arena.

struct ProgramKind {
  const char* name;   // in the binary plan
  const char* words;  // in messages
  bool backward;      // the program has gradients; it is part of the training step and keeps its limits
  bool operator==(const ProgramKind& other) const { return std::string_view(name) == other.name; }
};

inline constexpr ProgramKind kTrain{"train", "training", true};
inline constexpr ProgramKind kEvaluate{"eval", "evaluation", false};          // of the whole model
inline constexpr ProgramKind kAccumulate{"accumulate", "micro-batch", true};  // all micro-batches but the last
// These two replace kTrain if gradients and update are separate programs.
inline constexpr ProgramKind kGradients{"gradients", "gradients", true};
inline constexpr ProgramKind kUpdate{"update", "update", true};
inline constexpr ProgramKind kMakeFeatures{"features", "features", false};  // the frozen backbone

inline constexpr ProgramKind kPredict{"predict", "prediction", false};  // the whole model's outputs; the last program

inline constexpr ProgramKind kInfer{"infer", "inference", false};  // alone, in place of training

struct Program {
  ProgramKind kind;
  ir::Graph graph;
  cost::BuiltCostGraph cost = {};
  problem::Plan plan = {};  // this and the following: set when the program is planned
  check::Found found = {};  // figures of the checker's replay
};

// Returns the programs in the order of the binary plan: training (or its gradients), evaluation, then the other programs that exist.
using Programs = std::vector<Program>;

[[nodiscard]] const Program* find_program(const Programs& programs, const ProgramKind& kind);

// The result of one pass as text, for --dump-after.
using Dump = std::function<void(const std::string& pass, const std::string& text)>;

// An alternative graph of the first program. It computes the same values or, with --allow-numerics-change, nearly the same.
struct Alternative {
  Program program;
  std::vector<Substitution> made_by;
  bool remakes = true;  // activations behind norms, in backward
  double least = 0;     // the cost of its ops once, each by its best algorithm: no plan of the graph costs less
  double doubt = 1;     // factor on its value: the larger, the less of its seconds was measured
  bool given =
      false;  // the graph of the plan from which the search starts; it need not be clearly better than the first
};

struct Compiled {
  ModelRequest model;  // as requested
  std::shared_ptr<const host::KernelSet>
      kernels;  // the kernels of the plan's choices; training has to use the same kernels
  Programs programs;
  std::vector<std::string> warnings;              // about the model's file
  std::set<std::string> fixed;                    // the file's tensors that are constants of the program
  weights::Computed computed;                     // buffers that PyTorch computed of others
  problem::Seconds measuring_s = 0;               // spent on times of this machine
  problem::Seconds costing_s = 0;                 // measuring_s and the search over graphs; both count as planning time
  cost::MeasuredCosts measured = {};              // the measured costs
  std::optional<MeasuredStorage> storage = {};    // if it was measured
  std::optional<problem::Pager> waited_for = {};  // see MachineMeasurement
  std::map<std::string, std::string> kept_classes;  // see RewriteOptions
  uint64_t graph_hash = 0;                // hash of the first program before substitutions; it identifies the model
  bool remakes = true;                    // activations behind norms, in backward
  bool attention = false;                 // in blocks of other bits than the ops' that they stand for
  std::vector<Substitution> made_by;      // the substitutions that made the first program's graph
  std::vector<Alternative> alternatives;  // until it is planned
  std::string no_prediction;              // why there is no program kPredict; "": there is one
  std::shared_ptr<const std::vector<pt_kernel>> device_kernels;  // of an OpenCL device, if choices name one
  std::vector<std::string> planning_notes;  // sentences for the user: outputs that it does not give, what engines save
  problem::Predicted unplanned;  // once planned: the step without budget, paging and recomputing; in place used

  // Of outputs alone: the evaluation, which is not planned. It says what the data and the weights are.
  std::optional<Program> unplanned_evaluation;

  [[nodiscard]] bool gives_outputs_alone() const { return unplanned_evaluation.has_value(); }
  [[nodiscard]] Program& training() { return programs.front(); }
  [[nodiscard]] const Program& training() const { return programs.front(); }
  [[nodiscard]] const Program& evaluation() const {  // of inference alone, that
    if (unplanned_evaluation) return *unplanned_evaluation;
    const Program* evaluation = find_program(programs, kEvaluate);
    return evaluation != nullptr ? *evaluation : programs.front();
  }
  [[nodiscard]] bool has_features() const { return find_program(programs, kMakeFeatures) != nullptr; }
};

// The cost graph of a step, and the cost graphs of its alternatives (Compiled::alternatives).
using SweptGraphs = std::vector<problem::CostGraph>;
[[nodiscard]] SweptGraphs swept_graphs(Compiled compiled);

// Imports the model and makes the graphs of all programs by autodiff. Measures nothing. E04xx, E02xx, E01xx: the errors of import and autodiff;
// E0403 too for what no trainer takes, whatever the data are: no input, too many losses, an input or target whose first dimension is not the batch.
[[nodiscard]] Result<Compiled> make_graphs(const ModelRequest& model, const PlanRequest& request,
                                           const Dump& dump = {});
// Rewrites the graphs, adds the costs of their ops, and finds alternatives to the first graph.
[[nodiscard]] Result<void> add_costs(Compiled& compiled, const PlanRequest& request, const Dump& dump = {});
// Does both.
[[nodiscard]] Result<Compiled> compile_model(const ModelRequest& model, const PlanRequest& request,
                                             const Dump& dump = {});

// Returns the number of samples of a training step.
[[nodiscard]] int64_t batch_of(const Compiled& compiled);

// Plans every program: the training step first, then the others in the same arena. The checker replays all plans. The training plan contains the
// settings that it was made with. The RAM of batches that are made ahead (settings.prefetch) is subtracted from the budget. `reuse`, if not null,
// becomes the training plan. E0231: `reuse` has another structure.
[[nodiscard]] Result<void> plan_model(Compiled& compiled, const PlanRequest& request,
                                      const problem::Plan* reuse = nullptr, plan::Infeasible* infeasible = nullptr,
                                      const Dump& dump = {});

// An alternative graph is chosen only if it costs less than this share of the first graph's cost, because measured times of two graphs differ by
// chance.
[[nodiscard]] double worth_of_another_graph(const Compiled& compiled);

// Returns the expected time of a step of a training plan on this machine. If the storage was measured, the time includes the time that a waiting step
// finds and the time that transfers take from the processor.
problem::Seconds expected_seconds(const Compiled& compiled, const problem::Plan& plan);

// Plans a bare cost graph in the same way.
struct PlannedGraph {
  problem::Plan plan;
  check::Found found;
  problem::Predicted unplanned;
  std::vector<std::string> warnings;
};
[[nodiscard]] Result<PlannedGraph> plan_cost_graph(const problem::CostGraph& graph, const PlanRequest& request,
                                                   plan::Infeasible* infeasible = nullptr);

// Returns the figures of a step without a plan, with which plans are compared.
[[nodiscard]] Result<problem::Predicted> unplanned_step(const problem::CostGraph& graph, const PlanRequest& request);

// Returns a step's deadline in seconds; nullopt if there is none. E0122: see planner_options.
[[nodiscard]] Result<std::optional<problem::Seconds>> step_deadline_of(const PlanRequest& request,
                                                                       const problem::Predicted& unplanned);

// Returns the planner's options for a request and this graph. The budget is the named RAM (by default the device's) minus the reserve; a relative
// deadline refers to `unplanned`. E0300: the reserve leaves no RAM; E0122: the deadline is for the whole training, and the number of steps is unknown
// or 0.
[[nodiscard]] Result<plan::PlanOptions> planner_options(const problem::CostGraph& graph, const PlanRequest& request,
                                                        const problem::Predicted& unplanned);

// Checks a plan of the planner. E0001: the checker rejects the plan.
[[nodiscard]] Result<check::Found> checked(const problem::CostGraph& graph, const problem::Plan& plan,
                                           const std::string& what);

// Returns the plans of all programs in binary form.
[[nodiscard]] Result<std::vector<std::byte>> encode_programs(const Programs& programs);

// E0242: options.weights have other contents for a tensor that the program was made with, and that options.keep_init does not name. A tensor
// that PyTorch computed others of may have other contents where the weights hold these others, too.
[[nodiscard]] Result<void> check_fixed_tensors(const std::map<std::string, import::Tensor>& fixed,
                                               const weights::Computed& computed, const ModelRequest& model);

// Checks the weights. E0240 to E0242: write_initial_weights would refuse them.
[[nodiscard]] Result<void> check_initial_weights(const ir::Graph& training, const ModelRequest& model);

// Writes the initial values of parameters and buffers: the values of options.weights for tensors that match (weights::match_weights) and that
// options.keep_init does not name, otherwise the model's values. Returns notes on how tensors matched; `fixed` are known to the model, too. E0240 to E0242;
// E0901.
[[nodiscard]] Result<std::vector<std::string>> write_initial_weights(const ir::Graph& training,
                                                                     const ModelRequest& model, const std::string& path,
                                                                     const std::set<std::string>& fixed = {},
                                                                     const weights::Computed& computed = {});

// Computes the deadline of one step from a deadline for the whole training.

// Returns an equal part of settings.finish_within (which has to be set) for every step of `batch` samples. The time of evaluations is not included.
// E0122: the number of steps is unknown or 0.
[[nodiscard]] Result<double> step_deadline(const PlanOptions& settings, int64_t batch);

}  // namespace pantoum::pipeline
