// What is asked of the pipeline: how a model is trained, and how its step is planned. `main` fills these structures once;
// plan files keep them (request_json.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autodiff/autodiff.h"
#include "cost/build_cost_graph.h"
#include "cost/measure.h"
#include "host/kernel_set.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::pipeline {

struct InitialWeights {
  std::string path = {};                    // safetensors; "": the model's own contents
  std::vector<std::string> keep_init = {};  // globs: these keep the model's own in any case
};

struct ModelOptions {
  std::string path;                         // .onnx
  int64_t batch = 0;                        // 0: the model's own if static, else refused (E0113)
  autodiff::TrainingOptions training = {};  // losses, optimizer, frozen parameters
  double lr = 0.01;                         // of the run, as the seed: neither is part of a plan
  uint64_t seed = 0;
  InitialWeights weights = {};
  std::vector<std::string> train = {};         // globs over tensors that are trained though the file says otherwise
  bool accept_folded = false;                  // train what the exporter folded as it stands in the file
  std::vector<std::string> freeze_stats = {};  // globs over batch norms' running statistics
  bool inference = false;                      // the forward program alone: nothing trains
  // Train the head alone, on what the frozen backbone gives: at most so many bytes of features are kept.
  std::optional<problem::Bytes> feature_cache = {};
  cost::ParamsIn params_in = cost::ParamsIn::kRam;
  std::shared_ptr<const std::string> bytes = {};  // of an ONNX model, in place of the file
};

// kMissing: what the store does not have, at most a tenth of the time limit; kAll: everything anew, however long it takes;
// kKnown: what the store has, and nothing is measured; kAuto: kMissing on the host, kKnown for other devices where a store
// is named, else kOff, as with a fixed effort, whose plans are the same everywhere.
enum class Measure : uint8_t { kOff, kMissing, kAll, kAuto, kKnown };

struct MeasureOptions {  // the host alone: times of ops and of the storage
  Measure measure = Measure::kOff;
  std::string profile_store;  // SQLite file that the user named: it is an error that it cannot be used; "": none
  std::string page_folder;    // whose storage is measured; "": where training makes its page file
  bool page_encryption = true;

  // Of this run, not of a plan.
  std::string cache_store;  // in place of profile_store: a warning, and measured all the same; "": in memory
  bool only_known = false;  // take what the store has
  bool settle = false;      // as long as it takes, each kernel until its interval is narrow (cost::MeasuringLimits)
  cost::EnergyOf energy_of = {};
  std::function<void(size_t done, size_t all, bool last)> progress = {};  // as cost::MeasuringLimits has it
};

struct Deadline {  // the earliest one counts
  std::optional<double> seconds;
  std::optional<double> relative;  // times the makespan with unlimited RAM
  std::optional<double> training;  // seconds of the whole training: an equal part of it is every step's
};

struct TrainingLength {
  int64_t steps = 0;                // 0: from the others
  int64_t epochs = 0, samples = 0;  // an epoch drops its short last batch
  int64_t batch = 0;                // samples of a step; 0: as the model has it
};

// A rule of rewrite/rule.h, applied at the op of that name.
struct Substitution {
  std::string rule, at;
  bool operator==(const Substitution&) const = default;
};

// The search over equivalent graphs (graph_search.h).
struct RewriteOptions {
  bool search = true;
  std::vector<std::string> without = {};         // rules that are switched off
  std::vector<Substitution> substitutions = {};  // these, in this order, and no search: of a plan, or a checkpoint
  bool remake = true;      // activations behind norms are made again in backward, where that takes less RAM
  bool attention = false;  // in blocks though that changes bits: of a plan, or a checkpoint
  bool algorithms = true;  // false: each op's first choice alone
  std::map<std::string, std::string> classes = {};  // by op: the class of numerics that a checkpoint keeps to
};

struct PlanRequest {
  std::string device = "host";
  Deadline deadline;
  TrainingLength length;
  problem::Bytes reserve = 0;         // kept free for stack and application; taken off the budget
  std::optional<problem::Bytes> rom;  // read in place, for what is frozen; the device's without it
  plan::PlanOptions options;          // the budget is the user's; the deadline is filled from above
  std::string expression = {};        // the objective, where no question asks for it (objective_expression.h)
  std::string planner = "pantoum";    // or a name of plan::baselines()
  MeasureOptions measure;
  int kernel_threads = 1;  // measured with; workspace sizes may depend on it
  // On the host; other devices have the portable kernels.
  host::KernelSet::Choice kernels = host::KernelSet::Choice::kAuto;
  // Of this run, not of a plan: asked once the graphs of training and evaluation are made, before anything is measured or
  // planned; its error ends the run. May be empty.
  std::function<Result<void>(const ir::Graph& training, const ir::Graph& evaluation)> graphs_made = {};
  RewriteOptions rewrite;
  bool fuse = true;                  // ops that exporters write as several
  bool fuse_updates = true;          // weight gradients with their updates, on devices
  bool layouts = true;               // images in blocks of channels, where the kernels are fast with them
  bool compact_activations = false;  // signs and window taps in place of activations are the planner's choice
};

}  // namespace pantoum::pipeline
