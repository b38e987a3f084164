// The table of contents: a model file, a budget and a device become a checked, executable plan.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autodiff/autodiff.h"
#include "check/replay.h"
#include "cost/build_cost_graph.h"
#include "cost/device.h"
#include "host/kernel_set.h"
#include "import/onnx.h"
#include "ir/graph.h"
#include "plan/baselines/baseline.h"
#include "plan/planner.h"

namespace pantoum::pipeline {

struct ModelOptions {
  std::string path;                            // .onnx
  int64_t batch = 0;                           // 0: the model's own if static, else refused (E0113)
  autodiff::TrainingOptions training;          // loss, optimizer, frozen parameters
  std::vector<std::string> freeze_stats = {};  // globs over batch norms' running statistics
  bool cut_features = false;                   // train the head alone, on what the frozen backbone gives
  cost::ParamsIn params_in = cost::ParamsIn::kRam;
};

struct MeasureOptions {  // the host alone: times measured once per op and shape, storage speed measured
  bool measure = false;
  std::string profile_store;  // SQLite file; "": in memory
  std::string page_folder;    // whose storage is measured
};

struct Deadline {  // the earlier one counts
  std::optional<double> seconds;
  std::optional<double> relative;  // times the makespan with unlimited RAM
};

struct PlanRequest {
  std::string device = "host";
  Deadline deadline;
  problem::Bytes reserve = 0;         // kept free for stack and application; taken off the budget
  std::optional<problem::Bytes> rom;  // read in place, for what is frozen; the device's without it
  plan::PlanOptions options;          // ram is the user's; deadline is filled from above
  std::string planner = "pantoum";    // or a name of plan::baselines()
  MeasureOptions measure;
  int kernel_threads = 1;  // measured with; workspace sizes may depend on it
  // On the host; other devices have the portable kernels.
  host::KernelSet::Choice kernels = host::KernelSet::Choice::kAuto;
  bool fuse = true;          // ops that exporters write as several
  bool fuse_updates = true;  // weight gradients with their updates, on devices
  bool layouts = true;       // images in blocks of channels, where the kernels are fast with them
  bool small_saves = false;  // signs and window taps in place of activations are the planner's choice
};

// What one pass has made, in words: for --dump-after.
using Dump = std::function<void(const std::string& pass, const std::string& text)>;

struct Compiled {
  std::shared_ptr<const host::KernelSet> kernels;  // of the plan's choices; what trains has to use them too
  ir::Graph training, evaluation;
  cost::BuiltCostGraph training_cost, evaluation_cost;
  // With features: what makes them; `training` is the head's step then, and reads them.
  std::optional<ir::Graph> features;
  cost::BuiltCostGraph features_cost;
  // With micro-batches: the step of all but the last.
  std::optional<ir::Graph> accumulation;
  cost::BuiltCostGraph accumulation_cost;
};

struct Planned {
  problem::Plan training, evaluation;
  std::optional<problem::Plan> accumulation, features;
  check::Found found, evaluation_found;  // the independent replay's figures
  std::optional<check::Found> accumulation_found;
  problem::Bytes unplanned_peak_bytes = 0;  // without budget, paging, recomputing; in place used
  double unplanned_time_s = 0, unplanned_energy_j = 0;
};

// Import, autodiff, rewrite, cost. E04xx, E02xx, E01xx as those rooms have them.
[[nodiscard]] Result<Compiled> compile_model(const ModelOptions& model, const PlanRequest& request,
                                             const Dump& dump = {});

// Samples of a training step.
[[nodiscard]] int64_t batch_of(const Compiled& compiled);

// Plans the training step and, in the same arena, the evaluation and the step of a micro-batch; all are replayed by the
// checker before they are returned. `reuse`, when given, is taken as the training plan if it is of the same structure
// (E0231 otherwise).
[[nodiscard]] Result<Planned> plan_model(const Compiled& compiled, const PlanRequest& request,
                                         const problem::Plan* reuse = nullptr, plan::Infeasible* infeasible = nullptr,
                                         const Dump& dump = {});

// A bare cost graph, the same way.
struct PlannedGraph {
  problem::Plan plan;
  check::Found found;
  problem::Bytes unplanned_peak_bytes = 0;
  double unplanned_time_s = 0, unplanned_energy_j = 0;
};
[[nodiscard]] Result<PlannedGraph> plan_cost_graph(const problem::CostGraph& graph, const PlanRequest& request,
                                                   plan::Infeasible* infeasible = nullptr);

// What a request asks of the planner for this graph: the device's RAM where none is named, the reserve taken off, the
// deadline in seconds (of `unlimited`, the unplanned step, where it is relative). E0300 nothing is left.
[[nodiscard]] Result<plan::PlanOptions> planner_options(const problem::CostGraph& graph, const PlanRequest& request,
                                                        const problem::Plan& unlimited);

// The checker has the last word on every plan: E0001 where it rejects one of the planner's.
[[nodiscard]] Result<check::Found> checked(const problem::CostGraph& graph, const problem::Plan& plan,
                                           const std::string& what);

// The binary twin of all programs.
[[nodiscard]] Result<std::vector<std::byte>> encode_programs(const Compiled& compiled, const Planned& planned);

struct InitialWeights {
  std::string path;                    // safetensors; "": the model's own contents
  std::vector<std::string> keep_init;  // globs: these keep the model's own in any case
};

// Writes the initial values of parameters and buffers: those of the weights where they have them
// (weights::match_weights), the model's own otherwise. Notes on what was found how. E0240 to E0242; E0901.
[[nodiscard]] Result<std::vector<std::string>> write_initial_weights(const ir::Graph& training,
                                                                     const InitialWeights& from,
                                                                     const std::string& path);

}  // namespace pantoum::pipeline
