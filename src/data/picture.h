// One picture of an image folder: decoded, resized, its channels as the model wants them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace pantoum::data {

struct Picture {
  uint32_t width = 0, height = 0, channels = 0;  // channels: 1 gray; 3 red, green, blue
  std::vector<uint8_t> pixels;                   // height x width x channels
};

// PNG, JPEG, or binary PPM and PGM of 8 bits, which are recognized by their first bytes. E0261 with the decoder's message.
[[nodiscard]] Result<Picture> decode_picture(std::span<const std::byte> file, const std::string& where);

// P5 and P6. https://netpbm.sourceforge.net/doc/ppm.html
[[nodiscard]] Result<Picture> decode_ppm(std::span<const std::byte> file, const std::string& where);

// To gray by ITU-R 601's luma in 16 bits of fraction, or the gray to each of three channels.
[[nodiscard]] Picture with_channels(Picture picture, uint32_t channels);

// By a triangle over the pixels that an output pixel covers, in fixed point: the bits of Pillow's
// Image.resize(size, Image.BILINEAR).
[[nodiscard]] Picture resized(const Picture& picture, uint32_t width, uint32_t height);

}  // namespace pantoum::data
