// Plan files as they lie on disks: of both versions of the schema, read, replayed and proved.
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

TEST(PlanFiles, OfBothVersionsAreVerified) {
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

// What the first version does not say of its freedoms, it may have used: a bound that holds with fewer alone is none.
TEST(PlanFiles, OfTheFirstVersionHaveEveryFreedom) {
  for (const char* name : {"certificate.json", "certificate_cases.json"})
    EXPECT_EQ(seed(name).question.freedoms, (problem::Freedoms{.numerics = true})) << name;
  const std::string text = base::read_file(PANTOUM_SOURCE_DIR "/tests/fuzz/seeds/plan_json/certificate.json").value();
  for (const char* freedom : {"paging", "remat", "in_place"}) {
    std::string fewer = text;
    const std::string allowed = "\"" + std::string(freedom) + "\":true";
    ASSERT_NE(fewer.find(allowed), std::string::npos) << freedom;
    fewer.replace(fewer.find(allowed), allowed.size(), "\"" + std::string(freedom) + "\":false");
    const auto plan = problem::parse_plan(fewer, freedom);
    ASSERT_TRUE(plan) << to_text(plan.error());
    EXPECT_EQ(check_bound(*plan, 1).error().code, "E0805") << freedom;
    EXPECT_EQ(judge(*plan).error().code, "E0805") << freedom;
  }
}

}  // namespace
}  // namespace pantoum::check
