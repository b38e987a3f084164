#include "problem/plan_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

namespace pantoum::problem {
namespace {

using Json = nlohmann::ordered_json;

// Read, or what is wrong with it.
Result<Question> read(const std::string& text) {
  PANTOUM_ASSIGN(const nlohmann::json json, base::parse_json(text, "E0230", "q.json"));
  base::JsonErrors errors{"E0230", "q.json", {}};
  const Question question = read_question(base::JsonNode(json, errors));
  if (errors.first) return Failure(std::move(*errors.first));
  return question;
}

std::string refusal(const std::string& text) {
  const auto question = read(text);
  if (question) return "accepted";
  return question.error().code + " " + question.error().message + " @ " + question.error().where;
}

Question limited() {
  return {.budget = 16384,
          .deadline = 0.1,
          .energy_limit = 3.5e-300,
          .objective = Objective::kEdp,
          .freedoms = {.paging = false, .recomputing = true, .in_place = false, .reordering = false, .numerics = true}};
}

// The question's JSON after a change.
std::string changed(const std::function<void(Json&)>& change) {
  Json json = question_json(limited());
  change(json);
  return json.dump();
}

TEST(QuestionJson, IsAsThePagesShowIt) {
  EXPECT_EQ(question_json({.budget = 16384}).dump(),
            R"({"budget_bytes":16384,"deadline_s":null,"energy_limit_j":null,"objective":"energy","freedoms":)"
            R"({"paging":true,"recomputing":true,"in_place":true,"reordering":true,"numerics":false}})");
}

TEST(QuestionJson, IsReadAsItWasWritten) {
  std::vector<Question> all = {
      Question{}, limited(), {.budget = 0}, {.budget = base::kLargestInteger, .deadline = 0.0}};
  for (const Objective objective : {Objective::kEnergy, Objective::kTime, Objective::kEdp, Objective::kRam})
    all.push_back({.budget = 1, .objective = objective});
  for (unsigned bits = 0; bits < 32; ++bits)
    all.push_back({.budget = 1,
                   .freedoms = {.paging = (bits & 1) != 0,
                                .recomputing = (bits & 2) != 0,
                                .in_place = (bits & 4) != 0,
                                .reordering = (bits & 8) != 0,
                                .numerics = (bits & 16) != 0}});
  for (const Question& question : all) {
    const auto again = read(question_json(question).dump());
    ASSERT_TRUE(again) << to_text(again.error());
    EXPECT_EQ(*again, question);
  }
}

TEST(QuestionJson, NeedsEveryKeyAndNoOther) {
  for (const char* key : {"budget_bytes", "deadline_s", "energy_limit_j", "objective", "freedoms"})
    EXPECT_EQ(refusal(changed([&](Json& json) { json.erase(key); })),
              "E0230 the key \"" + std::string(key) + "\" is missing @ q.json");
  for (const char* key : {"paging", "recomputing", "in_place", "reordering", "numerics"})
    EXPECT_EQ(refusal(changed([&](Json& json) { json["freedoms"].erase(key); })),
              "E0230 the key \"" + std::string(key) + "\" is missing @ q.json: freedoms");
  EXPECT_EQ(refusal(changed([](Json& json) { json["ram"] = 1; })), "E0230 the key \"ram\" is not known here @ q.json");
  EXPECT_EQ(refusal(changed([](Json& json) { json["freedoms"]["remat"] = true; })),
            "E0230 the key \"remat\" is not known here @ q.json: freedoms");
  EXPECT_EQ(refusal(changed([](Json& json) { json["x-note"] = "mine"; })), "accepted");
}

TEST(QuestionJson, RefusesWrongTypes) {
  for (const char* text : {"null", "3", "[]", "\"energy\"", "true"})
    EXPECT_NE(refusal(text).find("must be an object"), std::string::npos) << text;
  const Json wrong[] = {true, "16384", Json::array(), Json::object()};
  for (const Json& value : wrong) {
    for (const char* key : {"budget_bytes", "deadline_s", "energy_limit_j"})
      EXPECT_EQ(refusal(changed([&](Json& json) { json[key] = value; })).substr(0, 14), "E0230 must be ")
          << key << value;
    EXPECT_NE(refusal(changed([&](Json& json) { json["objective"] = value; })), "accepted") << value;
    if (value.is_object()) continue;
    EXPECT_NE(refusal(changed([&](Json& json) { json["freedoms"] = value; })), "accepted") << value;
  }
  for (const Json& value : {Json(1), Json(), Json("true"), Json(0.5)})
    EXPECT_EQ(refusal(changed([&](Json& json) { json["freedoms"]["paging"] = value; })).substr(0, 14), "E0230 must be ")
        << value;
  EXPECT_NE(refusal(changed([](Json& json) { json["objective"] = "edP"; })), "accepted");
  EXPECT_NE(refusal(changed([](Json& json) { json["objective"] = nullptr; })), "accepted");
}

TEST(QuestionJson, RefusesNumbersThatCannotBe) {
  const auto with = [](const char* key, const std::string& number) {
    std::string text = changed([&](Json& json) { json[key] = "HERE"; });
    return refusal(text.replace(text.find("\"HERE\""), 6, number));
  };
  for (const char* number :
       {"-1", "-0.5", "-1e300", "NaN", "Infinity", "-Infinity", "1e999", "1e101", "0x10", "01", "+1"})
    for (const char* key : {"budget_bytes", "deadline_s", "energy_limit_j"})
      EXPECT_EQ(with(key, number).substr(0, 6), "E0230 ") << key << " " << number;
  for (const char* number : {"1.5", "1e17", "9007199254740992", "18446744073709551616", "-9223372036854775809"})
    EXPECT_EQ(with("budget_bytes", number).substr(0, 6), "E0230 ") << number;
  EXPECT_EQ(with("budget_bytes", "9007199254740991"), "accepted");
  EXPECT_EQ(with("deadline_s", "1e100"), "accepted");
}

// What JSON cannot hold is not written as a number.
TEST(QuestionJson, WritesNoInfinity) {
  Question endless = limited();
  endless.deadline = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(question_json(endless)["deadline_s"].dump() == "null");
}

}  // namespace
}  // namespace pantoum::problem
