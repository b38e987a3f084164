#include "pipeline/run_firmware.h"

#include <gtest/gtest.h>

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

TEST(RunFirmware, RefusesAFolderThatIsNoProject) {
  const Result<FirmwareRun> run = run_firmware({.folder = "/nowhere"}, [](uint64_t, float) {});
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(run.error().code, "E0294");
}

}  // namespace
}  // namespace pantoum::pipeline
