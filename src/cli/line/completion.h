// Scripts that complete verbs, options and their values in a shell, made from the options themselves.
#pragma once

#include <string>

#include "cli/line/facts.h"

namespace pantoum::cli {

// `shell`: bash, zsh or fish; "" of any other.
[[nodiscard]] std::string completion_script(const std::string& shell, const ProgramFacts& program);

}  // namespace pantoum::cli
