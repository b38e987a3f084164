// The certificate of a bound as a plan file carries it, under "x-certificate":
//   {"objective": "energy", "bound": 0.11, "ram_bytes": 16384, "deadline_s": null, "most_seconds": 0, "paging": true,
//    "remat": true, "in_place": true, "any_numerics": false, "order": [op ids], "boundaries": [stages],
//    "rows": [["need", multiplier, numbers...], ...], "cases": [["in_ram", epoch, index], ["rows", row, multiplier,
//    row, multiplier, ...], ...]}
// with the rules and their numbers as plan/plan.h has them; "cases" only where there are any.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cost/json_reader.h"
#include "plan/plan.h"

namespace pantoum::artifact {

// Checks the form alone; what is wrong is kept in the node's errors, with its path.
[[nodiscard]] plan::Certificate read_certificate(const cost::JsonNode& node);
[[nodiscard]] nlohmann::ordered_json certificate_json(const plan::Certificate& certificate);

}  // namespace pantoum::artifact
