// Sums that find damaged bytes: XXH3 with 64 bits, of the library xxHash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

struct XXH3_state_s;

namespace pantoum::base {

// The sum of bytes that come piece by piece. A seed that depends on their place also finds bytes in the wrong place. The sum finds damage;
// it does not keep out a forger.
class Checksum {
 public:
  explicit Checksum(uint64_t seed = 0);
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] uint64_t value() const;  // of all bytes so far

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

// The sum of bytes that are all in memory. No allocation.
[[nodiscard]] uint64_t checksum_of(std::span<const std::byte> bytes, uint64_t seed = 0);

// 16 hexadecimal digits.
[[nodiscard]] std::string checksum_text(uint64_t sum);

}  // namespace pantoum::base
