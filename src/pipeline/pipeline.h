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
#include "import/onnx.h"
#include "ir/graph.h"
#include "plan/baseline.h"
#include "plan/planner.h"
#include "train/kernel_set.h"

namespace pantoum::pipeline {

struct ModelOptions {
  std::string path;                    // .onnx
  int64_t batch = 0;                   // 0: the model's own if static, else refused (E0113)
  autodiff::TrainingOptions training;  // loss, optimizer, frozen parameters
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
  cost::Bytes reserve = 0;          // kept free for stack and application; taken off the budget
  plan::PlanOptions options;        // ram is the user's; deadline is filled from above
  std::string planner = "pantoum";  // or a name of plan::baselines()
  MeasureOptions measure;
  int kernel_threads = 1;  // measured with; workspace sizes may depend on it
  // On the host; other devices have the portable kernels.
  train::KernelSet::Choice kernels = train::KernelSet::Choice::kAuto;
  bool fuse = true;         // ops that exporters write as several
  bool layouts = true;      // images in blocks of channels, where the kernels are fast with them
  bool small_saves = true;  // signs and window taps in place of activations are the planner's choice
};

// What one pass has made, in words: for --dump-after.
using Dump = std::function<void(const std::string& pass, const std::string& text)>;

struct Compiled {
  std::shared_ptr<const train::KernelSet> kernels;  // of the plan's choices; what trains has to use them too
  ir::Graph training, evaluation;
  cost::BuiltCostGraph training_cost, evaluation_cost;
};

struct Planned {
  plan::Plan training, evaluation;
  check::Found found, evaluation_found;  // the independent replay's figures
  cost::Bytes unplanned_peak_bytes = 0;  // without budget, paging, recomputing; in place used
  double unplanned_time_s = 0, unplanned_energy_j = 0;
};

// Import, autodiff, rewrite, cost. E04xx, E02xx, E01xx as those rooms have them.
[[nodiscard]] Result<Compiled> compile_model(const ModelOptions& model, const PlanRequest& request,
                                             const Dump& dump = {});

// Samples of a training step.
[[nodiscard]] int64_t batch_of(const Compiled& compiled);

// Plans the training step and, in the same arena, the evaluation; both are replayed by the checker before they are
// returned. `reuse`, when given, is taken as the training plan if it is of the same structure (E0231 otherwise).
[[nodiscard]] Result<Planned> plan_model(const Compiled& compiled, const PlanRequest& request,
                                         const plan::Plan* reuse = nullptr, plan::Infeasible* infeasible = nullptr,
                                         const Dump& dump = {});

// A bare cost graph, the same way.
struct PlannedGraph {
  plan::Plan plan;
  check::Found found;
  cost::Bytes unplanned_peak_bytes = 0;
  double unplanned_time_s = 0, unplanned_energy_j = 0;
};
[[nodiscard]] Result<PlannedGraph> plan_cost_graph(const cost::CostGraph& graph, const PlanRequest& request,
                                                   plan::Infeasible* infeasible = nullptr);

// What a request asks of the planner for this graph: the device's RAM where none is named, the reserve taken off, the
// deadline in seconds (of `unlimited`, the unplanned step, where it is relative). E0300 nothing is left.
[[nodiscard]] Result<plan::PlanOptions> planner_options(const cost::CostGraph& graph, const PlanRequest& request,
                                                        const plan::Plan& unlimited);

// The checker has the last word on every plan: E0001 where it rejects one of the planner's.
[[nodiscard]] Result<check::Found> checked(const cost::CostGraph& graph, const plan::Plan& plan,
                                           const std::string& what);

// The binary twin of both programs.
[[nodiscard]] Result<std::vector<std::byte>> encode_programs(const Compiled& compiled, const Planned& planned);

// Writes the first contents of parameters and buffers: those of `weights` (safetensors, by name) where it has them, the
// model's own otherwise. E0242 a tensor of another shape; E0901.
[[nodiscard]] Result<void> write_initial_weights(const ir::Graph& training, const std::string& weights,
                                                 const std::string& path);

}  // namespace pantoum::pipeline
