// What the program prints: all of it passes here, so that no name of a model, a file or a column steers the terminal.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "pantoum/result.h"

namespace pantoum::cli {

void print_result(std::string_view text);                              // to stdout, its controls made visible
void print_message(std::string_view text);                             // to stderr, the same
void print_json(const nlohmann::ordered_json& json, int indent = -1);  // to stdout, in ASCII, with a newline

// E0901 where something printed to stdout so far did not get there: a full disk, a pipe whose reader has gone, no stdout.
[[nodiscard]] Result<void> check_printed();

// As print_result(fmt::format(...)).
template <class... Values>
void print_formatted(fmt::format_string<Values...> format, Values&&... values) {
  print_result(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace pantoum::cli
