// What plan and train share around the planner: progress, interruption, the answer to an impossible budget.
#pragma once

#include <optional>
#include <string>

#include "cli/cli.h"
#include "cli/progress.h"
#include "pipeline/pipeline.h"

namespace pantoum::plan {
struct Infeasible;
}

namespace pantoum::cli {

// Connects progress and Ctrl-C to the planner's options; `line` outlives the request, and so does `label`, which stands
// before every line that is shown.
void attach(plan::PlanOptions& options, ProgressLine& line, const std::string* label = nullptr);

// Tells how far measuring is; `line` outlives the request.
void attach_measuring(pipeline::MeasureOptions& options, ProgressLine& line);

// Reads --warm-start into `kept`, which outlives the request.
[[nodiscard]] Result<void> attach_warm_start(pipeline::PlanRequest& request, const std::string& path,
                                             std::optional<problem::Plan>& kept);

// Of a search that was interrupted before it had a plan: E0999 with what is known.
[[nodiscard]] Error unless_interrupted(Error error);

void print_note(const std::string& note);
void print_warning(const std::string& warning);

// Where no plan was found: files that were asked for; "": not.
struct RefusalFiles {
  std::string min_plan;  // the smallest known plan
  std::string refusal;   // the proof that there is none
};

// Writes them, and prints the JSON answer with --format json. Nothing is written as a proof that is none of exactly the
// question asked.
[[nodiscard]] Result<void> report_infeasible(const Error& error, const plan::Infeasible& infeasible,
                                             const Common& common, const RefusalFiles& files);

}  // namespace pantoum::cli
