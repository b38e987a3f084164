// AES-256-GCM and XChaCha20-Poly1305 of libsodium; AES-256-GCM of intel-ipsec-mb (x86-64), which uses the vector
// instructions that a processor has.
#include <sodium.h>

#include <cstring>

#include "host/page_cipher.h"

#ifdef PANTOUM_IPSEC_MB
#include <intel-ipsec-mb.h>
#endif

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

#ifdef PANTOUM_IPSEC_MB
// The key data of intel-ipsec-mb are a plain structure in our memory; only the calls of its manager are kept.
static_assert(sizeof(gcm_key_data) <= CipherEngine::kStateBytes);

struct Calls {
  aes_gcm_pre_t expand = nullptr;
  aes_gcm_enc_dec_t seal = nullptr, open = nullptr;
};

Calls find_calls() {
  if (crypto_aead_aes256gcm_is_available() != 1) return {};
  IMB_MGR* manager = alloc_mb_mgr(0);
  if (manager == nullptr) return {};
  IMB_ARCH found = IMB_ARCH_NONE;
  init_mb_mgr_auto(manager, &found);
  Calls calls{manager->gcm256_pre, manager->gcm256_enc, manager->gcm256_dec};
  if (found == IMB_ARCH_NONE || found == IMB_ARCH_NOAESNI) calls = {};
  free_mb_mgr(manager);
  return calls;
}

const Calls& calls() {
  static const Calls found = find_calls();
  return found;
}

const gcm_key_data* key_of(const void* state) {
  return static_cast<const gcm_key_data*>(state);
}

constexpr CipherEngine kFastAes{
    "AES-256-GCM",
    [](void* state, const unsigned char* key) { calls().expand(key, static_cast<gcm_key_data*>(state)); },
    [](const void* state, unsigned char* to, const unsigned char* plain, size_t bytes, const unsigned char* nonce,
       unsigned char* tag) {
      gcm_context_data context;
      calls().seal(key_of(state), &context, to, plain, bytes, nonce, nullptr, 0, tag, CipherEngine::kTagBytes);
      sodium_memzero(&context, sizeof context);
    },
    [](const void* state, unsigned char* bytes, size_t size, const unsigned char* nonce, const unsigned char* tag) {
      gcm_context_data context;
      unsigned char found[CipherEngine::kTagBytes];
      calls().open(key_of(state), &context, bytes, bytes, size, nonce, nullptr, 0, found, sizeof found);
      sodium_memzero(&context, sizeof context);
      return sodium_memcmp(found, tag, sizeof found) == 0;
    }};
#endif

}  // namespace

const CipherEngine* aes_of_ipsec_mb() {
#ifdef PANTOUM_IPSEC_MB
  if (calls().seal != nullptr) return &kFastAes;
#endif
  return nullptr;
}

const CipherEngine* aes_of_libsodium() {
  return crypto_aead_aes256gcm_is_available() == 1 ? &kAes : nullptr;
}

const CipherEngine& xchacha_of_libsodium() {
  return kXChaCha;
}

}  // namespace pantoum::host
