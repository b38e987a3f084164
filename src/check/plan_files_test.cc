// Plan files as they lie on disks: read, replayed and proved.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "check/certificate.h"
#include "check/claims.h"
#include "check/replay.h"
#include "problem/plan_json.h"

namespace pantoum::check {
namespace {

problem::Plan seed(const std::string& name) {
  auto plan = problem::read_plan(PANTOUM_SOURCE_DIR "/tests/fuzz/seeds/plan_json/" + name);
  EXPECT_TRUE(plan) << to_text(plan.error());
  return plan.value_or(problem::Plan{});
}

void expect_verified(const problem::Plan& plan) {
  const auto found = replay(plan.graph, plan);
  ASSERT_TRUE(found) << to_text(found.error());
  const auto bound = check_bound(plan, found->energy_j);
  ASSERT_TRUE(bound) << to_text(bound.error());
  EXPECT_GE(*bound, *plan.bound.energy_j * (1 - 1e-9));
  const auto judged = judge(plan);
  EXPECT_TRUE(judged) << to_text(judged.error());
}

TEST(PlanFiles, AreVerified) {
  for (const char* name : {"certificate.json", "certificate_cases.json", "question.json"}) {
    SCOPED_TRACE(name);
    const problem::Plan plan = seed(name);
    expect_verified(plan);
    const auto again = problem::parse_plan(base::json_text(problem::to_json(plan)), "again");
    ASSERT_TRUE(again) << to_text(again.error());
    EXPECT_EQ(again->question, plan.question);
    expect_verified(*again);
  }
}

}  // namespace
}  // namespace pantoum::check
