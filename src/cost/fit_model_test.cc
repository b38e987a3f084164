#include "cost/fit_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace pantoum::cost {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Compute kProfile{.flops_per_s = 2e10, .bytes_per_s = 1e10, .op_overhead_s = 2e-6};

// A machine that is not the profile's: three times the flops, half the bandwidth, kernels of three qualities.
struct RooflineMachine {
  Compute compute{.flops_per_s = 6e10, .bytes_per_s = 5e9, .op_overhead_s = 5e-6};
  std::map<std::string, double> factors{{"conv2d", 0.5}, {"matmul", 1}, {"relu", 2}};

  [[nodiscard]] Seconds seconds(const std::string& family, const Work& work) const {
    return modelled_seconds(compute, work) * factors.at(family);
  }
};

class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}
  double between(double least, double most) {  // evenly in the logarithm
    return least * std::exp(std::uniform_real_distribution<double>(0, std::log(most / least))(random_));
  }
  double noise(double size) { return std::exp(std::normal_distribution<double>(0, size)(random_)); }
  bool chance(double share) { return std::uniform_real_distribution<double>(0, 1)(random_) < share; }
  Work work(const std::string& family) {
    const double bytes = between(1e4, 1e8);
    return {.flops = family == "relu" ? bytes / 8 : bytes * between(1, 100), .bytes = bytes, .footprint = bytes};
  }

 private:
  std::mt19937 random_;
};

std::vector<MeasuredRow> measured(const RooflineMachine& machine, Draws& draws, size_t count, double noise) {
  std::vector<MeasuredRow> rows;
  for (size_t row = 0; row < count; ++row)
    for (const auto& [family, factor] : machine.factors) {
      const Work work = draws.work(family);
      rows.push_back({family, work, machine.seconds(family, work) * draws.noise(noise)});
    }
  return rows;
}

// The largest |log(predicted / true)| over ops that were not measured.
double worst_error(const FittedModel& model, const RooflineMachine& machine, Draws& draws) {
  double worst = 0;
  for (int trial = 0; trial < 200; ++trial)
    for (const auto& [family, factor] : machine.factors) {
      const Work work = draws.work(family);
      worst = std::max(worst, std::abs(std::log(model.seconds(family, work) / machine.seconds(family, work))));
    }
  return worst;
}

// Predictions are what rows tell. What all factors and all rates have in common, only the priors divide among them.
TEST(FitModel, RecoversWhatTheMachineIs) {
  constexpr double kDivided = 0.2;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    Draws draws(seed);
    const RooflineMachine machine;
    const FittedModel model = fit_model(measured(machine, draws, 60, 0.05), kProfile);
    EXPECT_NEAR(std::log(model.compute.flops_per_s / 6e10), 0, kDivided) << seed;
    EXPECT_NEAR(std::log(model.compute.bytes_per_s / 5e9), 0, kDivided) << seed;
    for (const auto& [family, factor] : machine.factors) {
      EXPECT_NEAR(std::log(model.families.at(family).factor / factor), 0, kDivided) << family << " " << seed;
      EXPECT_EQ(model.families.at(family).rows, 60u);
    }
    EXPECT_LT(worst_error(model, machine, draws), 0.1) << seed;
    EXPECT_NEAR(model.scatter, 0.05, 0.02) << seed;
  }
}

TEST(FitModel, RecoversItWhereLoadsRunAhead) {
  Compute profile = kProfile;
  profile.roofline = Roofline::kMax;
  profile.caches = {{1 << 20, 1e11}};
  RooflineMachine machine;
  machine.compute.roofline = Roofline::kMax;
  machine.compute.caches = {{1 << 20, 5e10}};
  for (unsigned seed = 1; seed <= 5; ++seed) {
    Draws draws(seed);
    EXPECT_LT(worst_error(fit_model(measured(machine, draws, 60, 0.03), profile), machine, draws), 0.15) << seed;
  }
}

TEST(FitModel, OutliersMoveItLittle) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    Draws draws(seed);
    const RooflineMachine machine;
    std::vector<MeasuredRow> rows = measured(machine, draws, 60, 0.05);
    for (MeasuredRow& row : rows)
      if (draws.chance(0.15)) row.seconds *= draws.between(5, 500);
    EXPECT_LT(worst_error(fit_model(rows, kProfile), machine, draws), 0.15) << seed;
  }
}

TEST(FitModel, NoRowsLeaveTheProfile) {
  const FittedModel model = fit_model({}, kProfile);
  const Work work{.flops = 1e9, .bytes = 1e6};
  EXPECT_EQ(model.seconds("conv2d", work), modelled_seconds(kProfile, work));
  EXPECT_EQ(model.compute.flops_per_s, kProfile.flops_per_s);
  EXPECT_EQ(model.rows, 0u);
}

TEST(FitModel, OneRowScalesEverything) {
  const Work work{.flops = 1e9, .bytes = 1e6}, other{.flops = 1e6, .bytes = 1e8};
  const FittedModel model = fit_model({{"matmul", work, 10 * modelled_seconds(kProfile, work)}}, kProfile);
  EXPECT_NEAR(model.seconds("matmul", work) / modelled_seconds(kProfile, work), 10, 1e-6);
  EXPECT_NEAR(model.seconds("conv2d", other) / modelled_seconds(kProfile, other), 10, 1e-6);
}

TEST(FitModel, FewRowsOfAFamilyThatScattersGoPartOfTheWay) {
  Draws draws(3);
  RooflineMachine machine;
  machine.factors = {{"matmul", 1}, {"conv2d", 1}};
  std::vector<MeasuredRow> rows = measured(machine, draws, 40, 0.5);
  const Work work = draws.work("relu");
  rows.push_back({"relu", work, 8 * modelled_seconds(machine.compute, work)});
  const double factor = fit_model(rows, machine.compute).families.at("relu").factor;
  EXPECT_GT(factor, 1.1);
  EXPECT_LT(factor, 6);
}

TEST(FitModel, WithFewRowsItIsBetterThanTheProfile) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Draws draws(seed);
    const RooflineMachine machine;
    const FittedModel few = fit_model(measured(machine, draws, 2, 0.05), kProfile), none = fit_model({}, kProfile);
    Draws same(seed + 100), again(seed + 100);
    EXPECT_LT(worst_error(few, machine, same), worst_error(none, machine, again)) << seed;
  }
}

TEST(FitModel, RowsThatSayNothingAreLeftOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Work work{.flops = 1e6, .bytes = 1e6};
  const std::vector<MeasuredRow> rows{{"a", work, 0},
                                      {"a", work, -1},
                                      {"a", work, nan},
                                      {"a", work, kInfinity},
                                      {"a", {.flops = nan}, 1},
                                      {"a", {.flops = -1}, 1},
                                      {"a", {.bytes = kInfinity}, 1},
                                      {"b", work, 2 * modelled_seconds(kProfile, work)}};
  const FittedModel model = fit_model(rows, kProfile);
  EXPECT_EQ(model.left_out, 7u);
  EXPECT_EQ(model.rows, 1u);
  EXPECT_FALSE(model.families.contains("a"));
  EXPECT_NEAR(model.seconds("b", work) / modelled_seconds(kProfile, work), 2, 1e-6);
  EXPECT_EQ(fit_model({{"a", {}, 1}}, Compute{}).left_out, 1u);  // no work, no overhead
}

TEST(FitModel, StaysFiniteOnHostileRows) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    Draws draws(seed);
    std::vector<MeasuredRow> rows;
    for (int row = 0; row < 40; ++row)
      rows.push_back({std::string(1, static_cast<char>('a' + row % 7)),
                      {.flops = draws.between(1e-30, 1e30), .bytes = draws.chance(0.5) ? 0 : draws.between(1, 1e18)},
                      draws.between(1e-200, 1e200)});
    const FittedModel model = fit_model(rows, kProfile);
    for (const MeasuredRow& row : rows) {
      const Seconds seconds = model.seconds(row.family, row.work);
      EXPECT_TRUE(std::isfinite(seconds) && seconds >= 0) << seed;
    }
  }
}

}  // namespace
}  // namespace pantoum::cost
