#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

extern "C" {
#include "kernels/portable/philox.h"
#include "kernels/portable/pt_math.h"
#include "kernels/portable/real_math.h"
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

// The largest distance from libm in units of the last place, at points of every order of magnitude that `low` to `high`
// has, and of both signs.
template <class Number>
double worst_in_units(double (*ours)(double), double (*theirs)(double), double low, double high) {
  double worst = 0;
  for (double size = low; size <= high; size *= 1.0003) {
    for (const double x : {double(Number(size)), -double(Number(size))}) {
      const auto expected = Number(theirs(x)), found = Number(ours(x));
      if (std::isnan(expected) && std::isnan(found)) continue;
      const Number unit =
          std::nextafter(std::abs(expected), std::numeric_limits<Number>::infinity()) - std::abs(expected);
      worst = std::max(worst, std::abs(double(found) - double(expected)) / double(unit));
      EXPECT_EQ(std::signbit(found), std::signbit(expected)) << x;
    }
  }
  return worst;
}

TEST(OwnMath, InverseFunctionsAreWithinFourUnitsOfTheLastPlaceInDoubleAndOneInFloat) {
  struct Function {
    double (*ours)(double);
    double (*theirs)(double);
    double high;
  };
  for (const Function& function : {Function{pt_atan, std::atan, 1e30}, Function{pt_asin, std::asin, 1},
                                   Function{pt_acos, std::acos, 1}, Function{pt_asinh, std::asinh, 1e30},
                                   Function{pt_acosh, std::acosh, 1e30}, Function{pt_atanh, std::atanh, 1}}) {
    EXPECT_LE(worst_in_units<double>(function.ours, function.theirs, 1e-12, function.high), 4);
    EXPECT_LE(worst_in_units<float>(function.ours, function.theirs, 1e-12, function.high), 1);
  }
}

TEST(OwnMath, InverseFunctionsEndAsPyTorchsDo) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_EQ(pt_atan(infinity), std::atan(infinity));
  EXPECT_EQ(pt_atan(-infinity), -std::atan(infinity));
  EXPECT_EQ(pt_asin(1), std::asin(1));
  EXPECT_EQ(pt_asin(-1), std::asin(-1));
  EXPECT_EQ(pt_acos(1), 0);
  EXPECT_EQ(pt_acos(-1), std::acos(-1));
  EXPECT_EQ(pt_asinh(-infinity), -infinity);
  EXPECT_EQ(pt_acosh(1), 0);
  EXPECT_EQ(pt_acosh(infinity), infinity);
  EXPECT_EQ(pt_atanh(1), infinity);
  EXPECT_EQ(pt_atanh(-1), -infinity);
  for (const double outside : {1.5, -1.5, infinity, -infinity, nan})
    EXPECT_TRUE(std::isnan(pt_asin(outside)) && std::isnan(pt_acos(outside)) && std::isnan(pt_atanh(outside)));
  for (const double below : {0.5, 0.0, -2.0, -infinity, nan}) EXPECT_TRUE(std::isnan(pt_acosh(below)));
  EXPECT_TRUE(std::isnan(pt_atan(nan)) && std::isnan(pt_asinh(nan)));
  for (double (*odd)(double) : {pt_atan, pt_asin, pt_asinh, pt_atanh}) {
    EXPECT_TRUE(std::signbit(odd(-0.0)));
    EXPECT_EQ(odd(1e-300), 1e-300);
  }
}

TEST(OwnMath, AgreesWithTheCLibraryNearZeroAndFarAway) {
  for (const double range : {1e-8, 1e-3, 1.0, 40.0}) {
    EXPECT_LT(worst(
                  pt_expm1, [](double x) { return std::expm1(x); }, -range, range, 1e-300),
              5e-15);
    EXPECT_LT(worst(
                  pt_softplus, [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }, -range,
                  range, 1e-300),
              5e-15);
  }
  EXPECT_LT(worst(
                pt_log1p, [](double x) { return std::log1p(x); }, -0.5, 5, 1e-300),
            5e-15);
  for (const double range : {1.0, 100.0, 1.6e6}) {
    EXPECT_LT(worst(
                  pt_sin, [](double x) { return std::sin(x); }, -range, range, 1e-3),
              1e-13);
    EXPECT_LT(worst(
                  pt_cos, [](double x) { return std::cos(x); }, -range, range, 1e-3),
              1e-13);
  }
  EXPECT_LT(worst(
                pt_sin, [](double x) { return std::sin(x); }, 1e9, 1.001e9, 1),
            1e-6);
}

// Units in the last place of float, over [low, high].
template <class Ours, class Theirs>
double worst_units(Ours ours, Theirs theirs, float low, float high) {
  double error = 0;
  for (int at = 0; at <= 400000; ++at) {
    const float x = low + (high - low) * static_cast<float>(at) / 400000;
    const double expected = theirs(static_cast<double>(x));
    const float nearest = static_cast<float>(expected);
    const double unit = std::nextafter(std::abs(nearest), INFINITY) - std::abs(nearest);
    error = std::max(error, std::abs(static_cast<double>(ours(x)) - expected) / unit);
  }
  return error;
}

TEST(OwnMath, OfFloatsAgreesWithTheCLibrary) {
  const auto exponential = [](double x) { return std::exp(x); };
  const auto error_function = [](double x) { return std::erf(x); };
  EXPECT_LT(worst_units(pt_real_exp, exponential, -103, 88.7F), 2);
  EXPECT_LT(worst_units(pt_real_exp, exponential, -1, 1), 1.5);
  EXPECT_LT(worst_units(pt_real_erf, error_function, -5, 5), 2);
  EXPECT_LT(worst_units(pt_real_erf, error_function, -1e-3F, 1e-3F), 1);
}

TEST(OwnMath, OfFloatsKeepsTheSpecialValues) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(pt_real_exp(inf), inf);
  EXPECT_EQ(pt_real_exp(89), inf);
  EXPECT_EQ(pt_real_exp(-inf), 0);
  EXPECT_EQ(pt_real_exp(-104), 0);
  EXPECT_EQ(pt_real_exp(-103), std::exp(-103.0F)) << "a denormal";
  EXPECT_EQ(pt_real_exp(0), 1);
  EXPECT_TRUE(std::isnan(pt_real_exp(nan)));
  EXPECT_EQ(pt_real_erf(inf), 1);
  EXPECT_EQ(pt_real_erf(-inf), -1);
  EXPECT_EQ(pt_real_erf(4), 1);
  EXPECT_EQ(std::signbit(pt_real_erf(-0.0F)), true);
  EXPECT_TRUE(std::isnan(pt_real_erf(nan)));
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
  EXPECT_EQ(pt_sin(0), 0);
  EXPECT_EQ(pt_cos(0), 1);
  EXPECT_EQ(pt_expm1(0), 0);
  EXPECT_EQ(pt_expm1(-inf), -1);
  EXPECT_EQ(pt_expm1(inf), inf);
  EXPECT_EQ(pt_softplus(-inf), 0);
  EXPECT_EQ(pt_softplus(inf), inf);
  EXPECT_TRUE(std::isnan(pt_sin(inf)) && std::isnan(pt_cos(-inf)));
  EXPECT_EQ(pt_pow(3, 2), 9);
  EXPECT_EQ(pt_pow(-2, 3), -8);
  EXPECT_TRUE(std::isnan(pt_pow(-2, 0.5)));
  for (double (*function)(double) :
       {pt_exp, pt_log, pt_tanh, pt_erf, pt_sigmoid, pt_sin, pt_cos, pt_expm1, pt_softplus})
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
