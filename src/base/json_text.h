// JSON documents as text that people can read and compare: one tensor, op or instruction a line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace pantoum::base {

// Objects hold one key a line down to depth 2; an array of objects holds one item a line; everything else stands on one
// line. Numbers are written so that reading them gives the same double. Bytes that are no UTF-8 are replaced. Ends with
// a newline.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& document);

}  // namespace pantoum::base
