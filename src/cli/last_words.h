// What the program says when it has no memory to say anything with, and the three files that it says it to.
#pragma once

#include <string_view>

namespace pantoum::cli {

// On stderr, whatever state the process is in; nothing is done where it fails.
void say_at_once(std::string_view text);

// E0910 on stderr, as text or JSON; returns its exit code. Takes no memory.
int tell_out_of_memory(bool json);

// Where no memory is left inside something that may not fail (a destructor, say), the process ends with E0910 in place of
// a signal. What it was writing stays as it was; a .part or .lock file may be left, as by a process that was killed.
void end_without_memory();

// Opens what of stdin, stdout and stderr is closed: else a file of the run would take its number, and be printed into.
// Nothing can be written to what was closed.
void keep_standard_files();

}  // namespace pantoum::cli
