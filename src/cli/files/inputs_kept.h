// An output does not take the place of an input, or of another output: by any name, through any link.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/line/facts.h"

namespace pantoum::cli {

struct NamedOutput {
  const char* option;
  std::string path;  // "": it is not written
};

// Checks a command line's outputs against all that it reads, and against each other, and has its inputs guarded until the program
// ends (base/inputs_in_use.h). Nothing is changed before. `store`: the
// profile store where none is named. E0125.
[[nodiscard]] Result<void> keep_inputs(const std::vector<Given>& given, const std::string& store);

// Adds an input that an option names inside its value. Before keep_inputs.
void keep_input(const std::string& option, const std::string& path);

// The same for outputs that have names of the verb's own; `more`: inputs that a plan names, kept from now on. E0125.
[[nodiscard]] Result<void> check_no_input(const std::vector<NamedOutput>& outputs,
                                          const std::vector<NamedOutput>& more);

// E0125 two of the outputs are one file. Several outputs may share a pipe or a device.
[[nodiscard]] Result<void> check_distinct(const std::vector<NamedOutput>& outputs);

}  // namespace pantoum::cli
