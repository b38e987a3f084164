// What the program prints: all of it passes here, so that no name of a model, a file or a column steers the terminal, and
// no message is appended to the progress line.
#pragma once

#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace pantoum::cli {

void print_result(std::string_view text);                              // to stdout, its controls made visible
void print_message(std::string_view text);                             // to stderr, the same; painted on a terminal
void print_json(const nlohmann::ordered_json& json, int indent = -1);  // to stdout, in ASCII, with a newline
void print_bytes(std::string_view bytes);  // to stdout, as they are: our own text with colours, a file

// A word to the user that is no result and no error, to stderr: "note: ..." or, after print_notes_as_json, {"note": ...}.
void print_remark(const char* kind, std::string_view text);
void print_notes_as_json();
[[nodiscard]] bool notes_are_json();

// What is done to the text of every message, from here on; empty: nothing.
void name_in_messages(std::function<std::string(std::string)> names);

// From this call on, print_result writes to stderr, because a file is written to standard output.
void keep_stdout_for_a_file();

// E0901 where something printed to stdout so far did not get there: a full disk, a pipe whose reader has gone, no stdout.
[[nodiscard]] Result<void> check_printed();

// The same as print_result(fmt::format(...)).
template <class... Values>
void print_formatted(fmt::format_string<Values...> format, Values&&... values) {
  print_result(fmt::format(format, std::forward<Values>(values)...));
}

// The one line on stderr that is written anew while something goes on. It is shared by all who print: a message never
// stands behind it on the same line.

// Whether stderr is a terminal whose line can be rewritten.
[[nodiscard]] bool has_status_line();

// Writes the line anew, cut so that it does not wrap; where there is no such line, a line of its own. Takes no memory.
void show_status(std::string_view text);

// Removes the line, if it is shown.
void clear_status();

// A whole text to stderr, the line taken away before it.
void write_message(std::string_view text);

}  // namespace pantoum::cli
