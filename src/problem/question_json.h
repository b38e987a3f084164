// A question as plan files and certificates carry it, under "question":
//   {"budget_bytes": 16384, "deadline_s": null, "energy_limit_j": null, "objective": "energy",
//    "freedoms": {"paging": true, "recomputing": true, "in_place": true, "reordering": true, "numerics": false}}
// What is not asked for is null. "objective" is "energy", "time", "edp" or, of certificates, "ram".
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/json_reader.h"
#include "problem/question.h"

namespace pantoum::problem {

// Every key is needed; what is wrong is kept in the node's errors, with its path.
Question read_question(const base::JsonNode& node);
Objective read_objective(const base::JsonNode& node);

nlohmann::ordered_json question_json(const Question& question);
const char* objective_name(Objective objective);

}  // namespace pantoum::problem
