#include "weights/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>

#include "base/files.h"
#include "testing/temporary_folder.h"

namespace pantoum::weights {
namespace {

using ::testing::HasSubstr;

std::string bytes_of(const std::string& header, size_t data, uint64_t claimed = 0) {
  std::string file(8, '\0');
  const uint64_t length = claimed != 0 ? claimed : header.size();
  for (size_t byte = 0; byte < 8; ++byte) file[byte] = static_cast<char>(length >> (8 * byte));
  return file + header + std::string(data, 'x');
}

Result<SafetensorFile> parse(const std::string& header, size_t data) {
  const std::string file = bytes_of(header, data);
  return parse_safetensors_header(file.data(), file.size(), file.size(), "w.safetensors");
}

std::string all_text(const Error& error) {
  return to_text(error);
}

class Folder : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }
  TemporaryFolder folder_;
};

SafetensorSource source_of(std::string name, base::DType dtype, std::vector<int64_t> shape,
                           std::vector<std::byte> data) {
  return {std::move(name), dtype, std::move(shape), [data](uint64_t at, std::span<std::byte> piece) -> Result<void> {
            std::memcpy(piece.data(), data.data() + at, piece.size());
            return {};
          }};
}

std::vector<std::byte> counting(size_t size) {
  std::vector<std::byte> data(size);
  for (size_t at = 0; at < size; ++at) data[at] = static_cast<std::byte>(at * 7 + 1);
  return data;
}

TEST(SafetensorsHeader, ReadsTensorsInTheOrderOfTheirOffsetsAndTheMetadata) {
  const auto file = parse(
      R"({"b":{"dtype":"U8","shape":[4],"data_offsets":[12,16]},"__metadata__":{"step":"3","":"empty"},)"
      R"("a":{"dtype":"F32","shape":[1,3],"data_offsets":[0,12]},"s":{"dtype":"I64","shape":[],"data_offsets":[16,24]}}   )",
      24);
  ASSERT_TRUE(file) << all_text(file.error());
  ASSERT_EQ(file->tensors.size(), 3U);
  EXPECT_EQ(file->tensors[0].name, "a");
  EXPECT_EQ(file->tensors[0].shape, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(file->tensors[1].bytes, 4U);
  EXPECT_EQ(file->tensors[2].dtype, base::DType::kI64);
  EXPECT_EQ(file->metadata.at("step"), "3");
  EXPECT_EQ(file->metadata.at(""), "empty");
  ASSERT_NE(file->find("b"), nullptr);
  EXPECT_EQ(file->find("b")->at, file->tensors[0].at + 12);
  EXPECT_EQ(file->find("c"), nullptr);
}

struct Refused {
  const char* header;
  size_t data;
  const char* because;
};

class SafetensorsHeaderRefuses : public ::testing::TestWithParam<Refused> {};

TEST_P(SafetensorsHeaderRefuses, WithTheReason) {
  const auto file = parse(GetParam().header, GetParam().data);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, "E0240");
  EXPECT_THAT(all_text(file.error()), HasSubstr(GetParam().because));
}

INSTANTIATE_TEST_SUITE_P(
    Damage, SafetensorsHeaderRefuses,
    ::testing::Values(
        Refused{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4, "cut short"},
        Refused{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 9, "1 bytes follow"},
        Refused{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "do not hold its shape"},
        Refused{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "do not hold its shape"},
        Refused{R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
                "do not hold its shape"},
        Refused{R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[18446744073709551612,18446744073709551615]}})", 0,
                "do not hold its shape"},
        Refused{R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[18446744073709551612,18446744073709551615]}})", 0,
                "too large"},
        Refused{R"({"a":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1]}})", 1, "number too large"},
        Refused{R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1, "negative"},
        Refused{R"({"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}})", 1, "fraction"},
        Refused{R"({"a":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}})", 4, "save it as F32"},
        Refused{R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,8]}})", 8, "do not hold its shape"},
        Refused{R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,2]}})", 2, "do not hold its shape"},
        Refused{R"({"a":{"dtype":"Q4","shape":[2],"data_offsets":[0,4]}})", 4, "unknown"},
        Refused{
            R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
            3, "overlaps"},
        Refused{
            R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})",
            5, "a hole of 1 bytes"},
        Refused{
            R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
            2, "stands twice"},
        Refused{R"({"__metadata__":{"k":"1","k":"2"}})", 0, "stands twice"},
        Refused{R"({"__metadata__":{},"__metadata__":{}})", 0, "stands twice"},
        Refused{R"({"__metadata__":{"k":1}})", 0, "a number"}, Refused{R"({"__metadata__":"k"})", 0, "a text"},
        Refused{R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1, "twice"},
        Refused{R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1, "unknown key 'x'"},
        Refused{R"({"a":{"dtype":"U8","shape":[1]}})", 1, "lacks"},
        Refused{R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, "needs two"},
        Refused{R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", 1, "more than two"},
        Refused{R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1, "a list"},
        Refused{R"({"a":[]})", 0, "a list"}, Refused{R"({"a":null})", 0, "null"},
        Refused{R"({"a":true})", 0, "boolean"}, Refused{R"({"a":{"dtype":)", 0, "not valid JSON"},
        Refused{R"([1])", 0, "does not begin with"}, Refused{"", 0, "does not begin with"},
        Refused{"{\"\xff\":{}}", 0, "not valid JSON"}));

// Every float of two bytes is a float32: each is compared with its value by arithmetic.
TEST_F(Folder, ReadsFloatsOfTwoBytesExactly) {
  std::string data;
  for (uint32_t bits = 0; bits < 65536; ++bits) data += {static_cast<char>(bits & 255), static_cast<char>(bits >> 8)};
  const std::string header = R"({"a":{"dtype":"F16","shape":[65536],"data_offsets":[0,131072]},)"
                             R"("b":{"dtype":"BF16","shape":[65536],"data_offsets":[131072,262144]}})";
  ASSERT_TRUE(base::write_file_atomically(path("w"), bytes_of(header, 0) + data + data));
  const auto file = open_safetensors(path("w"));
  ASSERT_TRUE(file) << all_text(file.error());
  for (const SafetensorEntry& entry : file->tensors) {
    ASSERT_EQ(entry.dtype, base::DType::kF32);
    ASSERT_EQ(entry.bytes, 65536 * sizeof(float));
    std::vector<float> values(65536), part(3);
    ASSERT_TRUE(read_tensor(*file, entry, 0, std::as_writable_bytes(std::span(values))));
    const int width = entry.name == "a" ? 10 : 7, bias = entry.name == "a" ? 15 : 127;
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const uint32_t significand = bits & ((1U << width) - 1), exponent = bits >> width & (entry.name == "a" ? 31U : 255U);
      const double sign = bits >> 15 != 0 ? -1 : 1;
      if (exponent == (entry.name == "a" ? 31U : 255U)) {
        EXPECT_EQ(std::isnan(values[bits]), significand != 0) << bits;
        if (significand == 0) {
          EXPECT_EQ(static_cast<double>(values[bits]), sign * std::numeric_limits<double>::infinity());
        }
        continue;
      }
      const double whole = significand + (exponent == 0 ? 0 : std::ldexp(1.0, width));
      EXPECT_EQ(static_cast<double>(values[bits]), sign * std::ldexp(whole, std::max(1, static_cast<int>(exponent)) - bias - width)) << bits;
    }
    ASSERT_TRUE(read_tensor(*file, entry, 15360 * sizeof(float), std::as_writable_bytes(std::span(part))));
    EXPECT_EQ(part, std::vector<float>(values.begin() + 15360, values.begin() + 15363));
    EXPECT_FALSE(read_tensor(*file, entry, 2, std::as_writable_bytes(std::span(part))));
  }
}

TEST(SafetensorsHeader, NamesAllBadTensorsAtOnce) {
  const auto file = parse(
      R"({"a":{"dtype":"I16","shape":[1],"data_offsets":[0,2]},"b":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[2,3]}})",
      3);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().notes.size(), 2U);
}

TEST(SafetensorsHeader, RefusesLengthsBeyondTheFileAndTheLimit) {
  for (const uint64_t length : {uint64_t{3}, uint64_t{1000}, uint64_t{100'000'001}, ~uint64_t{0}}) {
    const std::string file = bytes_of("{}", 0, length);
    EXPECT_FALSE(parse_safetensors_header(file.data(), file.size(), file.size(), "w")) << length;
  }
  for (size_t size = 0; size < 10; ++size) {
    const std::string file = bytes_of("{}", 0).substr(0, size);
    EXPECT_EQ(parse_safetensors_header(file.data(), file.size(), file.size(), "w").has_value(), false) << size;
  }
}

TEST(SafetensorsHeader, AnyTruncationAndAnyFlippedByteIsRefusedOrUnderstoodWithinTheFile) {
  const std::string whole =
      bytes_of(R"({"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 2);
  for (size_t at = 0; at < whole.size(); ++at) {
    EXPECT_FALSE(parse_safetensors_header(whole.data(), at, at, "w")) << at;
    for (int bit = 0; bit < 8; ++bit) {
      std::string broken = whole;
      broken[at] = static_cast<char>(broken[at] ^ (1 << bit));
      const auto file = parse_safetensors_header(broken.data(), broken.size(), broken.size(), "w");
      if (!file) continue;
      for (const SafetensorEntry& entry : file->tensors) EXPECT_LE(entry.at + entry.bytes, broken.size());
    }
  }
}

TEST_F(Folder, WhatIsWrittenIsReadBackInPieces) {
  const auto a = counting(40), b = counting(7), c = counting(16);
  std::array<std::byte, 3> three{};  // bytes at a time
  ASSERT_TRUE(
      write_safetensors(path("w"),
                        {source_of("z.b", base::DType::kU8, {7}, b), source_of("a\"\n", base::DType::kF32, {2, 5}, a),
                         source_of("c", base::DType::kI64, {2}, c), source_of("none", base::DType::kF32, {0}, {})},
                        {{"step", "12"}}, "", three));
  const auto file = open_safetensors(path("w"));
  ASSERT_TRUE(file) << all_text(file.error());
  EXPECT_EQ(file->metadata.at("step"), "12");
  std::vector<std::byte> read(40);
  ASSERT_TRUE(read_tensor(*file, *file->find("a\"\n"), 0, read));
  EXPECT_EQ(read, a);
  read.resize(3);
  ASSERT_TRUE(read_tensor(*file, *file->find("z.b"), 4, read));
  EXPECT_EQ(read, std::vector<std::byte>(b.begin() + 4, b.end()));
  const auto outside = read_tensor(*file, *file->find("z.b"), 5, read);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, "E0241");
}

TEST_F(Folder, TheHeaderIsAsTheFormatsOwnWriterMakesIt) {
  ASSERT_TRUE(write_safetensors(
      path("w"),
      {source_of("u", base::DType::kU8, {3}, counting(3)), source_of("b", base::DType::kF32, {1}, counting(4)),
       source_of("a", base::DType::kF32, {1}, counting(4)), source_of("i", base::DType::kI64, {}, counting(8))},
      {{"k", "v"}}));
  const std::string bytes = base::read_file(path("w")).value();
  const size_t length = static_cast<unsigned char>(bytes[0]) + 256U * static_cast<unsigned char>(bytes[1]);
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(bytes.size(), 8 + length + 19);
  std::string header = bytes.substr(8, length);
  header.erase(header.find_last_not_of(' ') + 1);
  header = std::regex_replace(header, std::regex("\"([0-9a-f]{16})+\""), "\"SUM\"");
  EXPECT_EQ(
      header,
      R"({"__metadata__":{"k":"v","pantoum.xxh3":"SUM","pantoum.xxh3.tensors":"SUM"},"i":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]},)"
      R"("u":{"dtype":"U8","shape":[3],"data_offsets":[16,19]}})");
}

TEST_F(Folder, AnEmptyFileOfTensorsIsValid) {
  ASSERT_TRUE(write_safetensors(path("w"), {}, {}));
  const auto file = open_safetensors(path("w"));
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->tensors.empty());
}

TEST_F(Folder, TwoTensorsOfOneNameAreNotWritten) {
  const auto source = source_of("a", base::DType::kU8, {1}, counting(1));
  EXPECT_FALSE(write_safetensors(path("w"), {source, source}, {}));
  EXPECT_FALSE(write_safetensors(path("w"), {source_of("__metadata__", base::DType::kU8, {1}, counting(1))}, {}));
  EXPECT_FALSE(std::filesystem::exists(path("w")));
}

TEST_F(Folder, AFullDiskLeavesTheOldFileWhole) {
  const auto small = source_of("a", base::DType::kU8, {8}, counting(8));
  const auto large = source_of("a", base::DType::kU8, {1 << 20}, counting(1 << 20));
  ASSERT_TRUE(write_safetensors(path("w"), {small}, {}));
  const std::string before = base::read_file(path("w")).value();

  struct rlimit old {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit tight { 1 << 16, old.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const auto written = write_safetensors(path("w"), {large}, {});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, "E0901");
  EXPECT_EQ(base::read_file(path("w")).value(), before);
  EXPECT_FALSE(std::filesystem::exists(path("w.part")));
}

TEST_F(Folder, AFailingSourceLeavesTheOldFileWhole) {
  ASSERT_TRUE(write_safetensors(path("w"), {source_of("a", base::DType::kU8, {8}, counting(8))}, {}));
  const std::string before = base::read_file(path("w")).value();
  SafetensorSource broken{"a", base::DType::kU8, {8}, [](uint64_t, std::span<std::byte>) -> Result<void> {
                            return fail("E0903", "broken");
                          }};
  const auto written = write_safetensors(path("w"), {broken}, {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, "E0903");
  EXPECT_EQ(base::read_file(path("w")).value(), before);
}

TEST_F(Folder, TheRemainsOfAKilledWriterAreReplaced) {
  std::ofstream(path("w.part")) << std::string(1000, 'x');
  ASSERT_TRUE(write_safetensors(path("w"), {source_of("a", base::DType::kU8, {8}, counting(8))}, {}));
  EXPECT_TRUE(open_safetensors(path("w")));
  EXPECT_FALSE(std::filesystem::exists(path("w.part")));
}

TEST_F(Folder, AFolderThatIsNotThereIsAWriteFailure) {
  const auto written = write_safetensors(path("no/w"), {}, {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, "E0901");
  EXPECT_EQ(open_safetensors(path("no/w")).error().code, "E0201");
  EXPECT_EQ(open_safetensors(folder_.path().string()).error().code, "E0201");
}

}  // namespace
}  // namespace pantoum::weights
