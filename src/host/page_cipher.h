// Authenticated encryption of a page file: its bytes cannot be read, and any change to them is found. The key is drawn for this file, and
// is in locked memory alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"

namespace pantoum::host {

struct CipherEngine;

// What is kept in RAM for sealed bytes, and needed to open them. All zeros: nothing was sealed yet.
struct Seal {
  uint32_t version = 0;  // how many times this place was sealed
  std::array<std::byte, 16> tag{};
};

// Computed by libsodium; AES-256-GCM by intel-ipsec-mb where Pantoum is built with it (12 GB/s in place of 2 on one core with AVX-512).
// Calls allocate nothing. Any number of threads may use it at a time.
class PageCipher {
 public:
  // Draws the key (getrandom). It is not in core files, not swapped out, and wiped at the end. `engine`: null for the
  // fastest of this processor, AES-256-GCM where it is computed, else XChaCha20-Poly1305. E0908 where the system gives no
  // randomness, or no memory that may be locked.
  static Result<PageCipher> create(const CipherEngine* engine = nullptr);

  // Encrypts `plain` into `to`, which is the same memory or does not overlap it, as version `seal.version` of what is at `place`. Place and
  // version are the nonce, so each version of a place may be sealed once.
  void seal(uint64_t place, std::span<const std::byte> plain, std::byte* to, Seal& seal) const;
  // Decrypts where the bytes are. False: they are not what was sealed as this version of this place; they are zeros
  // then.
  [[nodiscard]] bool open(uint64_t place, std::span<std::byte> bytes, const Seal& seal) const;

  [[nodiscard]] const char* name() const;  // "AES-256-GCM", "XChaCha20-Poly1305"

 private:
  struct Secret;
  struct Wipe {
    void operator()(Secret* secret) const;
  };
  PageCipher(std::unique_ptr<Secret, Wipe> secret, const CipherEngine& engine)
      : secret_(std::move(secret)), engine_(&engine) {}

  std::unique_ptr<Secret, Wipe> secret_;
  const CipherEngine* engine_;
};

}  // namespace pantoum::host
