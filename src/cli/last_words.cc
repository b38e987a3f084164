#include "cli/last_words.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>
#include <new>
#include <string_view>

#include "base/no_unwinding.h"
#include "base/out_of_memory.h"

namespace pantoum::cli {
namespace {

constexpr int kExitCode = 9;
constexpr uintptr_t kNullPageBytes = 65536;  // nothing is mapped there
constexpr size_t kStackBytes = size_t{8} << 20, kLeastStackBytes = size_t{1} << 20;
constexpr std::string_view kText =
    "error[E0910]: out of memory\n"
    "  help: free some memory or raise the limit (ulimit -v, ulimit -d); a smaller --batch or model takes less\n";
constexpr std::string_view kJson =
    "{\"error\":\"E0910\",\"message\":\"out of memory\",\"where\":\"\",\"notes\":[],"
    "\"help\":\"free some memory or raise the limit (ulimit -v, ulimit -d); a smaller --batch or model takes "
    "less\",\"exit\":9}\n";

bool is_about_memory(const std::exception_ptr& thrown) {
  if (!thrown) return false;
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

std::terminate_handler otherwise = nullptr;

void last_words() {
  if (!is_about_memory(std::current_exception())) otherwise();
  say_at_once(kText);
  _exit(kExitCode);
}

std::atomic<bool> refused = false;

// Called by operator new when malloc gave nothing.
void on_refused_memory() {
  refused = true;
  if (!base::NoUnwinding::stands()) throw std::bad_alloc();
  say_at_once(kText);
  _exit(kExitCode);
}

// CBC and its cuts use what malloc gave without a look at it: an access to the null page, or anywhere inside a solver, on a
// thread whose malloc has just failed.
// Anything else is a mistake, and the signal it was: the store is made again when the handler has gone.
void on_bad_address(int signal, siginfo_t* info, void*) {
  const bool is_null = reinterpret_cast<uintptr_t>(info->si_addr) < kNullPageBytes;
  if (errno == ENOMEM && (is_null || base::NoUnwinding::stands())) {
    say_at_once(kText);
    _exit(kExitCode);
  }
  std::signal(signal, SIG_DFL);
}

}  // namespace

void say_at_once(std::string_view text) {
  while (::write(STDERR_FILENO, text.data(), text.size()) < 0 && errno == EINTR) {
  }
}

int tell_out_of_memory(bool json) {
  say_at_once(json ? kJson : kText);
  return kExitCode;
}

bool memory_was_refused() {
  return refused;
}

void end_without_memory() {
  otherwise = std::set_terminate(last_words);
  std::set_new_handler(on_refused_memory);
  struct sigaction action {};
  action.sa_sigaction = on_bad_address;
  action.sa_flags = SA_SIGINFO;
  (void)::sigaction(SIGSEGV, &action, nullptr);
}

Result<void> keep_stacks() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kStackBytes) {
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, kStackBytes);
    if (::setrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur < kLeastStackBytes)
      return fail(base::kOutOfMemory, fmt::format("the stack may have no more than {} bytes", limit.rlim_max),
                  "ulimit -s", fmt::format("allow {}", kStackBytes));
  }
  pthread_attr_t attributes;
  size_t bytes = 0;
  if (pthread_getattr_default_np(&attributes) != 0) return {};
  if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < kLeastStackBytes &&
      pthread_attr_setstacksize(&attributes, kStackBytes) == 0)
    (void)pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
  return {};
}

void keep_standard_files() {
  for (int file = 0; file <= 2; ++file)
    if (::fcntl(file, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY);
}

}  // namespace pantoum::cli
