#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

extern "C" {
#include "kernels/portable/philox.h"
#include "kernels/portable/pt_math.h"
}

namespace {

// The largest relative error over [low, high]; values under `floor` count as `floor`.
template <class Ours, class Theirs>
double worst(Ours ours, Theirs theirs, double low, double high, double floor) {
  double error = 0;
  for (int at = 0; at <= 200000; ++at) {
    const double x = low + (high - low) * at / 200000, expected = theirs(x);
    error = std::max(error, std::abs(ours(x) - expected) / std::max(std::abs(expected), floor));
  }
  return error;
}

TEST(OwnMath, AgreesWithTheCLibrary) {
  EXPECT_LT(worst(
                pt_exp, [](double x) { return std::exp(x); }, -700, 700, 1e-300),
            1e-15);
  EXPECT_LT(worst(
                pt_log, [](double x) { return std::log(x); }, 1e-6, 50, 1e-3),
            1e-15);
  EXPECT_LT(worst(
                pt_log, [](double x) { return std::log(x); }, 1e-300, 1e300, 1e-3),
            1e-15);
  EXPECT_LT(worst(
                pt_tanh, [](double x) { return std::tanh(x); }, -25, 25, 1e-300),
            2e-15);
  EXPECT_LT(worst(
                pt_erf, [](double x) { return std::erf(x); }, -7, 7, 1e-300),
            2e-15);
  EXPECT_LT(worst(
                pt_sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -40, 40, 1e-300),
            2e-15);
  EXPECT_LT(
      worst([](double x) { return pt_pow(x, 2.7); }, [](double x) { return std::pow(x, 2.7); }, 1e-3, 100, 1e-300),
      1e-14);
}

TEST(OwnMath, KeepsTheSpecialValues) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(pt_exp(inf), inf);
  EXPECT_EQ(pt_exp(-inf), 0);
  EXPECT_EQ(pt_exp(0), 1);
  EXPECT_EQ(pt_log(0), -inf);
  EXPECT_EQ(pt_log(inf), inf);
  EXPECT_EQ(pt_log(1), 0);
  EXPECT_TRUE(std::isnan(pt_log(-1)));
  EXPECT_EQ(pt_tanh(inf), 1);
  EXPECT_EQ(pt_erf(-inf), -1);
  EXPECT_EQ(pt_pow(3, 2), 9);
  EXPECT_EQ(pt_pow(-2, 3), -8);
  EXPECT_TRUE(std::isnan(pt_pow(-2, 0.5)));
  for (double (*function)(double) : {pt_exp, pt_log, pt_tanh, pt_erf, pt_sigmoid})
    EXPECT_TRUE(std::isnan(function(nan)));
}

struct Vector {
  uint32_t counter[4], key[2], out[4];
};

// The known answers that Random123 publishes for philox4x32 with 10 rounds.
TEST(Philox, GivesThePublishedAnswers) {
  const Vector vectors[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                            {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                             {0xffffffff, 0xffffffff},
                             {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                            {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                             {0xa4093822, 0x299f31d0},
                             {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const Vector& vector : vectors) {
    uint32_t out[4];
    pt_philox(vector.counter, vector.key, out);
    EXPECT_EQ(std::memcmp(out, vector.out, sizeof out), 0);
  }
}

}  // namespace
