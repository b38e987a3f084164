// A short summary of a plan, as text and as JSON.
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
  problem::Plan plan;
  check::Found found;
  problem::Predicted unplanned;
  int64_t micro_batches = 1;                         // of a step
  std::optional<check::Found> micro_batch = {};      // of all but the last
  std::vector<pipeline::Substitution> made_by = {};  // the graph
  std::optional<pipeline::ChosenUpdates> updates = {};
  problem::Seconds measuring_s = 0;                  // spent on times of this machine
  bool ram_of_profile = false;                       // no RAM was asked for
  std::string expression = {};  // the formula that was minimized, if it is no objective of a question
};

[[nodiscard]] const char* status_of(const problem::Plan& plan);  // "optimal", "feasible"
[[nodiscard]] nlohmann::ordered_json to_json(
    const problem::Bound& bound);  // the proved values, and the orders for which they hold
[[nodiscard]] PlanSummary summary_of(const pipeline::Compiled& compiled);
[[nodiscard]] std::string to_text(const PlanSummary& summary);
[[nodiscard]] nlohmann::ordered_json to_json(const PlanSummary& summary);
// The answer if there is no plan. `proved`: it is proved for exactly the question asked; else none was found.
[[nodiscard]] nlohmann::ordered_json to_json(const plan::Infeasible& infeasible, bool proved);

}  // namespace pantoum::cli
