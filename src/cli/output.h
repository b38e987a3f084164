// All output of the program. These functions make control characters visible, so that the name of a model, file or column cannot control the
// terminal, and they keep messages off the progress line.
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

// Prints a note (neither a result nor an error) to stderr: "note: ..." or, after print_notes_as_json, {"note": ...}.
void print_remark(const char* kind, std::string_view text);
void print_notes_as_json();
// From this call on, neither notes nor progress are printed. Warnings, errors and results are.
void keep_quiet();
[[nodiscard]] bool is_quiet();
[[nodiscard]] bool notes_are_json();

// Sets a function that transforms the text of every later message; empty: no transformation.
void name_in_messages(std::function<std::string(std::string)> names);

// From this call on, print_result writes to stderr, because a file is written to standard output.
void keep_stdout_for_a_file();

// Checks the output to stdout so far. E0901: some of it could not be written: the disk is full, or there is no stdout; or a pipe's reader ended before
// it had the whole of a file. A reader that ends before the end of a text is no error.
[[nodiscard]] Result<void> check_printed();

// The same as print_result(fmt::format(...)).
template <class... Values>
void print_formatted(fmt::format_string<Values...> format, Values&&... values) {
  print_result(fmt::format(format, std::forward<Values>(values)...));
}

// The status line on stderr, which is rewritten during long work. All printing functions share it, so that a message never follows it on the same
// line.

// Returns whether stderr is a terminal whose line can be rewritten.
[[nodiscard]] bool has_status_line();

// Rewrites the status line, cut so that it does not wrap. If stderr has no such line, prints a separate line. Allocates no memory.
void show_status(std::string_view text);

// Removes the line, if it is shown.
void clear_status();

// Prints a text to stderr, after removing the status line.
void write_message(std::string_view text);

}  // namespace pantoum::cli
