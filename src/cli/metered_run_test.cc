#include "cli/metered_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pantoum::cli {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

Json event_of(const RunEnergy& energy) {
  Json event = Json::object();
  add_energy(event, energy);
  return event;
}

const cost::MeasuredEnergy kMeasured{.meter = "RAPL by powercap (package-0)",
                                     .joules = 2,
                                     .half_width = 0.04,
                                     .gross_joules = 3,
                                     .watts = 30,
                                     .seconds = 0.1,
                                     .idle = {.watts = 10, .half_width = 0.1, .seconds = 2},
                                     .runs = 50,
                                     .windows = 9,
                                     .measured_s = 5};

TEST(RunEnergyWords, ModelledWhereNobodyAsked) {
  const RunEnergy energy{.measured = {}, .why_not = "", .modelled_j = 1.5};
  EXPECT_EQ(event_of(energy), (Json{{"step_energy_modelled_j", 1.5}, {"energy_source", "modelled"}}));
  EXPECT_EQ(energy_line(energy), "");
}

TEST(RunEnergyWords, ModelledAndWhy) {
  const RunEnergy energy{.measured = {}, .why_not = "the rail\nvanished", .modelled_j = 1.5};
  EXPECT_EQ(event_of(energy)["energy_not_measured"], "the rail\nvanished");
  EXPECT_EQ(energy_line(energy), "energy   1.50 J a step, modelled; not measured: the rail\\nvanished\n");
}

TEST(RunEnergyWords, MeasuredBesideModelled) {
  RunEnergy energy{.measured = kMeasured, .why_not = "", .modelled_j = 1.5};
  const Json event = event_of(energy);
  EXPECT_EQ(event["energy_source"], "measured by RAPL by powercap (package-0)");
  EXPECT_EQ(event["step_energy_j"], 2.0);
  EXPECT_EQ(event["energy_j"], 100.0);
  EXPECT_EQ(event["idle_w"], 10.0);
  EXPECT_FALSE(event.contains("lost_s"));
  EXPECT_EQ(
      energy_line(energy),
      "energy   a step: 2.00 J +- 2% above 10 W idle (measured for 2.0 s), by RAPL by powercap (package-0); modelled: "
      "1.50 J\n");
  energy.measured->half_width.reset(), energy.measured->idle = {}, energy.measured->health = {.gaps = 2, .gap_s = 0.5};
  EXPECT_FALSE(event_of(energy).contains("step_energy_half_width_j"));
  EXPECT_FALSE(event_of(energy).contains("idle_w"));
  EXPECT_EQ(event_of(energy)["lost_s"], 0.5);
  EXPECT_THAT(energy_line(energy), HasSubstr("2.00 J, idle included, by RAPL"));
  EXPECT_THAT(energy_line(energy), HasSubstr("500.0 ms of samples were lost and bridged"));
}

TEST(OpenMeteredRun, WithoutAWordMeasuresNothing) {
  auto run = MeteredRun::open("");
  ASSERT_TRUE(run);
  ASSERT_TRUE(run->begin({}));
  run->on_steps(true), run->step(), run->on_steps(false);
  const RunEnergy energy = run->finish(1, 2);
  EXPECT_FALSE(energy.measured);
  EXPECT_EQ(energy.why_not, "");
}

TEST(OpenMeteredRun, RefusesWhatIsNone) {
  EXPECT_EQ(MeteredRun::open("nothing").error().code, "E0124");
  EXPECT_EQ(MeteredRun::open("csv:a,b=c").error().code, "E0124");
  EXPECT_EQ(MeteredRun::open("hwmon:no-such-chip").error().code, "E0272");
}

}  // namespace
}  // namespace pantoum::cli
