#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "data/preparation.h"
#include "kernels/portable/philox.h"

namespace pantoum::data {
namespace {

constexpr uint64_t kAugmentDomain = 0x6175676d656e7421;  // "augment!": a stream of its own, as shuffling has

// Uniform in [-most, most] to within 2^-32.
int64_t displacement(uint32_t word, int64_t most) {
  return static_cast<int64_t>((uint64_t{word} * static_cast<uint64_t>(2 * most + 1)) >> 32) - most;
}

// Moves units of `unit` bytes in place: out[e] = in[e + by], or zeros where there is no in[e + by].
void shift(std::byte* data, int64_t count, int64_t by, size_t unit) {
  const int64_t kept = std::max<int64_t>(count - std::abs(by), 0);
  const auto bytes = [unit](int64_t units) { return static_cast<size_t>(units) * unit; };
  if (by >= 0) {
    std::memmove(data, data + bytes(count - kept), bytes(kept));
    std::memset(data + bytes(kept), 0, bytes(count - kept));
  } else {
    std::memmove(data + bytes(count - kept), data, bytes(kept));
    std::memset(data, 0, bytes(count - kept));
  }
}

void reverse(std::byte* data, size_t count, size_t unit) {
  for (size_t low = 0, high = count; low + 1 < high; ++low)
    std::swap_ranges(data + low * unit, data + (low + 1) * unit, data + --high * unit);
}

}  // namespace

Change draw_change(const Augmentation& augmentation, uint64_t seed, uint64_t epoch, uint32_t index) {
  const uint64_t key = seed ^ kAugmentDomain;
  const uint32_t keys[2] = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
  const uint32_t counter[4] = {index, 0, static_cast<uint32_t>(epoch), static_cast<uint32_t>(epoch >> 32)};
  uint32_t words[4];
  pt_philox(counter, keys, words);
  return {.flip = augmentation.flip && (words[0] >> 31) != 0,
          .flip_vertically = augmentation.flip_vertically && (words[1] >> 31) != 0,
          .down = displacement(words[2], augmentation.crop),
          .right = displacement(words[3], augmentation.crop)};
}

void apply(const Change& change, const ImageSize& size, size_t element_bytes, std::span<std::byte> image) {
  const size_t row_bytes = size.width * element_bytes, plane_bytes = row_bytes * size.height;
  for (size_t channel = 0; channel < size.channels; ++channel) {
    std::byte* const plane = image.data() + channel * plane_bytes;
    if (change.down != 0) shift(plane, static_cast<int64_t>(size.height), change.down, row_bytes);
    if (change.flip_vertically) reverse(plane, size.height, row_bytes);
    for (size_t row = 0; row < size.height; ++row) {
      std::byte* const pixels = plane + row * row_bytes;
      if (change.right != 0) shift(pixels, static_cast<int64_t>(size.width), change.right, element_bytes);
      if (change.flip) reverse(pixels, size.width, element_bytes);
    }
  }
}

}  // namespace pantoum::data
