#include "cli/interrupt.h"

#include <unistd.h>
#include <csignal>

#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "cli/last_words.h"
#include "cli/output.h"

namespace pantoum::cli {
namespace {

// Does the process ignore the signal? nohup, and a shell that starts a job in the background, set it so.
bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (!is_ignored(signal)) sigaddset(&set, signal);
  return set;
}

[[noreturn]] void end_at_once(bool again) {
  if (has_status_line()) say_at_once("\r\033[K");
  say_at_once(again ? "error[E0999]: interrupted again, and ended at once\n"
                    : "error[E0999]: interrupted\n  help: what stood there before is whole\n");
  _exit(130);
}

std::stop_source source;
std::mutex asking;  // held while the process ends at once, so that no thread begins to write
bool someone_asks = false;
std::optional<std::system_error> no_thread;

void wait_for_interrupts(const sigset_t& set) {
  for (bool again = false;; again = true) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) return;
    const std::lock_guard lock(asking);
    if (again || !someone_asks) end_at_once(again);
    source.request_stop();
  }
}

}  // namespace

void watch_interrupts() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::signal(SIGXFSZ, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
    const sigset_t set = interrupts();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    try {
      std::thread(wait_for_interrupts, set).detach();
    } catch (const std::system_error& error) {
      pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
      no_thread = error;
    }
  });
}

bool was_interrupted() {
  return source.stop_requested();
}

std::stop_token interrupted() {
  if (no_thread) throw std::system_error(*no_thread);
  const std::lock_guard lock(asking);
  someone_asks = true;
  return source.get_token();
}

}  // namespace pantoum::cli
