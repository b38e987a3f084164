// Plans written by hand, with verdicts that were worked out on paper: our checker gives them too.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "check/replay.h"
#include "problem/cost_graph_json.h"
#include "problem/plan_json.h"
#include "testing/temporary_folder.h"

namespace pantoum::check {
namespace {

using Json = nlohmann::ordered_json;

std::string read_text(const std::string& path) {
  const auto text = base::read_file(path);
  EXPECT_TRUE(text) << to_text(text.error());
  return text.value_or("");
}

// The graph of a file. Its order is that of its ops: one case leaves an op out of "order", which our reader refuses for that alone.
Result<problem::CostGraph> read_graph(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_object()) json.erase("order");
  return problem::parse_cost_graph(json.is_object() ? json.dump() : text, "case");
}

// The same plan of `pantoum.plan/2`: with the question that one of version 1 does not have. That one may use every freedom but one_slot,
// which it says itself.
Json with_question(Json plan) {
  const Json said = plan.contains("question") ? plan["question"]["freedoms"] : Json::object();
  const auto freedom = [&](const char* key, const Json& otherwise) { return said.value(key, otherwise); };
  Json question;
  question["budget_bytes"] = plan["budget_bytes"];
  question["deadline_s"] = plan.value("deadline_s", Json());
  question["energy_limit_j"] = nullptr;
  question["objective"] = "time";
  for (const char* key : {"paging", "recomputing", "in_place", "reordering"})
    question["freedoms"][key] = freedom(key, true);
  question["freedoms"]["numerics"] = freedom("numerics", said.empty());
  question["freedoms"]["one_slot"] = freedom("one_slot", plan.value("one_slot", Json(false)));
  plan["schema"] = "pantoum.plan/2";
  plan["question"] = question;
  plan.erase("one_slot");
  return plan;
}

// The verdict on the plan's file, as the reference checker judges: numerics are a freedom, and with one engine and no streams nobody
// looks at the storage table.
Result<Found> judge(const std::string& graph, const std::string& steps) {
  auto read = problem::parse_plan(with_question(Json::parse(steps)).dump(), "case", false);
  EXPECT_TRUE(read) << to_text(read.error());
  problem::Plan plan = read.value_or(problem::Plan{});
  PANTOUM_ASSIGN(plan.graph, read_graph(graph));
  if (!problem::has_queues(plan.graph)) plan.storage.clear();
  Result<Found> found = replay(plan.graph, plan);
  if (found && found->used.numerics && !plan.question.freedoms.numerics) return fail("E0807", "another class");
  return found;
}

void expect_figures(const Found& found, const Json& expected) {
  const std::map<std::string, double> figures = {{"time_s", found.time_s},
                                                 {"energy_j", found.energy_j},
                                                 {"arena_bytes", static_cast<double>(found.arena_bytes)},
                                                 {"peak_bytes", static_cast<double>(found.peak_bytes)}};
  for (const auto& [what, value] : expected.items()) {
    ASSERT_TRUE(figures.contains(what)) << what;
    EXPECT_NEAR(figures.at(what), value.get<double>(), 1e-9) << what;
  }
}

TEST(HandPlans, GetTheVerdictThatWasWorkedOutOnPaper) {
  const std::filesystem::path tool = std::filesystem::path(PANTOUM_SOURCE_DIR) / "../shared/tools/hand_plans.py";
  if (!std::filesystem::exists(tool) || std::system("python3 -c '' >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no python3, or no ../shared/tools/hand_plans.py";
  const TemporaryFolder folder;
  const std::string command = "python3 '" + tool.string() + "' --write '" + folder.path().string() + "' > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream table(folder.path() / "verdicts.tsv");
  std::string line;
  ASSERT_TRUE(std::getline(table, line));  // the names of the columns
  int valid = 0, broken = 0;
  while (std::getline(table, line)) {
    std::istringstream columns(line);
    std::string stem, name, verdict, said;
    for (std::string* column : {&stem, &name, &verdict, &said})
      ASSERT_TRUE(std::getline(columns, *column, '\t')) << line;
    SCOPED_TRACE(name);
    const std::string path = (folder.path() / stem).string();
    const Result<Found> found = judge(read_text(path + ".costgraph.json"), read_text(path + ".plan.json"));
    ASSERT_TRUE(verdict == "valid" || verdict == "invalid") << verdict;
    ++(verdict == "valid" ? valid : broken);
    EXPECT_EQ(found.has_value(), verdict == "valid") << (found ? said : to_text(found.error()));
    if (!found && said == "share bytes") {
      EXPECT_EQ(found.error().code, "E0804");
    }
    if (found && verdict == "valid") expect_figures(*found, Json::parse(said));
  }
  EXPECT_GE(valid, 44);
  EXPECT_GE(broken, 46);
}

}  // namespace
}  // namespace pantoum::check
