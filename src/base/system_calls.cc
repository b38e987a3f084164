#include "base/system_calls.h"

#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>

namespace pantoum::base {
namespace {

// Only what can be waited for: a regular file is always ready, and would say EAGAIN again.
bool wait_until_writable(int file) {
  pollfd waiting{.fd = file, .events = POLLOUT, .revents = 0};
  return ::lseek(file, 0, SEEK_CUR) < 0 && uninterrupted([&] { return ::poll(&waiting, 1, -1); }) == 1;
}

template <class Write>
bool write_pieces(std::string_view bytes, int file, const Write& write) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = write(bytes.data() + done, std::min(bytes.size() - done, kMaxTransfer), done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EAGAIN && wait_until_writable(file)) continue;
    if (wrote == 0) errno = EIO;
    if (wrote <= 0) return false;
    done += static_cast<size_t>(wrote);
  }
  return true;
}

}  // namespace

bool write_all(int file, std::string_view bytes) {
  return write_pieces(bytes, file, [&](const char* data, size_t size, size_t) { return ::write(file, data, size); });
}

bool write_all_at(int file, uint64_t at, std::string_view bytes) {
  return write_pieces(bytes, file, [&](const char* data, size_t size, size_t done) {
    return ::pwrite(file, data, size, static_cast<off_t>(at + done));
  });
}

bool draw_random(uint64_t& number) {
  auto* bytes = reinterpret_cast<unsigned char*>(&number);
  for (size_t done = 0; done < sizeof number;) {
    const ssize_t got = uninterrupted([&] { return ::getrandom(bytes + done, sizeof number - done, 0); });
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace pantoum::base
