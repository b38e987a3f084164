// After Pillow's src/libImaging/Resample.c: weights in double, then 22 bits of fraction, rows first, then columns.
#include <algorithm>
#include <cmath>
#include <utility>

#include "data/picture.h"

namespace pantoum::data {
namespace {

constexpr int kBits = 32 - 8 - 2;

// The input pixels [begin, begin + weights.size()) of one output pixel.
struct Window {
  uint32_t begin = 0;
  std::vector<int32_t> weights;  // of 2^kBits
};

Window window_of(uint32_t out, double scale, uint32_t in_size) {
  const double filter_scale = std::max(scale, 1.0), support = filter_scale;
  const double center = (out + 0.5) * scale;
  const auto begin = static_cast<uint32_t>(std::max(0.0, center - support + 0.5));
  const uint32_t end = std::min(in_size, static_cast<uint32_t>(center + support + 0.5));
  std::vector<double> reals;
  double sum = 0;
  for (uint32_t in = begin; in < end; ++in) {
    const double distance = std::abs((in - center + 0.5) * (1.0 / filter_scale));
    reals.push_back(distance < 1 ? 1 - distance : 0);
    sum += reals.back();
  }
  Window window{begin, {}};
  for (const double real : reals) {
    const double share = sum != 0 ? real * (1 / sum) : real;
    window.weights.push_back(static_cast<int32_t>(0.5 + share * (1 << kBits)));
  }
  return window;
}

std::vector<Window> windows(uint32_t in_size, uint32_t out_size) {
  std::vector<Window> all;
  const double scale = static_cast<double>(in_size) / out_size;
  for (uint32_t out = 0; out < out_size; ++out) all.push_back(window_of(out, scale, in_size));
  return all;
}

// Lines of `in_size` pixels, `step` bytes apart from pixel to pixel, `lines` of them `next` bytes apart.
struct Lines {
  uint32_t count;
  size_t next, step;
};

void resample(const uint8_t* from, const Lines& in, uint8_t* to, const Lines& out, const std::vector<Window>& all) {
  for (size_t line = 0; line < in.count; ++line) {
    for (size_t pixel = 0; pixel < all.size(); ++pixel) {
      int32_t sum = 1 << (kBits - 1);
      for (size_t weight = 0; weight < all[pixel].weights.size(); ++weight)
        sum += all[pixel].weights[weight] * from[line * in.next + (all[pixel].begin + weight) * in.step];
      to[line * out.next + pixel * out.step] = static_cast<uint8_t>(std::clamp(sum >> kBits, 0, 255));
    }
  }
}

Picture resized_width(const Picture& picture, uint32_t width) {
  const uint32_t channels = picture.channels;
  Picture made{width, picture.height, channels, {}};
  made.pixels.resize(size_t{width} * picture.height * channels);
  const std::vector<Window> all = windows(picture.width, width);
  for (size_t channel = 0; channel < channels; ++channel)
    resample(picture.pixels.data() + channel, {picture.height, size_t{picture.width} * channels, channels},
             made.pixels.data() + channel, {picture.height, size_t{width} * channels, channels}, all);
  return made;
}

Picture resized_height(const Picture& picture, uint32_t height) {
  const size_t row = size_t{picture.width} * picture.channels;
  Picture made{picture.width, height, picture.channels, {}};
  made.pixels.resize(row * height);
  const Lines columns{static_cast<uint32_t>(row), 1, row};
  resample(picture.pixels.data(), columns, made.pixels.data(), columns, windows(picture.height, height));
  return made;
}

}  // namespace

Picture resized(const Picture& picture, uint32_t width, uint32_t height) {
  Picture made = picture.width == width ? picture : resized_width(picture, width);
  return made.height == height ? made : resized_height(made, height);
}

}  // namespace pantoum::data
