// What is asked of the pipeline: the public settings of model and plan, what is made of them once, and what one run pins.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/host_engines.h"
#include "cost/measure.h"
#include "host/kernel_set.h"
#include "pantoum/model.hpp"
#include "pantoum/plan.hpp"
#include "plan/simulate/plan_options.h"
#include "problem/plan.h"

namespace pantoum::pipeline {

// What choose_updates chose to train.
struct ChosenUpdates {
  std::string within;                // what was asked for
  std::vector<std::string> tensors;  // of the table, those that are trained
  int64_t of_tensors = 0;            // in the table
  double contribution = 0;           // of those that are trained
  double of_all = 0;                 // of the table
  bool best = false;                 // no other tensors contribute more, by costs that add up
  int64_t plans = 0;                 // tried
  problem::Predicted all;            // the unplanned step that trains the whole table; without its arena
};

// A model, and how it is trained.
struct ModelRequest {
  std::string path;  // of an ONNX file
  ModelOptions options = {};
  std::shared_ptr<const std::string> bytes = {};  // of an ONNX model, in place of the file
  std::optional<ChosenUpdates> updates = {};          // none: nothing was chosen
};

// How this run measures, beside the settings.
struct Measuring {
  std::string cache_store = {};  // where no store is named: one that may fail with a warning; "": in memory
  bool only_known = false;       // take what the store has
  bool settle = false;  // as long as it takes, each kernel until its interval is narrow (cost::MeasuringLimits)
  cost::EnergyOf energy_of = {};
  std::function<void(size_t done, size_t all, bool last)> progress = {};  // as cost::MeasuringLimits has it
};

// A rule of rewrite/rule.h, applied at the op of that name.
struct Substitution {
  std::string rule, at;
  bool operator==(const Substitution&) const = default;
};

// The search over equivalent graphs (graph_search.h): what the settings switch off, or a plan or a checkpoint pins.
struct RewriteOptions {
  bool search = true;
  std::vector<std::string> without = {};         // rules that are switched off
  std::vector<Substitution> substitutions = {};  // these, in this order, and no search: of a plan, or a checkpoint
  bool remake = true;      // activations behind norms are made again in backward, where that takes less RAM
  bool attention = false;  // in blocks though that changes bits: of a plan, or a checkpoint
  bool algorithms = true;  // false: each op's first choice alone
  std::map<std::string, std::string> classes = {};  // by op: the class of numerics that a checkpoint keeps to
};

// Only plan_request() makes it, and fills the members between `settings` and `batch`.
struct PlanRequest {
  std::string device = "host";
  PlanOptions settings;
  plan::PlanOptions options;    // of one attempt of the planner; its deadline follows from the graph (step_deadline_of)
  std::string expression = {};  // the objective, where no question asks for it (plan/attempts/objective_expression.h)
  problem::Bytes reserve = 0;   // taken off the budget: the settings' and, with a graph, the batches made ahead
  int kernel_threads = 1;       // measured with; workspace sizes may depend on it
  std::vector<cost::HostEngine> engines = {};                        // of the host; empty: one
  std::vector<std::string> profile_engines = {};                      // of another device's profile; empty: one
  host::KernelSet::Choice kernels = host::KernelSet::Choice::kAuto;  // of the host; devices have the portable ones
  std::shared_ptr<const problem::Plan> start = {};  // what settings.warm_start names; the options point to it
  RewriteOptions rewrite;
  bool outputs_alone =
      false;          // makes only the program that gives the outputs, where it can stand alone: nothing trains
  int64_t batch = 0;  // samples of a step, once they are known
  Measuring measuring;

  [[nodiscard]] bool on_engines() const { return !engines.empty() || !profile_engines.empty(); }
  // Whether a pass of kPasses runs.
  [[nodiscard]] bool runs(std::string_view pass) const;
};

// What PlanOptions::disable may name beside the substitutions of rewrite/rule.h.
[[nodiscard]] std::vector<std::string> names_to_disable();
// What PlanOptions::without may name: the planner's rules.
[[nodiscard]] std::vector<std::string> names_to_leave_out();

// Where the settings have no objective, it is `usual_objective`, or with "" the device's; a plan records it.
// E0110 to E0121 a setting out of its range, E0115 a name that is not known, E0117 an objective that is no formula, E0201
// and E0230 a warm start that is no plan, E0300 a budget of nothing.
[[nodiscard]] Result<PlanRequest> plan_request(const std::string& device, PlanOptions settings,
                                               const std::string& usual_objective = "");
// E0115 to E0117: what is wrong with the settings of a model, before it is read.
[[nodiscard]] Result<void> check_model_options(const ModelOptions& options);

}  // namespace pantoum::pipeline
