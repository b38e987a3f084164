// Messages that need no memory, for a process that has none left; and preparations for them: the three standard files, and the sizes of stacks.
#pragma once

#include <string_view>

#include "base/result.h"

namespace pantoum::cli {

// Writes to stderr; works in every state of the process. Ignores failures.
void say_at_once(std::string_view text);

// Writes E0910 to stderr, as text or JSON, and returns its exit code. Allocates no memory.
int tell_out_of_memory(bool json);

// After this call, if memory runs out in code that cannot report it (a destructor, or code of CBC that does not test the result of malloc), the
// process ends with E0910 in place of a signal. The files that it was writing stay unchanged; a .part or .lock file may remain, as after a process
// that was killed.
void end_without_memory();

// Returns whether an allocation of this process has failed at any time. Code that caught the exception may have reported another error.
[[nodiscard]] bool memory_was_refused();

// Opens those of stdin, stdout and stderr that are closed. Otherwise a file of the run would get the number of a closed one, and messages would be
// printed into it. Writes to a file that was closed still fail.
void keep_standard_files();

// Lets the stacks of main and of threads grow to 8 MiB, if the limit (ulimit -s) is lower and may be raised. E0910: the limit is below 1 MiB, because
// a stack overflow would end the process with a signal.
[[nodiscard]] Result<void> keep_stacks();

}  // namespace pantoum::cli
