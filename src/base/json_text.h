// JSON documents as text that people can read and compare: one tensor, op or instruction a line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace pantoum::base {

// On one line, or with `indent` spaces a level; no newline at the end. ASCII alone, so that no name can steer a terminal
// or hide from a reader: other letters are written as \u202e. Bytes that are no UTF-8 are replaced by U+FFFD.
[[nodiscard]] std::string ascii_json(const nlohmann::ordered_json& document, int indent = -1);

// Objects hold one key a line down to depth 2; an array of objects holds one item a line; everything else stands on one
// line. Numbers are written so that reading them gives the same double. Letters as in ascii_json. Ends with a newline.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& document);

}  // namespace pantoum::base
