// Handles SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal). The first signal asks the verb to stop and keep its results; the second ends the
// process at once.
#pragma once

#include <stop_token>

namespace pantoum::cli {

// Blocks SIGINT, SIGTERM and SIGHUP in this thread and in the threads that it starts later, and starts a thread that waits for these signals. Call
// this function before any other thread is started. A signal that the process ignores (nohup ignores SIGHUP) stays ignored. The first signal ends the
// process with exit code 130 and E0999, unless interrupted() was called before; the second signal always does. Also ignores SIGXFSZ and SIGPIPE, so
// that a write beyond the limit of a file (ulimit -f), or to a pipe without a reader, returns an error.
void watch_interrupts();

// Returns a token that the first signal stops. After this call the first signal no longer ends the process. Throws std::system_error if the system
// gave no thread that waits for signals.
[[nodiscard]] std::stop_token interrupted();

// Returns whether the first signal has come. Unlike interrupted(), this function does not change what the first signal does.
[[nodiscard]] bool was_interrupted();

}  // namespace pantoum::cli
