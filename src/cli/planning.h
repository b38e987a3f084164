// Code that plan and train share: progress of the planner, interruption, and the answer if no plan fits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/progress.h"
#include "pipeline/pipeline.h"

namespace pantoum::plan {
struct Infeasible;
}

namespace pantoum::cli {

// Connects progress and Ctrl-C to the planner's options. `label` precedes every line that is shown. `line` and `label` must outlive the request.
void attach(plan::PlanOptions& options, ProgressLine& line, const std::string* label = nullptr);

// Shows the progress of measurements. `line` must outlive the request.
void attach_measuring(pipeline::Measuring& measuring, ProgressLine& line);

// RAM that was given as a share, which is no budget: refused once it is known what the unplanned step takes.
struct Share {
  double of_unplanned;
  Error refusal;

  // The refusal, with what the unplanned step takes; 0: nobody knows.
  [[nodiscard]] Error refused(problem::Bytes unplanned) const;
};

// The settings `fields`, where --ram as a share is put into `share`, with its refusal.
[[nodiscard]] settings::Fields with_share(settings::Fields fields, std::optional<Share>& share);

// The options of every verb that plans a step.
struct StepAsked {
  std::string model;  // its path
  std::string costgraph;  // in place of a model; "": none
  bool one_slot = false;  // of a cost graph: the freedom of that name
  ModelOptions options;
  Device device;
  PlanOptions plan;

  // The settings with which the plan of --plan was made.
  struct Planned {
    problem::Plan plan;
    ModelOptions options;
    Device device;
    PlanOptions settings;
    std::optional<pipeline::ChosenUpdates> updates;
  };
  std::string plan_input;  // "": none
  std::shared_ptr<const Planned> planned = {};

  std::optional<Share> share = {};
};

[[nodiscard]] std::vector<std::string> planner_names();

// The settings of the plan; RAM that is given as a share is put into asked.share.
[[nodiscard]] settings::Fields plan_fields(StepAsked& asked);

// Adds --costgraph, and what goes with it alone.
void add_cost_graph(Verb& verb, StepAsked& asked);
// Adds the settings of model, device and plan, except those named in `without`.
void add_step_settings(Verb& verb, StepAsked& asked, const std::vector<std::string>& without = {});
// Adds --plan. With it, all settings start with the values of the plan, and check_beside_plan() checks the options that are given in addition. Calls
// `taken` with the plan's settings, so that other options can start with them, too.
void add_plan_input(Verb& verb, StepAsked& asked, const std::string& help,
                    std::function<void(const PlanOptions&)> taken = {});
// E0231: a given setting would change the planned step; the error has both values. E0110: a share of RAM.
[[nodiscard]] Result<void> check_beside_plan(const StepAsked& asked);

[[nodiscard]] pipeline::ModelRequest model_of(const StepAsked& asked);
// Makes the plan request; `usual_objective` is the objective if none is given ("": the device's). If no store of measured times is named, the program's own store is used. E0110: a share of RAM, with what the
// unplanned step takes; E0115 to E0121, E0300.
[[nodiscard]] Result<pipeline::PlanRequest> plan_of(const StepAsked& asked,
                                                     const std::string& usual_objective = "");

// Returns the peak of the training step without a plan. Nothing is measured or planned.
[[nodiscard]] Result<problem::Bytes> unplanned_peak(const StepAsked& asked);
// The same of a step that was planned; 0: nobody knows.
[[nodiscard]] problem::Bytes unplanned_peak(const problem::Plan& plan);

void add_dump_option(Verb& verb, std::vector<std::string>& passes);
// Returns the function that prints the result of the pass that --dump-after names; null without --dump-after. E0115: the pass is unknown.
[[nodiscard]] Result<pipeline::Dump> dump_of(const std::vector<std::string>& passes);

// Returns E0999 with what is known if the search was interrupted before it found a plan, else the error itself.
[[nodiscard]] Error unless_interrupted(Error error);

void print_note(const std::string& note);
void print_warning(const std::string& warning);

// The files to write if no plan is found; "": none.
struct RefusalFiles {
  std::string min_plan;  // the smallest known plan
  std::string refusal;   // the proof that there is none
};

// Writes the files, and prints the JSON answer with --format json. The refusal is written only if its proof is of exactly the
// question asked.
[[nodiscard]] Result<void> report_infeasible(const Error& error, const plan::Infeasible& infeasible,
                                             const Common& common, const RefusalFiles& files);

// The file of measured times that is used unless --profile-store names another.

// "" where the user has no folder.
[[nodiscard]] std::string default_profile_store();

}  // namespace pantoum::cli
