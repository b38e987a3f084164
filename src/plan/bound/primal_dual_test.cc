#include "plan/bound/primal_dual.h"

#include <gtest/gtest.h>

namespace pantoum::plan {
namespace {

constexpr ColumnIndex kA{0}, kB{1}, kC{2};

bool never() {
  return false;
}

TEST(PrimalDual, ProvesItsValue) {
  PrimalDual program({{.cost = 2}, {.cost = 3}});
  program.add({{.terms = {{kA, 1}, {kB, 1}}, .lower = 1.5}});
  program.solve(400, never);
  EXPECT_LE(program.proved(), 3.5);
  EXPECT_NEAR(program.proved(), 3.5, 1e-5);
  EXPECT_NEAR(program.point()[kA], 1, 1e-4);
  EXPECT_NEAR(program.point()[kB], 0.5, 1e-4);
}

TEST(PrimalDual, IsSolvedWithoutRowsAndWithoutColumns) {
  PrimalDual fixed({{.cost = 2, .lower = 1, .upper = 1}, {.cost = 3}});
  fixed.solve(40, never);
  EXPECT_NEAR(fixed.proved(), 2, 1e-9);
  PrimalDual empty(Columns{});
  empty.solve(40, never);
  EXPECT_NEAR(empty.proved(), 0, 1e-9);
}

// Factors and bounds of very different sizes, as of bytes and seconds beside indicators.
TEST(PrimalDual, IsScaled) {
  PrimalDual program({{.cost = 1e-3}, {.cost = 4e-3}, {.cost = 0.5, .upper = 30}});
  program.add({{.terms = {{kA, 5e6}, {kB, 1e7}}, .lower = 8e6}, {.terms = {{kC, 1}, {kA, -2}}, .lower = 7}});
  program.solve(2000, never);
  const double optimum = 0.8 * 4e-3 + 3.5;  // the first column would cost a whole unit of the third
  EXPECT_LE(program.proved(), optimum);
  EXPECT_NEAR(program.proved(), optimum, 1e-5);
}

TEST(PrimalDual, GoesOnFromWhereItWasWhenRowsComeAndGo) {
  PrimalDual program({{.cost = 2}, {.cost = 3}, {.cost = 1}});
  program.add({{.terms = {{kA, 1}, {kB, 1}}, .lower = 1}});
  program.add({{.terms = {{kC, 1}}, .lower = -5, .of = {7}}});  // holds anyway
  program.solve(400, never);
  EXPECT_NEAR(program.proved(), 2, 1e-5);
  int gone = 0;
  program.forget_idle(1, 1, [&](const Row& row) {
    EXPECT_EQ(row.of, std::vector<int64_t>{7});
    ++gone;
  });
  EXPECT_EQ(gone, 1);
  ASSERT_EQ(program.rows(), 1U);
  EXPECT_NEAR(program.proved(), 2, 1e-5);
  program.add({{.terms = {{kB, 1}, {kC, 1}}, .lower = 1.5}});
  program.solve(400, never);
  EXPECT_NEAR(program.proved(), 3.5, 1e-4);
  EXPECT_LE(program.proved(), 3.5);
}

TEST(PrimalDual, StopsWhenAsked) {
  PrimalDual program(Columns{{.cost = 2}});
  program.add({{.terms = {{kA, 1}}, .lower = 1}});
  program.solve(1000, [] { return true; });
  EXPECT_EQ(program.iterations(), 1);
}

}  // namespace
}  // namespace pantoum::plan
