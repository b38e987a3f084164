// Ctrl-C, SIGTERM, a terminal that is closed: once asks to stop and keep what there is, twice ends at once.
#pragma once

#include <stop_token>

namespace pantoum::cli {

// Blocks SIGINT, SIGTERM and SIGHUP (those that are not ignored, as nohup does) in this thread and all that it starts
// later, and starts the thread that waits for them; call before any other is started. Until someone asks by interrupted(),
// and at the second one, they end the process with 130 and E0999. A file that may not grow (ulimit -f) and a pipe without a
// reader become errors of the write that meets them.
void watch_interrupts();

// Stopped by the first signal. std::system_error where the system gave no thread to wait for it.
[[nodiscard]] std::stop_token interrupted();

// Whether that signal came; asks for nothing.
[[nodiscard]] bool was_interrupted();

}  // namespace pantoum::cli
