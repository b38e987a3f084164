// Texts that others chose (names of tensors, files, columns and classes; what a library says), written so that the place
// where they stand reads them as data. One function for each kind of place; JSON's is in json_text.h.
//
// All but shell_word and csv_field show what cannot be seen as letters: control characters, line ends, what reorders or
// hides letters (Unicode's bidirectional controls, for example) and bytes that are no UTF-8 become \n, \x1b, \u202e.
#pragma once

#include <string>
#include <string_view>

namespace pantoum::base {

// Whether all of it is UTF-8: no surrogates, no form that is longer than need be.
[[nodiscard]] bool is_utf8(std::string_view text);

// A name inside a line for a terminal or a log.
[[nodiscard]] std::string one_line(std::string_view text);

// A whole text of our own, for a terminal: as one_line, but its line ends stay.
[[nodiscard]] std::string visible_lines(std::string_view text);

// Inside an element or an attribute of HTML and SVG, between quotes of either kind.
[[nodiscard]] std::string html_text(std::string_view text);

// Inside a comment of C, which it cannot end, continue or nest: "/* " + c_comment(name) + " */".
[[nodiscard]] std::string c_comment(std::string_view text);

// Inside a line of Markdown, without a meaning there.
[[nodiscard]] std::string markdown_text(std::string_view text);

// One word of a POSIX shell, never an option: as it is where a shell leaves it alone, else in single quotes.
[[nodiscard]] std::string shell_word(std::string_view text);

// One field of CSV (RFC 4180).
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace pantoum::base
