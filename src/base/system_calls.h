// Calls of the system that go on where a signal interrupted them or where they moved a part.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pantoum::base {

// Makes the call again for as long as a signal interrupts it: uninterrupted([&] { return ::fsync(file); }).
template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// Bytes that one call is asked for at most: Linux moves at most 2 GiB at a time.
inline constexpr size_t kMaxTransfer = size_t{1} << 30;

// Writes all of it; waits where a pipe or a terminal that does not block is full. false: errno has the reason.
[[nodiscard]] bool write_all(int file, std::string_view bytes);
[[nodiscard]] bool write_all_at(int file, uint64_t at, std::string_view bytes);

// A number that nobody can foresee. false: errno has the reason.
[[nodiscard]] bool draw_random(uint64_t& number);

}  // namespace pantoum::base
