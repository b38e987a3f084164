#include "data/picture.h"

#include <cctype>
#include <cstring>
#include <new>

#include "data/pixels.h"

namespace pantoum::data {
namespace {

Failure damaged(const std::string& why, const std::string& where) {
  return fail("E0261", "the picture cannot be read: " + why, where, "copy or make it again, or take it away");
}

bool begins_with(std::span<const std::byte> file, std::string_view magic) {
  return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
}

// Nothing may be thrown through the C code that calls it.
uint8_t* room_in(void* pixels, size_t bytes) {
  try {
    auto& vector = *static_cast<std::vector<uint8_t>*>(pixels);
    vector.resize(bytes);
    return vector.data();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

Result<Picture> decode_with(int (*decode)(const uint8_t*, size_t, pt_image*), std::span<const std::byte> file,
                            const std::string& where) {
  Picture picture;
  pt_image image{};
  image.room = room_in;
  image.owner = &picture.pixels;
  if (decode(reinterpret_cast<const uint8_t*>(file.data()), file.size(), &image) != 0)
    return damaged(image.message, where);
  picture.width = image.width, picture.height = image.height, picture.channels = image.channels;
  return picture;
}

// The numbers of a PPM header: separated by white space, with comments to the end of a line.
class PpmHeader {
 public:
  explicit PpmHeader(std::span<const std::byte> file) : file_(file) {}
  // 0: none, or above 2^20.
  uint32_t next() {
    skip();
    uint32_t value = 0;
    while (at_ < file_.size() && std::isdigit(character()) != 0 && value < (1U << 20))
      value = value * 10 + static_cast<uint32_t>(character() - '0'), ++at_;
    return value < (1U << 20) ? value : 0;
  }
  // The header ends with one byte of white space.
  [[nodiscard]] size_t pixels_at() const { return at_ + 1; }

 private:
  std::span<const std::byte> file_;
  size_t at_ = 2;

  [[nodiscard]] int character() const { return std::to_integer<int>(file_[at_]); }
  void skip() {
    for (bool comment = false; at_ < file_.size(); ++at_) {
      if (character() == '#') comment = true;
      if (character() == '\n') comment = false;
      if (!comment && std::isspace(character()) == 0) return;
    }
  }
};

}  // namespace

Result<Picture> decode_ppm(std::span<const std::byte> file, const std::string& where) {
  const bool gray = begins_with(file, "P5");
  if (!gray && !begins_with(file, "P6")) return damaged("it is neither P5 nor P6", where);
  PpmHeader header(file);
  Picture picture{.channels = gray ? 1U : 3U};
  picture.width = header.next();
  picture.height = header.next();
  const uint32_t most = header.next();
  if (picture.width == 0 || picture.height == 0 || picture.width > PT_IMAGE_SIDE || picture.height > PT_IMAGE_SIDE)
    return damaged("its header names no size", where);
  if (most != 255) return damaged("its largest value is not 255", where);
  if (uint64_t{picture.width} * picture.height > PT_IMAGE_PIXELS) return damaged("more than 67,108,864 pixels", where);
  const size_t bytes = size_t{picture.width} * picture.height * picture.channels;
  if (file.size() < header.pixels_at() || file.size() - header.pixels_at() < bytes)
    return damaged("the file ends too early", where);
  const auto* pixels = reinterpret_cast<const uint8_t*>(file.data()) + header.pixels_at();
  picture.pixels.assign(pixels, pixels + bytes);
  return picture;
}

Result<Picture> decode_picture(std::span<const std::byte> file, const std::string& where) {
  if (begins_with(file, "\x89PNG")) return decode_with(pt_decode_png, file, where);
  if (begins_with(file, "\xff\xd8\xff")) return decode_with(pt_decode_jpeg, file, where);
  if (begins_with(file, "P5") || begins_with(file, "P6")) return decode_ppm(file, where);
  return damaged("it is no PNG, JPEG, or binary PPM or PGM", where);
}

Picture with_channels(Picture picture, uint32_t channels) {
  if (picture.channels == channels) return picture;
  Picture made{picture.width, picture.height, channels, {}};
  const size_t count = size_t{picture.width} * picture.height;
  made.pixels.resize(count * channels);
  for (size_t pixel = 0; pixel < count; ++pixel) {
    if (channels == 1) {
      const uint8_t* rgb = &picture.pixels[3 * pixel];
      made.pixels[pixel] = static_cast<uint8_t>(
          (uint32_t{rgb[0]} * 19595 + uint32_t{rgb[1]} * 38470 + uint32_t{rgb[2]} * 7471 + 0x8000) >> 16);
    } else {
      std::memset(&made.pixels[3 * pixel], picture.pixels[pixel], 3);
    }
  }
  return made;
}

}  // namespace pantoum::data
