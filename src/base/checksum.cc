#include "base/checksum.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace pantoum::base {

Checksum::Checksum(uint64_t seed) : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_64bits_reset_withSeed(state_.get(), seed);
}

void Checksum::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

uint64_t Checksum::value() const {
  return XXH3_64bits_digest(state_.get());
}

void Checksum::Free::operator()(XXH3_state_s* state) const {
  XXH3_freeState(state);
}

uint64_t checksum_of(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string checksum_text(uint64_t sum) {
  return fmt::format("{:016x}", sum);
}

}  // namespace pantoum::base
