#include "host/page_cipher.h"

#include <sodium.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace pantoum::host {

struct PageCipher::Secret {
  crypto_aead_aes256gcm_state expanded;
  unsigned char key[32];
};

namespace {

constexpr size_t kKeyBytes = 32;
static_assert(crypto_aead_aes256gcm_KEYBYTES == kKeyBytes && crypto_aead_xchacha20poly1305_ietf_KEYBYTES == kKeyBytes);
static_assert(crypto_aead_aes256gcm_ABYTES == sizeof(Seal::tag) &&
              crypto_aead_xchacha20poly1305_ietf_ABYTES == sizeof(Seal::tag));

Failure no_cipher(const std::string& why, const std::string& help) {
  return fail("E0908", "the page file cannot be encrypted: " + why, "--page-encryption",
              help + ", or --page-encryption off where what is paged may lie there readable");
}

std::string reason(int error) {
  return std::generic_category().message(error);
}

bool draw(void* to, size_t bytes) {
  ssize_t drawn = 0;
  do drawn = ::getrandom(to, bytes, 0);  // so few come at once or not at all
  while (drawn < 0 && errno == EINTR);
  return drawn == static_cast<ssize_t>(bytes);
}

// libsodium ends the process where it finds no randomness, so it is asked for first.
Result<void> wake_library() {
  unsigned char any = 0;
  if (!draw(&any, sizeof any)) return no_cipher("no randomness: " + reason(errno), "run it on a system with getrandom");
  if (sodium_init() < 0) return no_cipher("libsodium does not start", "install libsodium again");
  return {};
}

// 96 bits for AES-256-GCM; XChaCha20 has as many zeros behind them.
struct NonceBytes {
  unsigned char bytes[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES] = {};
  NonceBytes(uint64_t place, uint32_t version) {
    static_assert(crypto_aead_aes256gcm_NPUBBYTES == sizeof place + sizeof version);
    std::memcpy(bytes, &place, sizeof place);
    std::memcpy(bytes + sizeof place, &version, sizeof version);
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
  sodium_free(secret);  // which overwrites it first
}

Result<PageCipher> PageCipher::create(CipherKind kind) {
  PANTOUM_TRY(wake_library());
  const bool has_aes = crypto_aead_aes256gcm_is_available() == 1;
  if (kind == CipherKind::kAes256Gcm && !has_aes)
    return no_cipher("this processor does not compute AES-256-GCM", "leave the cipher to Pantoum");
  // Pages of its own between guard pages, not in core files. A multiple of 16: it ends at a page, so it begins aligned.
  static_assert(sizeof(Secret) % alignof(Secret) == 0 && alignof(Secret) <= 16);
  std::unique_ptr<Secret, Wipe> secret(static_cast<Secret*>(sodium_malloc(sizeof(Secret))));
  if (!secret) return no_cipher("no memory for the key: " + reason(errno), "free some memory");
  if (sodium_mlock(secret.get(), sizeof(Secret)) != 0)  // sodium_malloc tries, and does not tell
    return no_cipher("the key's memory cannot be locked: " + reason(errno), "raise the limit (ulimit -l 64)");
  if (!draw(secret->key, kKeyBytes))
    return no_cipher("no randomness: " + reason(errno), "run it on a system with getrandom");
  const bool is_aes = has_aes && kind != CipherKind::kXChaCha20Poly1305;
  if (is_aes) {
    crypto_aead_aes256gcm_beforenm(&secret->expanded, secret->key);
    sodium_memzero(secret->key, kKeyBytes);
  }
  sodium_mprotect_readonly(secret.get());
  return PageCipher(std::move(secret), is_aes);
}

void PageCipher::seal(uint64_t place, std::span<const std::byte> plain, std::byte* to, Seal& seal) const {
  const NonceBytes nonce(place, seal.version);
  if (is_aes_)
    crypto_aead_aes256gcm_encrypt_detached_afternm(raw(to), raw(seal.tag.data()), nullptr, raw(plain.data()),
                                                   plain.size(), nullptr, 0, nullptr, nonce.bytes, &secret_->expanded);
  else
    crypto_aead_xchacha20poly1305_ietf_encrypt_detached(raw(to), raw(seal.tag.data()), nullptr, raw(plain.data()),
                                                        plain.size(), nullptr, 0, nullptr, nonce.bytes, secret_->key);
}

bool PageCipher::open(uint64_t place, std::span<std::byte> bytes, const Seal& seal) const {
  const NonceBytes nonce(place, seal.version);
  unsigned char* at = raw(bytes.data());
  const unsigned char* tag = raw(seal.tag.data());
  const int failed = is_aes_ ? crypto_aead_aes256gcm_decrypt_detached_afternm(
                                   at, nullptr, at, bytes.size(), tag, nullptr, 0, nonce.bytes, &secret_->expanded)
                             : crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
                                   at, nullptr, at, bytes.size(), tag, nullptr, 0, nonce.bytes, secret_->key);
  if (failed != 0) std::memset(at, 0, bytes.size());
  return failed == 0;
}

const char* PageCipher::name() const {
  return is_aes_ ? "AES-256-GCM" : "XChaCha20-Poly1305";
}

}  // namespace pantoum::host
