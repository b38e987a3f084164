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

}  // namespace
}  // namespace pantoum::plan
