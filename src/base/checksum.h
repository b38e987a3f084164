// Checksums that detect damaged bytes: 64-bit XXH3 of the library xxHash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

struct XXH3_state_s;

namespace pantoum::base {

// Computes the checksum of bytes that arrive piece by piece. If the seed depends on the position of the bytes, the checksum also detects bytes at a
// wrong position. The checksum is not cryptographic: it does not detect forged bytes.
class Checksum {
 public:
  explicit Checksum(uint64_t seed = 0);
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] uint64_t value() const;  // of all bytes added so far

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

// Returns the checksum of `bytes`. Allocates nothing.
[[nodiscard]] uint64_t checksum_of(std::span<const std::byte> bytes, uint64_t seed = 0);

// Returns `sum` as 16 hexadecimal digits.
[[nodiscard]] std::string checksum_text(uint64_t sum);

}  // namespace pantoum::base
