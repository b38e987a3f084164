#include "cli/step_requests.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace pantoum::cli {

bool StepRequests::next() {
  constexpr int kPatience = 100;  // milliseconds: after so long at most, a wish to stop is seen
  while (waiting_ == 0) {
    if (stop_.stop_requested()) return false;
    pollfd waited{.fd = descriptor_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waited, 1, kPatience);
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    std::array<char, 512> read{};
    const ssize_t count = ::read(descriptor_, read.data(), read.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return false;
    waiting_ = static_cast<size_t>(std::count(read.begin(), read.begin() + count, '\n'));
  }
  --waiting_;
  return true;
}

}  // namespace pantoum::cli
