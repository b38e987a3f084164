#include "data/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "base/files.h"

namespace pantoum::data {
namespace {

using ::testing::HasSubstr;

std::string bytes_of(const std::string& name) {
  return base::read_file(PANTOUM_SOURCE_DIR "/src/data/testdata/" + name).value();
}

Result<Picture> decode(const std::string& bytes) {
  return decode_picture(std::as_bytes(std::span(bytes)), "picture");
}

Picture expected(const std::string& name) {
  return decode(bytes_of(name + ".ppm")).value();
}

void expect_equal(const Picture& found, const Picture& wanted, const std::string& what) {
  EXPECT_EQ(found.width, wanted.width) << what;
  EXPECT_EQ(found.height, wanted.height) << what;
  EXPECT_EQ(found.channels, wanted.channels) << what;
  EXPECT_EQ(found.pixels, wanted.pixels) << what;
}

TEST(DecodePicture, GivesThePixelsThatPillowReads) {
  for (const char* name : {"rgb.png", "rgba.png", "palette.png", "bits.png", "gray16.png", "photo.jpg", "gray.jpg"}) {
    const auto found = decode(bytes_of(name));
    ASSERT_TRUE(found) << to_text(found.error());
    expect_equal(*found, expected(std::string(name).substr(0, std::string(name).find('.'))), name);
  }
}

TEST(DecodePicture, RefusesWhatIsDamagedOrUnknown) {
  for (const char* name : {"rgb.png", "photo.jpg", "rgb.ppm"}) {
    const std::string whole = bytes_of(name);
    for (const size_t size : {whole.size() / 2, whole.size() - 20, size_t{5}}) {
      const auto cut = decode(whole.substr(0, size));
      ASSERT_FALSE(cut) << name << size;
      EXPECT_EQ(cut.error().code, "E0261");
      EXPECT_EQ(cut.error().where, "picture");
    }
  }
  EXPECT_THAT(decode("GIF89a").error().message, HasSubstr("no PNG, JPEG"));
  EXPECT_THAT(decode(bytes_of("cmyk.jpg")).error().message, HasSubstr("CMYK"));
  EXPECT_THAT(decode("P6 2 2 65535\n").error().message, HasSubstr("not 255"));
  EXPECT_THAT(decode("P6 0 2 255\n").error().message, HasSubstr("no size"));
  EXPECT_THAT(decode("P6 99999999999999 2 255\n").error().message, HasSubstr("no size"));
}

// PNG's header, and JPEG's up to the frame, of 30,000 x 30,000 pixels: nothing is allocated for them.
TEST(DecodePicture, RefusesMorePixelsThanItTakes) {
  std::string ppm = "P5 30000 30000 255\n";
  EXPECT_THAT(decode(ppm).error().message, HasSubstr("67,108,864"));
  std::string png = bytes_of("gray16.png");
  png.replace(16, 8, std::string("\x00\x00\x75\x30\x00\x00\x75\x30", 8));
  const auto crc = static_cast<uint32_t>(crc32(0, reinterpret_cast<const unsigned char*>(png.data()) + 12, 17));
  for (size_t at = 0; at < 4; ++at) png[29 + at] = static_cast<char>(crc >> (24 - 8 * at));
  EXPECT_THAT(decode(png).error().message, HasSubstr("67,108,864"));
  std::string jpeg = bytes_of("gray.jpg");
  jpeg.replace(jpeg.find("\xff\xc0") + 5, 4, "\x75\x30\x75\x30");
  EXPECT_THAT(decode(jpeg).error().message, HasSubstr("67,108,864"));
}

TEST(DecodePicture, AnyBytesAreReadOrRefused) {
  for (const char* name : {"palette.png", "gray.jpg", "gray.ppm"}) {
    const std::string whole = bytes_of(name);
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string broken = whole;
      broken[at] = static_cast<char>(broken[at] ^ 0x41);
      if (const auto found = decode(broken)) {
        EXPECT_EQ(found->pixels.size(), size_t{found->width} * found->height * found->channels);
      }
    }
  }
}

TEST(DecodePicture, TakesCommentsInAPpmHeader) {
  EXPECT_EQ(decode("P5 # gray\n#\n1 # wide\n2\n255\nab").value().pixels, (std::vector<uint8_t>{'a', 'b'}));
}

TEST(WithChannels, IsPillowsLuma) {
  expect_equal(with_channels(expected("rgb"), 1), expected("luma"), "luma");
  EXPECT_EQ(with_channels({1, 1, 1, {7}}, 3).pixels, (std::vector<uint8_t>{7, 7, 7}));
}

TEST(Resized, GivesTheBitsOfPillowsBilinear) {
  for (const auto& [width, height] : {std::pair{5U, 4U}, {20U, 30U}, {13U, 5U}, {1U, 1U}, {14U, 9U}}) {
    const std::string name = "resized_" + std::to_string(width) + "x" + std::to_string(height);
    expect_equal(resized(expected("rgb"), width, height), expected(name), name);
  }
}

}  // namespace
}  // namespace pantoum::data
