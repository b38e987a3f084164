// The one line on stderr that is written anew while something goes on. It is shared by all who print: a message never
// stands behind it on the same line.
#pragma once

#include <string_view>

namespace pantoum::cli {

// Whether stderr is a terminal whose line can be rewritten.
[[nodiscard]] bool has_status_line();

// Writes the line anew, cut so that it does not wrap; where there is no such line, a line of its own. Takes no memory.
void show_status(std::string_view text);

// Takes the line away, where it stands.
void clear_status();

// A whole text to stderr, the line taken away before it.
void write_message(std::string_view text);

}  // namespace pantoum::cli
