// The words of a command line against what the program knows: which verb, which options with which values, or what is
// wrong, told so that a new user can go on.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/line/facts.h"

namespace pantoum::cli {

struct Read {
  const VerbFacts* verb = nullptr;  // the program itself where none was given, with --help or --version
  bool help = false, all = false, version = false;  // all: --help-all
  std::vector<Given> given;
};

// E0100 with all that is not understood at once. Words that belong together ("64 MB") become one value.
[[nodiscard]] Result<Read> read_words(const ProgramFacts& program, std::vector<std::string> words);

}  // namespace pantoum::cli
