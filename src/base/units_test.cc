#include "base/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace pantoum::base {
namespace {

TEST(ParseBytes, TakesEveryUnit) {
  EXPECT_EQ(parse_bytes("512B", "--ram").value(), 512);
  EXPECT_EQ(parse_bytes("1.5 kB", "--ram").value(), 1500);
  EXPECT_EQ(parse_bytes("256KiB", "--ram").value(), 262144);
  EXPECT_EQ(parse_bytes("2MiB", "--ram").value(), 2097152);
  EXPECT_EQ(parse_bytes("3GB", "--ram").value(), 3000000000);
}

TEST(ParseBytes, RefusesABareNumberWithItsLikelyReadings) {
  const auto bytes = parse_bytes("256", "--ram");
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, "E0110");
  EXPECT_EQ(bytes.error().where, "--ram");
  EXPECT_EQ(bytes.error().help, "did you mean 256KiB, 256MiB or 256B?");
}

TEST(ParseBytes, TellsAShareFromANumberOfBytes) {
  for (const auto& [text, share] : {std::pair{"50%", 0.5}, {" 12.5 %", 0.125}, {"0.5", 0.5}, {".25", 0.25}, {"100%", 1.0}}) {
    ASSERT_TRUE(share_in(text)) << text;
    EXPECT_DOUBLE_EQ(*share_in(text), share) << text;
    EXPECT_THAT(parse_bytes(text, "--ram").error().help, ::testing::HasSubstr("a share is no budget")) << text;
  }
  for (const char* text : {"", "0", "0%", "-50%", "101%", "1", "4194304", "0.5MiB", "50%,4MiB", "auto", "nan%"})
    EXPECT_FALSE(share_in(text)) << text;
  EXPECT_EQ(help_for_share(0.5, 2048), "the unplanned step takes 2.0 KiB: 50% of it is 1.0 KiB");
}

TEST(ParseBytes, SaysWhereWordsOfASweepBelong) {
  EXPECT_THAT(parse_bytes("auto", "--ram").error().help, ::testing::HasSubstr("leave --ram out"));
  for (const char* text : {"2MiB,4MiB", "2MiB:4MiB:3", "50%,4MiB", "2,4MiB:3"})
    EXPECT_FALSE(parse_bytes(text, "--ram")) << text;
  EXPECT_EQ(parse_bytes("2MiB,4MiB", "--ram").error().message, "'2MiB,4MiB' are several budgets");
  EXPECT_EQ(parse_bytes("auto", "--reserve").error().message, "'auto' is no quantity");
}

TEST(ParseBytes, RefusesNonsense) {
  for (const char* text : {"", "KiB", "-1KiB", "nanB", "infB", "1e300B", "5 bytes", "1KIB"})
    EXPECT_FALSE(parse_bytes(text, "--ram")) << text;
}

TEST(ParseJoules, TakesUnitsAndRefusesBareNumbers) {
  EXPECT_DOUBLE_EQ(parse_joules("3.2J", "--at-most").value(), 3.2);
  EXPECT_DOUBLE_EQ(parse_joules("450 mJ", "--at-most").value(), 0.45);
  EXPECT_DOUBLE_EQ(parse_joules("2Wh", "--at-most").value(), 7200);
  const auto bare = parse_joules("3.2", "--at-most");
  ASSERT_FALSE(bare);
  EXPECT_EQ(bare.error().code, "E0121");
  EXPECT_EQ(bare.error().help, "did you mean 3.2J, 3.2mJ or 3.2Wh?");
  EXPECT_FALSE(parse_joules("-1J", "--at-most"));
}

TEST(ParseSeconds, TakesEveryUnit) {
  EXPECT_DOUBLE_EQ(parse_seconds("450ms", "--deadline").value(), 0.45);
  EXPECT_DOUBLE_EQ(parse_seconds("2h", "--deadline").value(), 7200);
  EXPECT_FALSE(parse_seconds("2", "--deadline"));
}

TEST(ParseFraction, WantsItsPercentSign) {
  EXPECT_DOUBLE_EQ(parse_fraction("0.01%", "--gap").value(), 1e-4);
  EXPECT_FALSE(parse_fraction("0.01", "--gap"));
}

TEST(Units, HaveAMostThatIsToldWithTheirCode) {
  EXPECT_EQ(parse_seconds("876600h", "--deadline").value(), 876600.0 * 3600);
  for (const char* text : {"876601h", "1e300h", "1e308h", "1e18s"})
    EXPECT_EQ(parse_seconds(text, "--deadline").error().code, "E0111") << text;
  for (const char* text : {"1e308kJ", "1e13kJ"})
    EXPECT_EQ(parse_joules(text, "--at-most").error().code, "E0121") << text;
  for (const char* text : {"1e30GiB", "1e308GiB", "5e18B"})
    EXPECT_EQ(parse_bytes(text, "--ram").error().code, "E0110") << text;
  EXPECT_EQ(parse_fraction("100%", "--gap").value(), 1);
  EXPECT_EQ(parse_fraction("1e300%", "--gap").error().code, "E0112");
}

TEST(Units, ThatAreHalfWrittenAreToldWithTheirReadings) {
  const auto help = [](const char* text) { return parse_bytes(text, "--ram").error().help; };
  for (const char* text : {"64M", "64 M", "64m", "64mb", "64Mb"})
    EXPECT_TRUE(help(text).starts_with("did you mean 64MB or 64MiB? ")) << text << ": " << help(text);
  EXPECT_TRUE(help("64kib").starts_with("did you mean 64KiB? ")) << help("64kib");
  EXPECT_TRUE(parse_seconds("5m", "").error().help.starts_with("did you mean 5ms or 5min? "));
  EXPECT_TRUE(parse_joules("3j", "").error().help.starts_with("did you mean 3J? "));
  EXPECT_EQ(help("1,5MiB"), "write a point, not a comma: 1.5MiB");
  EXPECT_EQ(parse_bytes("-4MiB", "").error().message, "'-4MiB' is below 0");
}

TEST(ByteUnit, IsTheOneThatItsUserWrote) {
  for (const char* text : {"4 MiB", "0.1 MiB", "200 kB", "64 KiB", "1.5 GB", "1.5 GiB", "100 KiB", "1 B", "999 B", "2.5 MB", "16 MiB", "0 B",
                           "1000 MiB", "48 KiB", "5320 KiB", "768 MiB", "10 MB", "33.3 MiB"})
    EXPECT_EQ(ByteUnit(parse_bytes(text, "").value()).written(), text);
  for (const int64_t bytes : {int64_t{1}, int64_t{104857}, int64_t{123456789}, (int64_t{1} << 62)})
    EXPECT_EQ(parse_bytes(ByteUnit(bytes).written(), "").value(), bytes) << ByteUnit(bytes).written();
}

TEST(ByteUnit, ShowsOtherBytesWithoutPromisingTooMuch) {
  EXPECT_EQ(ByteUnit(4 << 20).up(5447168), "5.20 MiB");
  EXPECT_EQ(ByteUnit(4 << 20).down(5377025), "5.12 MiB");
  EXPECT_EQ(ByteUnit(200000).up(508928), "508.93 kB");
  EXPECT_EQ(ByteUnit(4 << 20).up(1000), "0.000954 MiB");
  EXPECT_EQ(ByteUnit(12345).up(999), "999 B");
  EXPECT_EQ(ByteUnit(4 << 20).down(0), "0.00 MiB");
}

TEST(Units, OfAnySizeAreShown) {
  EXPECT_EQ(show_seconds(0.5), "500.0 ms");
  EXPECT_EQ(show_seconds(300), "5m00s");
  EXPECT_EQ(show_seconds(9000), "2h30m");
  EXPECT_EQ(show_seconds(5e26), "5e+26 s");
  EXPECT_EQ(show_seconds(HUGE_VAL), "inf s");
  EXPECT_EQ(show_joules(3.2), "3.20 J");
  EXPECT_EQ(show_joules(-5e27), "-5e+27 J");
}

}  // namespace
}  // namespace pantoum::base
