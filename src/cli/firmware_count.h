// What `pantoum run-firmware --count` tells.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "emit/count.h"

namespace pantoum::cli {

// Of one step: instructions in all, then by kernel, the most first, with its multiply-accumulates; instructions over
// the multiply-accumulates that are needed, of all products.
[[nodiscard]] std::string to_text(const emit::Counted& counted);
[[nodiscard]] nlohmann::ordered_json to_json(const emit::Counted& counted);

}  // namespace pantoum::cli
