#include "host/page_cipher.h"

#include <sodium.h>
#include <sys/random.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace pantoum::host {

struct alignas(64) PageCipher::Secret {
  unsigned char state[CipherEngine::kStateBytes];
  unsigned char key[64];  // CipherEngine::kKeyBytes of it, overwritten once it is expanded
};

namespace {

static_assert(sizeof(Seal::tag) == CipherEngine::kTagBytes);

Failure no_cipher(const std::string& why, const std::string& help) {
  return fail("E0908", "the page file cannot be encrypted: " + why, "--page-encryption",
              help + ", or --page-encryption off where what is paged may lie there readable");
}

std::string cipher_reason(int error) {
  return std::generic_category().message(error);
}

bool draw(void* to, size_t bytes) {
  auto* const at = static_cast<unsigned char*>(to);
  for (size_t done = 0; done < bytes;) {
    const ssize_t drawn = ::getrandom(at + done, bytes - done, 0);
    if (drawn < 0 && errno == EINTR) continue;
    if (drawn <= 0) return false;
    done += static_cast<size_t>(drawn);
  }
  return true;
}

std::atomic<int> no_randomness = 0;  // errno, where libsodium was given none

void draw_for_library(void* to, size_t bytes) {
  if (!draw(to, bytes)) no_randomness = errno;
}

uint32_t draw_number_for_library() {
  uint32_t number = 0;
  draw_for_library(&number, sizeof number);
  return number;
}

// libsodium's own way to randomness ends the process where there is none.
Result<void> wake_library() {
  static randombytes_implementation ours = {.implementation_name = [] { return "getrandom"; },
                                            .random = draw_number_for_library,
                                            .stir = [] {},
                                            .uniform = nullptr,
                                            .buf = draw_for_library,
                                            .close = [] { return 0; }};
  static const bool awake = randombytes_set_implementation(&ours) == 0 && sodium_init() >= 0;
  if (!awake) return no_cipher("libsodium does not start", "install libsodium again");
  if (no_randomness != 0)
    return no_cipher("no randomness: " + cipher_reason(no_randomness), "run it on a system with getrandom");
  return {};
}

const CipherEngine& fastest_engine() {
  if (const CipherEngine* aes = aes_of_ipsec_mb()) return *aes;
  const CipherEngine* aes = aes_of_libsodium();
  return aes != nullptr ? *aes : xchacha_of_libsodium();
}

struct NonceBytes {
  unsigned char bytes[CipherEngine::kNonceBytes] = {};
  NonceBytes(uint64_t place, uint32_t version) {
    std::memcpy(bytes, &place, sizeof place);
    std::memcpy(bytes + sizeof place, &version, sizeof version);  // 12 bytes: all that AES-256-GCM takes
  }
};

unsigned char* raw(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

void PageCipher::Wipe::operator()(Secret* secret) const {
  // It is read-only, and the system may refuse to change that; locked memory that is never given back does no harm.
  if (sodium_mprotect_readwrite(secret) == 0) sodium_free(secret);  // which overwrites it first
}

Result<PageCipher> PageCipher::create(const CipherEngine* engine) {
  PANTOUM_TRY(wake_library());
  if (engine == nullptr) engine = &fastest_engine();
  // Pages of its own between guard pages, not in core files. A multiple of 64: it ends at a page, so it begins aligned.
  static_assert(sizeof(Secret) % 64 == 0 && alignof(Secret) == 64);
  std::unique_ptr<Secret, Wipe> secret(static_cast<Secret*>(sodium_malloc(sizeof(Secret))));
  if (!secret) return no_cipher("no memory for the key: " + cipher_reason(errno), "free some memory");
  if (sodium_mlock(secret.get(), sizeof(Secret)) != 0)  // sodium_malloc tries, and does not tell
    return no_cipher("the key's memory cannot be locked: " + cipher_reason(errno), "raise the limit (ulimit -l 64)");
  if (!draw(secret->key, CipherEngine::kKeyBytes))
    return no_cipher("no randomness: " + cipher_reason(errno), "run it on a system with getrandom");
  engine->expand(secret->state, secret->key);
  sodium_memzero(secret->key, sizeof secret->key);
  sodium_mprotect_readonly(secret.get());
  return PageCipher(std::move(secret), *engine);
}

void PageCipher::seal(uint64_t place, std::span<const std::byte> plain, std::byte* to, Seal& seal) const {
  const NonceBytes nonce(place, seal.version);
  engine_->seal(secret_->state, raw(to), raw(plain.data()), plain.size(), nonce.bytes, raw(seal.tag.data()));
}

bool PageCipher::open(uint64_t place, std::span<std::byte> bytes, const Seal& seal) const {
  const NonceBytes nonce(place, seal.version);
  const bool is_whole =
      engine_->open(secret_->state, raw(bytes.data()), bytes.size(), nonce.bytes, raw(seal.tag.data()));
  if (!is_whole) std::memset(bytes.data(), 0, bytes.size());
  return is_whole;
}

const char* PageCipher::name() const {
  return engine_->name;
}

}  // namespace pantoum::host
