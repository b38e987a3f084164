// What is done to samples on their way into the batch: normalization always, random changes in training alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pantoum::data {

// Stored bytes x -> (x / 255 - mean) / deviation; stored f32 x -> (x - mean) / deviation.
struct Normalization {
  float mean = 0, deviation = 1;
};

struct Augmentation {
  bool flip = false, flip_vertically = false;  // half of the samples each
  int64_t crop = 0;                            // moved by up to as many pixels; zeros (as stored) where nothing is
  [[nodiscard]] bool any() const { return flip || flip_vertically || crop > 0; }
};

struct Preparation {
  // Of all channels, or one for each (dimension 1 of the input); empty: bytes scaled to 0..1, floats as they are.
  std::vector<Normalization> normalization;
  Augmentation augmentation;  // of inputs [N, channels, height, width]
  bool shuffle = true;        // every epoch in an order of its own; else as the data are
};

// One sample's changes.
struct Change {
  bool flip = false, flip_vertically = false;
  int64_t down = 0, right = 0;  // by how much the window moves
};

// The changes of a sample in an epoch: by (seed, epoch, index) alone, so that neither batches, threads nor a resume
// change them.
[[nodiscard]] Change draw_change(const Augmentation& augmentation, uint64_t seed, uint64_t epoch, uint32_t index);

struct ImageSize {
  size_t channels = 0, height = 0, width = 0;
};

// In place, whatever the elements are. `image` has channels x height x width of `element_bytes` each.
void apply(const Change& change, const ImageSize& size, size_t element_bytes, std::span<std::byte> image);

}  // namespace pantoum::data
