// What the program says when it has no memory to say anything with, the three files that it says it to, and its stacks.
#pragma once

#include <string_view>

#include "base/result.h"

namespace pantoum::cli {

// Writes to stderr in whatever state the process is. A failure is ignored.
void say_at_once(std::string_view text);

// E0910 on stderr, as text or JSON; returns its exit code. Takes no memory.
int tell_out_of_memory(bool json);

// Where no memory is left inside something that may not fail (a destructor, say; code of CBC that does not look whether
// malloc gave any), the process ends with E0910 in place of a signal. What it was writing stays as it was; a .part or
// .lock file may be left, as by a process that was killed.
void end_without_memory();

// Was memory refused to this process at any time? Code that caught the exception may have reported another error.
[[nodiscard]] bool memory_was_refused();

// Opens what of stdin, stdout and stderr is closed: else a file of the run would take its number, and be printed into.
// Nothing can be written to what was closed.
void keep_standard_files();

// Lets stacks, main's and those of threads, grow to 8 MiB where the limit (ulimit -s) is lower and may be raised. E0910
// where they may not have 1 MiB: running over a stack is a signal.
[[nodiscard]] Result<void> keep_stacks();

}  // namespace pantoum::cli
