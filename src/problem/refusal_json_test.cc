#include "problem/plan_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "testing/chain_graphs.h"

namespace pantoum::problem {
namespace {

Refusal whole() {
  Refusal refusal{.question = {.budget = 300, .deadline = 2.5},
                  .of = Objective::kTime,
                  .least = 2.75,
                  .any_order = true,
                  .graph = plan_test::chain(3)};
  refusal.certificate = Certificate{.question = {.budget = 300, .objective = Objective::kTime},
                                    .bound = 2.75,
                                    .order = refusal.graph.order,
                                    .any_order = true,
                                    .boundaries = {6},
                                    .rows = {{Rule::kWork, {}, 1}}};
  refusal.plan = Plan{.question = {.budget = 400}, .instructions = {{.subject = 1, .at = {0}}}};
  return refusal;
}

Result<Refusal> parse_refusal(const std::string& text) {
  PANTOUM_ASSIGN(auto answer, parse_answer(text, "r.json"));
  return std::get<Refusal>(std::move(answer));
}

std::string text_of(const Refusal& refusal) {
  return base::json_text(to_json(refusal));
}

std::string wrong(const nlohmann::ordered_json& json) {
  const auto refusal = parse_refusal(json.dump());
  return refusal ? "accepted" : refusal.error().code + " @ " + refusal.error().where;
}

TEST(RefusalJson, IsReadAsItWasWritten) {
  const auto again = parse_refusal(text_of(whole()));
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(text_of(*again), text_of(whole()));
  EXPECT_EQ(again->question, whole().question);
  EXPECT_EQ(again->least, 2.75);
  EXPECT_TRUE(again->certificate->any_order);
  EXPECT_EQ(again->plan->instructions.size(), 1);
  Refusal bare = whole();
  bare.of = Objective::kRam, bare.least = 311, bare.any_order = false;
  bare.plan.reset(), bare.certificate.reset();
  EXPECT_TRUE(to_json(bare)["proved"]["least"].is_number_integer());
  EXPECT_EQ(text_of(parse_refusal(text_of(bare)).value()), text_of(bare));
}

TEST(RefusalJson, IsToldFromAPlanByItsSchema) {
  const auto refusal = parse_answer(text_of(whole()), "r.json");
  ASSERT_TRUE(refusal);
  EXPECT_TRUE(std::holds_alternative<Refusal>(*refusal));
  EXPECT_EQ(parse_answer("{\"schema\": \"pantoum.plan/2\"}", "p.json").error().code, "E0230");
  EXPECT_EQ(parse_answer("{\"schema\": \"pantoum.refusal/9\"}", "r.json").error().code, "E0232");
  EXPECT_EQ(parse_answer("[]", "x.json").error().code, "E0230");
  EXPECT_EQ(parse_answer("{\"schema\": 3}", "x.json").error().code, "E0230");
}

TEST(RefusalJson, RefusesWhatIsNone) {
  const nlohmann::ordered_json good = to_json(whole());
  ASSERT_EQ(wrong(good), "accepted");
  const auto with = [&](auto change) {
    nlohmann::ordered_json json = good;
    change(json);
    return wrong(json);
  };
  for (const char* key : {"question", "proved", "certificate", "plan", "graph"})
    EXPECT_TRUE(with([&](auto& json) { json.erase(key); }).starts_with("E0232 @")) << key;
  EXPECT_TRUE(with([](auto& json) { json.erase("schema"); }).starts_with("E0230 @")) << "it may be a plan";
  EXPECT_EQ(with([](auto& json) { json["surprise"] = 1; }), "E0232 @ r.json");
  EXPECT_EQ(with([](auto& json) { json["x-surprise"] = 1; }), "accepted");
  EXPECT_EQ(with([](auto& json) { json["question"]["budget_bytes"] = nullptr; }),
            "E0232 @ r.json: question.budget_bytes");
  EXPECT_EQ(with([](auto& json) { json["proved"]["of"] = "edp"; }), "E0232 @ r.json: proved.of");
  EXPECT_EQ(with([](auto& json) { json["proved"]["of"] = "ram"; }), "E0232 @ r.json: proved.least")
      << "bytes are whole";
  EXPECT_EQ(with([](auto& json) { json["proved"]["least"] = -1; }), "E0232 @ r.json: proved.least");
  EXPECT_EQ(with([](auto& json) { json["proved"]["order"] = "some"; }), "E0232 @ r.json: proved.order");
  EXPECT_EQ(with([](auto& json) { json["certificate"] = 3; }), "E0232 @ r.json: certificate");
  EXPECT_EQ(with([](auto& json) { json["plan"]["budget_bytes"] = "much"; }), "E0230 @ r.json: plan.budget_bytes");
  EXPECT_TRUE(with([](auto& json) { json["graph"]["tensors"][0]["bytes"] = -1; }).starts_with("E0220 @ r.json: graph"));
}

}  // namespace
}  // namespace pantoum::problem
