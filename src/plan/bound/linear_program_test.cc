#include "plan/bound/linear_program.h"

#include <gtest/gtest.h>

namespace pantoum::plan {
namespace {

constexpr ColumnIndex kA{0}, kB{1};

TEST(LinearProgram, IsSolvedWithoutRows) {
  LinearProgram program({{.cost = 2, .lower = 1, .upper = 1}, {.cost = 3}});
  ASSERT_EQ(program.solve(1), LinearProgram::Answer::kOptimal);
  EXPECT_EQ(program.point(), (Point{1, 0}));
  EXPECT_NEAR(program.proved(), 2, 1e-11);
}

TEST(LinearProgram, ProvesItsValue) {
  LinearProgram program({{.cost = 2}, {.cost = 3}});
  program.add({{.terms = {{kA, 1}, {kB, 1}}, .lower = 1.5}});
  ASSERT_EQ(program.solve(1), LinearProgram::Answer::kOptimal);
  EXPECT_LE(program.proved(), 3.5);
  EXPECT_NEAR(program.proved(), 3.5, 1e-9);
}

TEST(LinearProgram, ProvesValuesOfAnySize) {
  for (const double size : {1e-300, 1e-100, 1e-9, 1e9, 1e24, 1e26, 1e100, 1e300}) {
    LinearProgram program({{.cost = 2 * size}, {.cost = 3 * size}});
    program.add({{.terms = {{kA, 1}, {kB, 1}}, .lower = 1.5}});
    ASSERT_EQ(program.solve(1), LinearProgram::Answer::kOptimal) << size;
    EXPECT_LE(program.proved(), 3.5 * size);
    if (size >= 1e-9) {
      EXPECT_GE(program.proved(), 3.5 * size * (1 - 1e-9)) << size;
    }
  }
}

}  // namespace
}  // namespace pantoum::plan
