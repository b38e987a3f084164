// Calls of the system that go on where a signal interrupted them or where they moved a part.
#pragma once

#include <cerrno>
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

// Writes all of it; waits where a pipe or a terminal that does not block is full. false: errno has the reason.
[[nodiscard]] bool write_all(int file, std::string_view bytes);
[[nodiscard]] bool write_all_at(int file, uint64_t at, std::string_view bytes);

// A number that nobody can foresee. false: errno has the reason.
[[nodiscard]] bool draw_random(uint64_t& number);

}  // namespace pantoum::base
