// An implementation of a page cipher: a table of calls, over state in the caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pantoum::host {

struct CipherEngine {
  static constexpr size_t kKeyBytes = 32, kTagBytes = 16, kNonceBytes = 24;  // AES-256-GCM takes the nonce's first 12
  static constexpr size_t kStateBytes = 2048;                                // at most, aligned to 64

  const char* name;
  // Expands the key into `state`, which the calls below use.
  void (*expand)(void* state, const unsigned char* key);
  // The result may replace the input, but not overlap it in part.
  void (*seal)(const void* state, unsigned char* to, const unsigned char* plain, size_t bytes,
               const unsigned char* nonce, unsigned char* tag);
  // In place. False: the tag does not match.
  bool (*open)(const void* state, unsigned char* bytes, size_t size, const unsigned char* nonce,
               const unsigned char* tag);
};

// Null where this processor or this build lacks it. libsodium must be initialized before.
[[nodiscard]] const CipherEngine* aes_of_ipsec_mb();
[[nodiscard]] const CipherEngine* aes_of_libsodium();
[[nodiscard]] const CipherEngine& xchacha_of_libsodium();

}  // namespace pantoum::host
