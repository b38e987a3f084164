// Sums that find damaged bytes: XXH3 with 64 bits, of the library xxHash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

struct XXH3_state_s;

namespace pantoum::base {

// The sum of bytes that come piece by piece. Another `seed`, another sum: so that bytes that stand in the wrong place
// are found too. Damage is found; a forger is not kept out.
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

// The sum of bytes that are all there. No allocation.
[[nodiscard]] uint64_t checksum_of(std::span<const std::byte> bytes, uint64_t seed = 0);

// 16 hexadecimal digits.
[[nodiscard]] std::string checksum_text(uint64_t sum);

}  // namespace pantoum::base
