#include "cli/interrupt.h"

#include <unistd.h>
#include <csignal>

#include <thread>

namespace pantoum::cli {
namespace {

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

void wait_for_interrupts(std::stop_source source) {
  const sigset_t set = interrupts();
  for (int received = 0;; ++received) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) return;
    if (received > 0) _exit(130);
    source.request_stop();
  }
}

}  // namespace

void block_interrupts() {
  const sigset_t set = interrupts();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);
}

std::stop_token interrupted() {
  static const std::stop_token token = [] {
    std::stop_source source;
    std::thread(wait_for_interrupts, source).detach();
    return source.get_token();
  }();
  return token;
}

}  // namespace pantoum::cli
