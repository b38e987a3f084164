// Plan files: `pantoum.plan/2` (and `/1`), with the cost graph inside.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "problem/plan.h"

namespace pantoum::problem {

// Refuses unknown versions and keys (except "x-..."), wrong types, non-finite quantities: E0230 with the key's path.
// `needs_graph`: the plan must carry its graph (a file does; a plan beside its cost graph need not). What is wrong in
// the graph is E0220 or E0221. What the file does not predict is -1 (bytes) or NaN.
Result<Plan> parse_plan(std::string_view json_text, const std::string& where, bool needs_graph = true);
// The same of a document, or of a part of one: `path` is where the plan stands in it, for errors.
Result<Plan> plan_from_json(const nlohmann::json& json, const std::string& where, const std::string& path,
                            bool needs_graph = true);
Result<Plan> read_plan(const std::string& path);

nlohmann::ordered_json to_json(const Plan& plan);
// What stands in a plan under solver.separators.
nlohmann::ordered_json separators_json(const std::vector<SeparatorCount>& separators);
// Atomic: a file that exists is replaced only by a whole new one.
Result<void> write_plan(const Plan& plan, const std::string& path);

}  // namespace pantoum::problem
