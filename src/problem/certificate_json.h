// The certificate of a bound as a plan file carries it, under "x-certificate":
//   {"objective": "energy", "bound": 0.11, "ram_bytes": 16384, "deadline_s": null, "most_seconds": 0, "paging": true,
//    "remat": true, "in_place": true, "any_numerics": false, "order": [op ids], "any_order": false, "boundaries": [stages],
//    "rows": [["need", multiplier, numbers...], ...], "cases": [["in_ram", segment, index], ["rows", row, multiplier,
//    row, multiplier, ...], ...]}
// with the rules and their numbers as problem/plan.h has them; "cases" only where there are any.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/json_reader.h"
#include "problem/plan.h"

namespace pantoum::problem {

// Checks the form alone; what is wrong is kept in the node's errors, with its path.
Certificate read_certificate(const base::JsonNode& node);
nlohmann::ordered_json certificate_json(const Certificate& certificate);

}  // namespace pantoum::problem
