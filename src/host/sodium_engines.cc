#include <sodium.h>

#include <cstring>

#include "host/cipher_engine.h"

namespace pantoum::host {
namespace {

static_assert(crypto_aead_aes256gcm_KEYBYTES == CipherEngine::kKeyBytes &&
              crypto_aead_xchacha20poly1305_ietf_KEYBYTES == CipherEngine::kKeyBytes);
static_assert(crypto_aead_aes256gcm_ABYTES == CipherEngine::kTagBytes &&
              crypto_aead_xchacha20poly1305_ietf_ABYTES == CipherEngine::kTagBytes);
static_assert(crypto_aead_aes256gcm_NPUBBYTES <= CipherEngine::kNonceBytes &&
              crypto_aead_xchacha20poly1305_ietf_NPUBBYTES == CipherEngine::kNonceBytes);
static_assert(sizeof(crypto_aead_aes256gcm_state) <= CipherEngine::kStateBytes);

using AesState = crypto_aead_aes256gcm_state;

constexpr CipherEngine kAes{
    "AES-256-GCM",
    [](void* state, const unsigned char* key) { crypto_aead_aes256gcm_beforenm(static_cast<AesState*>(state), key); },
    [](const void* state, unsigned char* to, const unsigned char* plain, size_t bytes, const unsigned char* nonce,
       unsigned char* tag) {
      crypto_aead_aes256gcm_encrypt_detached_afternm(to, tag, nullptr, plain, bytes, nullptr, 0, nullptr, nonce,
                                                     static_cast<const AesState*>(state));
    },
    [](const void* state, unsigned char* bytes, size_t size, const unsigned char* nonce, const unsigned char* tag) {
      return crypto_aead_aes256gcm_decrypt_detached_afternm(bytes, nullptr, bytes, size, tag, nullptr, 0, nonce,
                                                            static_cast<const AesState*>(state)) == 0;
    }};

constexpr CipherEngine kXChaCha{
    "XChaCha20-Poly1305",
    [](void* state, const unsigned char* key) { std::memcpy(state, key, CipherEngine::kKeyBytes); },
    [](const void* state, unsigned char* to, const unsigned char* plain, size_t bytes, const unsigned char* nonce,
       unsigned char* tag) {
      crypto_aead_xchacha20poly1305_ietf_encrypt_detached(to, tag, nullptr, plain, bytes, nullptr, 0, nullptr, nonce,
                                                          static_cast<const unsigned char*>(state));
    },
    [](const void* state, unsigned char* bytes, size_t size, const unsigned char* nonce, const unsigned char* tag) {
      return crypto_aead_xchacha20poly1305_ietf_decrypt_detached(bytes, nullptr, bytes, size, tag, nullptr, 0, nonce,
                                                                 static_cast<const unsigned char*>(state)) == 0;
    }};

}  // namespace

const CipherEngine* aes_of_libsodium() {
  return crypto_aead_aes256gcm_is_available() == 1 ? &kAes : nullptr;
}

const CipherEngine& xchacha_of_libsodium() {
  return kXChaCha;
}

}  // namespace pantoum::host
