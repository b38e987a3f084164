// Rows of the table of a run: what a meter found.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace pantoum::report {

// (what, value) of the last event of a run log; none where nothing was measured. Values are those of a stranger's file.
[[nodiscard]] std::vector<std::pair<const char*, std::string>> measured_energy(const nlohmann::ordered_json& end);

}  // namespace pantoum::report
