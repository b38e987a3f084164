#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pantoum::report {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;

Json runs_of(const std::string& text) {
  auto read = read_runs({{"run.jsonl", text}});
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return read ? *read : Json{{"runs", Json::array()}, {"notes", Json::array()}};
}

std::vector<double> steps(const Json& run, const char* curve = "loss") {
  return run["curves"][curve]["steps"].get<std::vector<double>>();
}

TEST(RunCurves, ReadsStepsFromTheFirstToTheLast) {
  const Json found = runs_of(R"({"event":"plan"}
{"event":"step","step":1,"loss":2.5,"lr":0.1,"seconds":0.5}
{"event":"step","step":20,"loss":1.5,"lr":0.05,"seconds":9}
{"event":"epoch","epoch":1,"step":21,"train_loss":1.9,"test_loss":1.4,"test_accuracy":0.5}
{"event":"end","steps":21,"arena_bytes":1024,"seconds":10.5,"kernels":"portable"})");
  ASSERT_EQ(found["runs"].size(), 1U);
  const Json& run = found["runs"][0];
  EXPECT_THAT(steps(run), ElementsAre(1, 20));
  EXPECT_THAT(steps(run, "test_accuracy"), ElementsAre(21));
  EXPECT_EQ(run["first_step"], 1);
  EXPECT_EQ(run["last_step"], 21);
  EXPECT_EQ(run["end"]["arena_bytes"], 1024);
  EXPECT_EQ(run["end"]["kernels"], "portable");
}

TEST(RunCurves, AResumedRunIsARunOfItsOwn) {
  const Json found = runs_of(R"({"event":"step","step":1,"loss":3}
{"event":"step","step":40,"loss":2}
{"event":"resume","from":"c","step":30}
{"event":"plan"}
{"event":"step","step":40,"loss":2}
)");
  ASSERT_EQ(found["runs"].size(), 2U);
  EXPECT_EQ(found["runs"][1]["resumed_from"], 30);
  EXPECT_THAT(steps(found["runs"][1]), ElementsAre(40));
}

TEST(RunCurves, StepsThatBeginAnewAreAnotherRun) {
  EXPECT_EQ(runs_of("{\"event\":\"step\",\"step\":5,\"loss\":3}\n{\"event\":\"step\",\"step\":1,\"loss\":3}\n")["runs"]
                .size(),
            2U);
}

TEST(RunCurves, ALossThatIsNoNumberIsAGap) {
  const Json found = runs_of(R"({"event":"step","step":1,"loss":null}
{"event":"step","step":2,"loss":NaN}
{"event":"step","step":3,"loss":-Infinity,"note":"NaN \" inf"}
{"event":"step","step":4,"loss":1})");
  const Json& run = found["runs"][0];
  EXPECT_EQ(run["losses_that_are_no_number"], 3);
  EXPECT_TRUE(run["curves"]["loss"]["values"][1].is_null());
  EXPECT_EQ(run["curves"]["loss"]["values"][3], 1);
}

TEST(RunCurves, ALastLineThatWasCutIsLeftOut) {
  const Json found = runs_of("{\"event\":\"step\",\"step\":1,\"loss\":3}\n{\"event\":\"st");
  EXPECT_THAT(steps(found["runs"][0]), ElementsAre(1));
  EXPECT_EQ(found["notes"].size(), 1U);
}

TEST(RunCurves, AnEmptyLogHasNoRuns) {
  EXPECT_TRUE(runs_of("")["runs"].empty());
  EXPECT_TRUE(runs_of("\n \r\n")["runs"].empty());
}

TEST(RunCurves, RefusesWhatIsNoLogWithTheLine) {
  for (const char* text : {"[1]\n", "{\"event\":\"step\"}\nnonsense\n{}\n", "nonsense", "\xff\n"}) {
    const auto read = read_runs({{"run.jsonl", text}});
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, "E0290");
    EXPECT_NE(read.error().where.find("run.jsonl, line "), std::string::npos);
  }
}

TEST(RunCurves, ADevicesFiguresStandBesideItsLoss) {
  auto read = read_runs(
      {{"host", "{\"event\":\"step\",\"step\":1,\"loss\":3}\n"},
       {"board",
        R"({"event":"device","board":"nrf52840","ram_bytes":9000,"stack_bytes":800,"flash_bytes":64000,"storage_written_bytes":0}
{"event":"step","step":1,"loss":3}
{"event":"device","board":"nrf52840","step":1,"ram_bytes":9100,"stack_bytes":900,"storage_written_bytes":4096}
)"}});
  ASSERT_TRUE(read);
  ASSERT_EQ((*read)["runs"].size(), 2U);
  EXPECT_TRUE((*read)["runs"][0]["board"].is_null());
  const Json& board = (*read)["runs"][1];
  EXPECT_EQ(board["board"], "nrf52840");
  EXPECT_THAT(steps(board, "ram_bytes"), ElementsAre(0, 1));
  EXPECT_THAT(steps(board), ElementsAre(1));
}

TEST(RunCurves, LongCurvesKeepTheirPeaks) {
  std::string text;
  for (int step = 1; step <= 50000; ++step)
    text +=
        "{\"event\":\"step\",\"step\":" + std::to_string(step) + ",\"loss\":" + (step == 33333 ? "99" : "1") + "}\n";
  const Json found = runs_of(text);
  const auto values = found["runs"][0]["curves"]["loss"]["values"].get<std::vector<double>>();
  EXPECT_LE(values.size(), 2 * kMostCurvePoints);
  EXPECT_NE(std::find(values.begin(), values.end(), 99), values.end());
  EXPECT_EQ(steps(found["runs"][0]).back(), 50000);
}

TEST(RunCurves, ManyRunsAreTheLastOnes) {
  std::string text;
  for (int run = 0; run < 100; ++run) text += "{\"event\":\"step\",\"step\":1,\"loss\":1}\n";
  const Json found = runs_of(text);
  EXPECT_EQ(found["runs"].size(), kMostRuns);
  EXPECT_EQ(found["notes"].size(), 1U);
}

Json warnings_of(const std::string& log) {
  const PlanOfRuns planned{.ops = 4, .device = "m4", .budget_bytes = 4096, .arena_bytes = 2048};
  const auto found = read_runs({{"run.jsonl", log}}, &planned);
  EXPECT_TRUE(found);
  return found ? (*found)["warnings"] : Json();
}

TEST(RunCurves, ALogOfAnotherPlanIsAWarning) {
  EXPECT_TRUE(warnings_of(R"({"event":"plan","ops":4,"device":"m4","budget_bytes":4096,"arena_bytes":2048})").empty());
  EXPECT_TRUE(warnings_of(R"({"event":"plan","ops":"x"})").empty());  // what it does not say contradicts nothing
  EXPECT_EQ(warnings_of(R"({"event":"plan","ops":5,"device":"m7","budget_bytes":8192,"arena_bytes":2048})"),
            Json({"run.jsonl is of a run of another plan: ops 5 instead of 4, a budget of 8.0 KiB instead of 4.0 KiB, "
                  "device m7 instead of m4"}));
  EXPECT_TRUE(warnings_of(R"({"event":"device","board":"b","arena_bytes":2048})").empty());
  EXPECT_TRUE(warnings_of(R"({"event":"device","board":"b","arena_bytes":3000})").empty());  // evaluation takes more
  for (const char* other : {"1024", "5000", "1e300"})
    EXPECT_EQ(warnings_of(std::string(R"({"event":"device","board":"b","arena_bytes":)") + other + "}").size(), 1U);
  EXPECT_EQ(warnings_of(R"({"event":"plan","ops":-1e300,"arena_bytes":1e300})").size(), 1U);
}

TEST(RunCurves, ALogWithoutEventsGetsANote) {
  for (const char* log : {"", "\n\n", "{}\n", "{\"event\":\"x\"}\n"})
    EXPECT_EQ((*read_runs({{"e", log}}))["notes"], Json({"e: the log has no events of a run"})) << log;
  EXPECT_TRUE((*read_runs({{"e", "{\"event\":\"step\",\"step\":1}\n"}}))["notes"].empty());
}

}  // namespace
}  // namespace pantoum::report
