#include "cli/firmware_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace pantoum::cli {
namespace {

// A run of 40 steps of a project whose storage is used.
pipeline::FirmwareRun device_run() {
  pipeline::FirmwareRun run;
  run.output.losses = {{2, 1.25F}, {40, 0.125F}};
  run.output.state = "0x0badcafe", run.host_state = "0x0badcafe";
  run.output.stack_used = 1936, run.output.stack_reserved = 3568;
  run.output.paged_in = 4000, run.output.written = "3000", run.output.storage_bytes = 2000;
  run.output.test_loss = 0.5F, run.output.right = 47, run.output.counted = 48;
  run.output.predicted_right = 47, run.output.predicted = 48;
  run.memory = {.target = "cortex-m3", .board = "lm3s6965evb", .plan = "p.json", .ram = 65536, .rom = 262144};
  run.memory.arena = 57272, run.memory.stack = 3568, run.memory.other = 1516, run.memory.flash = 131072;
  run.host.steps = 40, run.host.endurance = 400000000000;
  run.bytes_a_step = 50, run.endurance_steps = 8e9;
  run.compared = 2, run.equal = true;
  return run;
}

TEST(FirmwareReport, IsATableOfMemoryStorageAndWhatWasLearned) {
  EXPECT_EQ(
      to_text(device_run()),
      "ran       40 steps on lm3s6965evb (cortex-m3)\n"
      "RAM       arena, as planned            57,272 B\n"
      "          stack, at most                1,936 B  of 3,568 reserved\n"
      "          static                        1,516 B  tables and buffers of runtime and board\n"
      "          in use, at most              60,724 B  of 65,536 (92.7 %)\n"
      "flash     in use                      131,072 B  of 262,144 (50.0 %): code, plan, weights, samples\n"
      "storage   written, each step               50 B  endurance: 8e+09 steps until 4e+11 bytes are written\n"
      "          read, each step                 100 B\n"
      "loss      of a batch           1.2500 -> 0.1250  at step 2 and at step 40\n"
      "test      samples right                47 of 48  97.9 %, loss 0.5000\n"
      "predict   samples right                47 of 48  97.9 %, of the outputs\n"
      "bits      parameters and state 0x0badcafe on the device, 0x0badcafe on the host; 2 losses compared: equal\n");
}

TEST(FirmwareReport, TellsOfARunThatWentOnAndOfOneThatHadEnded) {
  pipeline::FirmwareRun run = device_run();
  run.output.resumed = 30;
  EXPECT_TRUE(to_text(run).starts_with("ran       10 steps on lm3s6965evb (cortex-m3), 31 to 40\n"));
  run.output.resumed = 40, run.output.losses.clear();
  EXPECT_TRUE(
      to_text(run).starts_with("ran       0 steps on lm3s6965evb (cortex-m3): all 40 were done by earlier runs\n"));
  EXPECT_EQ(to_text(run).find("storage"), std::string::npos);
  EXPECT_EQ(to_text(run).find("loss      of"), std::string::npos);
}

TEST(FirmwareReport, SaysNothingOfMemoryThatThisMachineHasNot) {
  pipeline::FirmwareRun run = device_run();
  run.memory = {.target = "posix", .arena = 1000};
  run.output.stack_used = run.output.stack_reserved = 0;
  const std::string text = to_text(run);
  EXPECT_TRUE(
      text.starts_with("ran       40 steps on this machine\nRAM       arena, as planned             1,000 B\nsto"));
}

TEST(FirmwareReport, WhatCannotBeComparedIsNeitherEqualNorUnequal) {
  pipeline::FirmwareRun run = device_run();
  run.is_comparable = run.equal = false;
  EXPECT_NE(to_text(run).find("0x0badcafe on the device; not compared: "), std::string::npos);
  EXPECT_TRUE(to_json(run)["equal"].is_null());
  EXPECT_TRUE(log_events(run)[0]["equal_bits"].is_null());
}

TEST(FirmwareReport, TheLogHasTheDeviceItsStepsAndAnEnd) {
  const auto events = log_events(device_run());
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0]["event"], "device");
  EXPECT_EQ(events[0]["step"], 40);  // its figures are those at the end
  EXPECT_EQ(events[0]["ram_bytes"], 57272 + 1516 + 1936);
  EXPECT_EQ(events[0]["storage_written_bytes"], 3000);
  EXPECT_EQ(events[1], (nlohmann::ordered_json{{"event", "step"}, {"step", 2}, {"loss", 1.25}}));
  EXPECT_EQ(events[3]["event"], "end");
  EXPECT_NEAR(events[3]["test_accuracy"].get<double>(), 47.0 / 48, 1e-12);
  EXPECT_EQ(events[3]["steps"], 40);
}

// main.c is the user's: it may have no evaluation, and a loss may be no number.
TEST(FirmwareReport, HoldsWithoutAnEvaluationAndWithALossThatIsNoNumber) {
  pipeline::FirmwareRun run = device_run();
  run.output.losses[40] = NAN;
  run.output.test_loss.reset(), run.output.right = run.output.counted = 0;
  run.output.predicted_right = run.output.predicted = 0;
  EXPECT_NE(to_text(run).find("1.2500 -> nan"), std::string::npos);
  EXPECT_EQ(to_text(run).find("samples right"), std::string::npos);
  EXPECT_FALSE(log_events(run).back().contains("test_loss"));
}

}  // namespace
}  // namespace pantoum::cli
