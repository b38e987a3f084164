// Text of unknown origin (names in a model's file) on its way to a terminal.
#pragma once

#include <string>
#include <vector>

namespace pantoum::base {

// Control characters other than line feeds and tabs as "\x1b": they could move the cursor, or end the text.
[[nodiscard]] std::string printable(const std::string& text);
[[nodiscard]] std::vector<std::string> printable(std::vector<std::string> texts);

}  // namespace pantoum::base
