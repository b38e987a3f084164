#include "pipeline/run_firmware.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace pantoum::pipeline {
namespace {

TEST(RunFirmware, ReadsWhatAProjectPrints) {
  FirmwareOutput output;
  for (const char* line : {"resumed 5", "step 6 loss 3f800000", "step 7 loss 3f000000", "state 0x0badcafe",
                           "stack 900 of 2048", "worn 4096", "Segmentation fault"})
    read_firmware_line(line, output);
  EXPECT_EQ(output.resumed, 5U);
  EXPECT_EQ(output.losses, (std::map<uint64_t, float>{{6, 1.0F}, {7, 0.5F}}));
  EXPECT_EQ(output.state, "0x0badcafe");
  EXPECT_EQ(output.stack, "900 of 2048");
  EXPECT_EQ(output.storage_bytes, 4096U);
  EXPECT_EQ(output.rest, "Segmentation fault\n");
}

TEST(RunFirmware, ReadsLossesAsDecimalsWithTheirBits) {
  FirmwareOutput output;
  for (const char* line :
       {"step 20 loss 1.000000 bits 0x3f800000", "step 21 loss -nan bits 0xffc00000",
        "test right 47 of 48 loss 0.500000 bits 0x3f000000", "stack 900 of 2048", "paged in 4096 out 8192"})
    read_firmware_line(line, output);
  EXPECT_EQ(output.losses[20], 1.0F);
  EXPECT_TRUE(std::isnan(output.losses[21]));
  EXPECT_EQ(output.test_loss, 0.5F);
  EXPECT_EQ((std::pair{output.right, output.counted}), (std::pair<uint64_t, uint64_t>{47, 48}));
  EXPECT_EQ((std::pair{output.stack_used, output.stack_reserved}), (std::pair<uint64_t, uint64_t>{900, 2048}));
  EXPECT_EQ((std::pair{output.paged_in, output.paged_out}), (std::pair<uint64_t, uint64_t>{4096, 8192}));
}

TEST(RunFirmware, ReadsTheEvaluationOfAnOlderProject) {
  FirmwareOutput output;
  read_firmware_line("test loss 0x3f000000 right 3 of 4", output);
  EXPECT_EQ(output.test_loss, 0.5F);
  EXPECT_EQ(output.right, 3U);
}

// main.c is the user's, and may print what it likes.
TEST(RunFirmware, WhatIsNoLossIsAmongTheRest) {
  for (const char* line : {"step 3 loss high", "step three loss 0x3f800000", "step", "step 4", "step 4 loss",
                           "step 5 loss 0x", "step 5 loss 0x1234567890", "step 6 gain 0x3f800000"}) {
    FirmwareOutput output;
    read_firmware_line(line, output);
    EXPECT_TRUE(output.losses.empty()) << line;
    EXPECT_EQ(output.rest, std::string(line) + "\n");
  }
  FirmwareOutput output;
  for (const char* line : {"test", "test right", "stack", "paged -1 99999999999999999999999", "resumed x", "worn"})
    read_firmware_line(line, output);
  EXPECT_EQ(output.counted + output.paged_in + output.resumed + output.storage_bytes, 0U);
}

TEST(RunFirmware, RefusesAFolderThatIsNoProject) {
  const Result<FirmwareRun> run = run_firmware({.folder = "/nowhere"}, [](uint64_t, float) {});
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(run.error().code, "E0294");
}

}  // namespace
}  // namespace pantoum::pipeline
