// The device profiles that are compiled in: (name, TOML text), ascending by name.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pantoum::cost {

[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& builtin_devices();

}  // namespace pantoum::cost
