// Ctrl-C: once asks to stop and keep what there is, twice aborts.
#pragma once

#include <stop_token>

namespace pantoum::cli {

// Blocks SIGINT and SIGTERM in this thread and all that it starts later; call before any thread is started.
// A file that may not grow (ulimit -f) becomes an error of the write that meets it.
void block_interrupts();

// Starts (once) the thread that waits for the signals. The token is stopped by the first one; the second ends the
// process with 130.
[[nodiscard]] std::stop_token interrupted();

}  // namespace pantoum::cli
