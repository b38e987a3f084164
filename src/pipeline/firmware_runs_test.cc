#include "pipeline/run_firmware.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace pantoum::pipeline {
namespace {

class FirmwareRunsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "runs-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A run as run_firmware makes one.
  FirmwareRuns run(uint64_t resumed, uint64_t steps, uint64_t reached) {
    const FirmwareRuns runs = firmware_runs(folder_, resumed, steps);
    EXPECT_TRUE(keep_firmware_runs(folder_, runs, reached));
    return runs;
  }

  std::string folder_;
};

TEST_F(FirmwareRunsTest, KnowsTheRunsOfBefore) {
  run(0, 40, 40);
  const FirmwareRuns second = run(40, 60, 60);
  ASSERT_TRUE(second.are_known);
  ASSERT_EQ(second.stretches.size(), 2U);
  EXPECT_EQ(second.stretches[0].steps, 40U);
  EXPECT_EQ(second.stretches[1].from, 40U);
  EXPECT_EQ(second.stretches[1].steps, 60U);
}

TEST_F(FirmwareRunsTest, AnEmptyStorageBeginsAnew) {
  run(0, 40, 40);
  EXPECT_EQ(run(0, 20, 20).stretches.size(), 1U);
  EXPECT_EQ(run(20, 30, 30).stretches.size(), 2U);
}

// Power was lost at step 23, so the next run goes on from there, told another number of steps.
TEST_F(FirmwareRunsTest, ARunThatWasCutOffCounts) {
  run(0, 40, 23);
  const FirmwareRuns next = run(23, 60, 60);
  EXPECT_TRUE(next.are_known);
  EXPECT_EQ(next.stretches.size(), 2U);
}

TEST_F(FirmwareRunsTest, WhatMakeRanInBetweenIsNotKnown) {
  run(0, 40, 40);
  EXPECT_FALSE(run(50, 60, 60).are_known) << "somebody ran steps 41 to 50";
  EXPECT_FALSE(run(60, 70, 70).are_known) << "and nobody knows them later";
}

TEST_F(FirmwareRunsTest, ADamagedFileIsNoFile) {
  for (const char* text : {"", "{", "[]", "{\"reached\":\"x\",\"runs\":[]}", "{\"reached\":90,\"runs\":[{}]}",
                           "{\"reached\":90,\"runs\":[{\"from\":-1,\"steps\":2}]}", "{\"reached\":90,\"runs\":3}"}) {
    std::ofstream(folder_ + "/storage.runs.json") << text;
    const FirmwareRuns runs = firmware_runs(folder_, 10, 20);
    EXPECT_FALSE(runs.are_known) << text;
    EXPECT_EQ(runs.stretches.size(), 1U) << text;
  }
}

}  // namespace
}  // namespace pantoum::pipeline
