// A plan in a few lines, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "check/replay.h"
#include "pipeline/pipeline.h"

namespace pantoum::plan {
struct Infeasible;
}

namespace pantoum::cli {

struct PlanSummary {
  const problem::Plan& plan;
  const check::Found& found;
  problem::Predicted unplanned;
  int64_t micro_batches = 1;                         // of a step
  std::optional<check::Found> micro_batch = {};      // of all but the last
  std::vector<pipeline::Substitution> made_by = {};  // the graph
  problem::Seconds measuring_s = 0;                  // spent on times of this machine
  std::string expression = {};                       // what was to be least, where that is no question's objective
};

[[nodiscard]] PlanSummary summary_of(const pipeline::Compiled& compiled);  // which outlives it
[[nodiscard]] std::string to_text(const PlanSummary& summary);
[[nodiscard]] nlohmann::ordered_json to_json(const PlanSummary& summary);
// Where there is no plan. `proved`: for exactly the question asked; else it is only not found.
[[nodiscard]] nlohmann::ordered_json to_json(const plan::Infeasible& infeasible, bool proved);

}  // namespace pantoum::cli
