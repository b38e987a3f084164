// How samples are changed on their way into the batch: normalization always, random changes in training alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pantoum/trainer.hpp"

namespace pantoum::data {

using pantoum::Augmentation;  // the crop is filled with stored zeros
using pantoum::Normalization;

struct Preparation {
  // One for all channels, or one for each (dimension 1 of the input). Empty: bytes are scaled to 0..1, floats stay.
  std::vector<Normalization> normalization;
  Augmentation augmentation;  // of inputs [N, channels, height, width]
  bool shuffle = true;        // gives each epoch an order of its own; false: the order of the data
};

// One sample's changes.
struct Change {
  bool flip = false, flip_vertically = false;
  int64_t down = 0, right = 0;  // by how much the window moves
};

// The changes of a sample in an epoch. They depend on (seed, epoch, index) alone, and so not on batches, threads or a resume.
[[nodiscard]] Change draw_change(const Augmentation& augmentation, uint64_t seed, uint64_t epoch, uint32_t index);

struct ImageSize {
  size_t channels = 0, height = 0, width = 0;
};

// Changes the image in place, whatever the type of its elements: channels x height x width of `element_bytes` each.
void apply(const Change& change, const ImageSize& size, size_t element_bytes, std::span<std::byte> image);

}  // namespace pantoum::data
