// Refusals as files, `pantoum.refusal/1`:
//   {"schema": "pantoum.refusal/1", "question": {...}, "proved": {"of": "ram", "least": 20480, "order": "any"},
//    "certificate": {...} or null, "plan": {...} or null, "graph": {...}}
// with the question, the certificate, the plan (but for its graph) and the graph as plan files have them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "problem/refusal.h"

namespace pantoum::problem {

// Refuses unknown versions and keys (except "x-..."), wrong types, numbers out of range: E0232 with the key's path; what
// is wrong in the plan is E0230, in the graph E0220 or E0221.
Result<Refusal> parse_refusal(std::string_view json_text, const std::string& where);

// A file with either of the planner's answers, told apart by its schema.
Result<std::variant<Plan, Refusal>> read_answer(const std::string& path);
Result<std::variant<Plan, Refusal>> parse_answer(std::string_view json_text, const std::string& where);

nlohmann::ordered_json to_json(const Refusal& refusal);
// Atomic: a file that exists is replaced only by a whole new one.
Result<void> write_refusal(const Refusal& refusal, const std::string& path);

}  // namespace pantoum::problem
