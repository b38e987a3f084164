// Parses the words of a command line: finds the verb, the options and their values, or reports errors in words that help a new user.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/line/facts.h"

namespace pantoum::cli {

struct Read {
  const VerbFacts* verb = nullptr;                  // the program itself where none was given, with --help or --version
  bool help = false, all = false, version = false;  // all: --help-all
  std::vector<Given> given;
};

// E0100: some words are not understood; the error lists all of them. Words that belong together ("64 MB") become one value.
[[nodiscard]] Result<Read> read_words(const ProgramFacts& program, std::vector<std::string> words);

}  // namespace pantoum::cli
