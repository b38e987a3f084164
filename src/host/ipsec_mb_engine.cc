// AES-256-GCM of intel-ipsec-mb (x86-64), which uses the vector instructions that a processor has. Its key data are a
// plain structure in our memory; of its manager only the calls are kept.
#include "host/cipher_engine.h"

#ifdef PANTOUM_IPSEC_MB

#include <intel-ipsec-mb.h>
#include <sodium.h>

namespace pantoum::host {
namespace {

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

constexpr CipherEngine kAes{
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

}  // namespace

const CipherEngine* aes_of_ipsec_mb() {
  return calls().seal != nullptr ? &kAes : nullptr;
}

}  // namespace pantoum::host

#else

namespace pantoum::host {

const CipherEngine* aes_of_ipsec_mb() {
  return nullptr;
}

}  // namespace pantoum::host

#endif
