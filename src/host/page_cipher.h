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

// An implementation of a page cipher: a table of calls, over state in the caller's memory.
struct CipherEngine {
  static constexpr size_t kKeyBytes = 32, kTagBytes = 16, kNonceBytes = 24;  // AES-256-GCM takes the nonce's first 12
  static constexpr size_t kStateBytes = 2048;                                // at most, aligned to 64

  const char* name;
  // Expands the key into `state`, which the calls below use.
  void (*expand)(void* state, const unsigned char* key);
  // The result may replace the input, but not overlap it in part.
  void (*seal)(const void* state, unsigned char* to, const unsigned char* plain, size_t bytes,
               const unsigned char* nonce, unsigned char* tag);
  // Decrypts in place. Returns false if the tag does not match.
  bool (*open)(const void* state, unsigned char* bytes, size_t size, const unsigned char* nonce,
               const unsigned char* tag);
};

// Returns the implementation; null if this processor or this build lacks it. Initialize libsodium before.
const CipherEngine* aes_of_ipsec_mb();
const CipherEngine* aes_of_libsodium();
const CipherEngine& xchacha_of_libsodium();

// The part of sealed bytes that stays in RAM and is needed to open them. All zeros: nothing was sealed yet.
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
  // Decrypts in place. Returns false, and sets the bytes to zero, if they are not the bytes that were sealed as this version of this place.
  bool open(uint64_t place, std::span<std::byte> bytes, const Seal& seal) const;

  const char* name() const;  // "AES-256-GCM", "XChaCha20-Poly1305"

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
