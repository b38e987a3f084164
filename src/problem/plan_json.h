// Plan files, `pantoum.plan/2`, and refusal files, `pantoum.refusal/1`, each with its cost graph inside.
//
// A question, which both carry under "question":
//   {"budget_bytes": 16384, "deadline_s": null, "energy_limit_j": null, "objective": "energy",
//    "freedoms": {"paging": true, "recomputing": true, "in_place": true, "reordering": true, "numerics": false}}
// What is not asked for is null. With the objective "weighted" it also has "weights": {"energy": 1, "time": 2}.
//
// The certificate of a bound, which a plan carries under "x-certificate":
//   {"question": {...}, "bound": 0.11, "second_price_w": 2, "most_seconds": 3, "order": [op ids], "any_order": true,
//    "boundaries": [stages], "rows": [["need", multiplier, numbers...], ...],
//    "cases": [["in_ram", segment, index], ["rows", row, multiplier, row, multiplier, ...], ...]}
// with the rules and their numbers as problem/plan.h has them. Price, most_seconds, any_order and cases may be left out.
//
// A refusal:
//   {"schema": "pantoum.refusal/1", "question": {...}, "proved": {"of": "ram", "least": 20480, "order": "any"},
//    "certificate": {...} or null, "plan": {...} or null, "graph": {...}}
// Its plan has no graph of its own.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_reader.h"
#include "problem/plan.h"

namespace pantoum::problem {

// Refuses unknown versions and keys (except "x-..."), wrong types, non-finite quantities: E0230 with the key's path.
// `needs_graph`: the plan must carry its graph (a file does; a plan beside its cost graph need not). What is wrong in
// the graph is E0220 or E0221. What the file does not predict is -1 (bytes) or NaN.
Result<Plan> parse_plan(std::string_view json_text, const std::string& where, bool needs_graph = true);
Result<Plan> read_plan(const std::string& path);

// A plan or a refusal; the schema says which. What is wrong in a refusal itself is E0232.
Result<std::variant<Plan, Refusal>> read_answer(const std::string& path);
Result<std::variant<Plan, Refusal>> parse_answer(std::string_view json_text, const std::string& where);

nlohmann::ordered_json to_json(const Plan& plan);
nlohmann::ordered_json to_json(const Refusal& refusal);
// Writes what a plan has under solver.separators.
nlohmann::ordered_json separators_json(const std::vector<SeparatorCount>& separators);
// Atomic: a file that exists is replaced only by a whole new one.
Result<void> write_plan(const Plan& plan, const std::string& path);
Result<void> write_refusal(const Refusal& refusal, const std::string& path);

// Every key of a question is needed; what is wrong is kept in the node's errors, with its path.
Question read_question(const base::JsonNode& node);
nlohmann::ordered_json question_json(const Question& question);

}  // namespace pantoum::problem
