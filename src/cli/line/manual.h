// The manual, made from the options themselves: man pages (mdoc), and one page of Markdown with every verb.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/line/facts.h"

namespace pantoum::cli {

// (file name, text): pantoum.1, and pantoum-VERB.1 of every verb that --help names.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> man_pages(const ProgramFacts& program);

// docs/cli.md.
[[nodiscard]] std::string reference_page(const ProgramFacts& program);

// Scripts that complete verbs, options and their values in a shell, made from the options themselves.

// `shell`: bash, zsh or fish; "" of any other.
[[nodiscard]] std::string completion_script(const std::string& shell, const ProgramFacts& program);

}  // namespace pantoum::cli
