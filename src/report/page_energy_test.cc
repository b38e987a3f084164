#include "report/page_energy.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pantoum::report {
namespace {

using Json = nlohmann::ordered_json;

TEST(MeasuredEnergyRows, TellOfAStepAndOfAll) {
  const auto rows = measured_energy(Json::parse(
      R"({"energy_j":100,"energy_source":"measured by x","step_energy_j":2,"step_energy_half_width_j":0.04,"idle_w":10,"step_energy_modelled_j":1.5})"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].second, "100.00 J (measured by x)");
  EXPECT_EQ(rows[1].second, "2.00 J, +- 40.00 mJ with 95%, above 10 W idle; modelled: 1.50 J");
}

TEST(MeasuredEnergyRows, AreNoneOfWhatIsNoMeasurement) {
  for (const char* end : {"null", "{}", R"({"energy_source":"modelled","step_energy_modelled_j":1})",
                          R"({"energy_j":"x","step_energy_j":[]})"})
    EXPECT_TRUE(measured_energy(Json::parse(end)).empty()) << end;
}

}  // namespace
}  // namespace pantoum::report
