#include "problem/plan_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "testing/temporary_folder.h"

namespace pantoum::problem {
namespace {

const std::string kGraph = R"({"schema": "pantoum.costgraph/1", "name": "g", "device": {"name": "d"},
  "tensors": [{"id": 0, "name": "x", "bytes": 8, "start": "ram"}, {"id": 1, "name": "y", "bytes": 8}],
  "ops": [{"id": 0, "name": "f", "inputs": [0], "outputs": [1], "choices": [{"time_s": 1, "energy_j": 2}]}]})";

const std::string kQuestion =
    R"("question": {"budget_bytes": 16384, "deadline_s": null, "energy_limit_j": null, "objective": "time", "freedoms":
  {"paging": true, "recomputing": false, "in_place": true, "reordering": false, "numerics": true}}, )";

const std::string kWhole = R"({"schema": "pantoum.plan/2", )" + kQuestion +
                           R"("budget_bytes": 16384, "deadline_s": null, "objective": "time",
  "initial": {"0": 0, "10": 1024}, "staging_at": 5120,
  "instructions": [
    {"do": "compute", "op": 0, "choice": 1, "at": [5632], "workspace_at": null},
    {"do": "compute", "op": 0, "choice": 0, "at": [], "workspace_at": 64},
    {"do": "page_out", "tensor": 2}, {"do": "free", "tensor": 2}, {"do": "page_in", "tensor": 2, "at": 5632} ],
  "storage": {"2": 0},
  "predicted": {"peak_bytes": 11776, "arena_bytes": 11780, "time_s": 0.003226886424, "energy_j": 0.30000000000000004},
  "bound": {"energy_j": 4.1e-5, "order": "any"}, "status": "optimal",
  "solver": {"method": "greedy", "seconds": 0.5, "gap": 0.25}, "graph": )" +
                           kGraph + "}";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kWhole;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string refusal(const std::string& text) {
  const auto plan = parse_plan(text, "p.json");
  if (plan) return "accepted";
  return plan.error().code + " " + plan.error().message + " @ " + plan.error().where;
}

TEST(PlanJson, ReadsEveryField) {
  const auto read = parse_plan(kWhole, "p.json");
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  const Plan& plan = *read;
  EXPECT_EQ(plan.question.budget_bytes(), 16384);
  EXPECT_FALSE(plan.question.deadline.has_value());
  EXPECT_EQ(plan.question.objective, Objective::kTime);
  EXPECT_EQ(plan.initial, (std::map<int64_t, int64_t>{{0, 0}, {10, 1024}}));
  EXPECT_EQ(plan.staging_at, 5120);
  ASSERT_EQ(plan.instructions.size(), 5U);
  EXPECT_EQ(plan.instructions[0].choice, 1);
  EXPECT_EQ(plan.instructions[0].at, std::vector<int64_t>{5632});
  EXPECT_EQ(plan.instructions[0].workspace_at, -1);
  EXPECT_EQ(plan.instructions[1].workspace_at, 64);
  EXPECT_EQ(plan.instructions[2].what, Do::kPageOut);
  EXPECT_EQ(plan.instructions[3].what, Do::kFree);
  EXPECT_EQ(plan.instructions[4].what, Do::kPageIn);
  EXPECT_EQ(plan.instructions[4].at, std::vector<int64_t>{5632});
  EXPECT_EQ(plan.storage.at(2), 0);
  EXPECT_EQ(plan.predicted.energy_j, 0.30000000000000004);
  EXPECT_EQ(plan.bound.energy_j, 4.1e-5);
  EXPECT_FALSE(plan.bound.time_s.has_value());
  EXPECT_TRUE(plan.bound.any_order);
  EXPECT_EQ(plan.status, Status::kOptimal);
  EXPECT_EQ(plan.method, "greedy");
  EXPECT_EQ(plan.gap, 0.25);
  EXPECT_EQ(plan.graph.ops.size(), 1U);
}

TEST(PlanJson, WritesWhatItReads) {
  auto plan = parse_plan(kWhole, "p.json");
  ASSERT_TRUE(plan.has_value());
  plan->question.deadline = 0.1;
  plan->bound.time_s = 1e-3;
  const std::string text = base::json_text(to_json(*plan));
  const auto again = parse_plan(text, "again");
  ASSERT_TRUE(again.has_value()) << to_text(again.error());
  EXPECT_EQ(again->question.deadline, 0.1);
  EXPECT_EQ(base::json_text(to_json(*again)), text);
  EXPECT_NE(text.find("\n    {\"do\":\"page_out\",\"tensor\":2},\n"), std::string::npos) << text;
}

TEST(PlanJson, CarriesWhatTheSeparatorsDid) {
  auto plan = parse_plan(kWhole, "p.json");
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->separators.empty()) << "a plan of before says nothing of them";
  plan->separators = {{.name = "path-cuts", .found = 7, .kept = 5, .bound_moved = 0.25, .seconds = 0.5},
                      {.name = "flow-cuts", .on = false}};
  const auto again = parse_plan(base::json_text(to_json(*plan)), "again");
  ASSERT_TRUE(again.has_value()) << to_text(again.error());
  EXPECT_EQ(again->separators, plan->separators);
  EXPECT_EQ(separators_json(again->separators)[0].dump(),
            R"({"name":"path-cuts","on":true,"found":7,"kept":5,"bound_moved":0.25,"seconds":0.5})");
}

TEST(PlanJson, CarriesTheUnplannedStep) {
  Plan plan = *parse_plan(kWhole, "p.json");
  EXPECT_FALSE(plan.unplanned.has_value());
  plan.unplanned = {.figures = {.peak_bytes = 300, .time_s = 0.5, .energy_j = 0.25}, .seconds = {0, 0.1}, .bytes = {100, 300}};
  nlohmann::ordered_json json = to_json(plan);
  const auto again = parse_plan(json.dump(), "p.json");
  ASSERT_TRUE(again.has_value()) << to_text(again.error());
  EXPECT_EQ(again->unplanned->figures.peak_bytes, 300);
  EXPECT_EQ(again->unplanned->seconds, plan.unplanned->seconds);
  EXPECT_EQ(again->unplanned->bytes, plan.unplanned->bytes);
  json["x-unplanned"]["bytes"].push_back(1);
  EXPECT_EQ(refusal(json.dump()), "E0230 has 3 items, and \"seconds\" has 2 @ p.json: x-unplanned.bytes");
}

TEST(PlanJson, WritesAFileWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.file("plan.json");
  const auto plan = parse_plan(kWhole, "p.json");
  ASSERT_TRUE(plan.has_value());
  ASSERT_TRUE(write_plan(*plan, path).has_value());
  const auto again = read_plan(path);
  ASSERT_TRUE(again.has_value()) << to_text(again.error());
  EXPECT_EQ(base::json_text(to_json(*again)), base::json_text(to_json(*plan)));
}

TEST(PlanJson, WritesNoNumberThatItCouldNotRead) {
  auto plan = parse_plan(kWhole, "p.json");
  ASSERT_TRUE(plan.has_value());
  plan->gap = plan->predicted.time_s = HUGE_VAL;
  plan->bound.energy_j = HUGE_VAL;
  EXPECT_TRUE(parse_plan(base::json_text(to_json(*plan)), "again").has_value());
}

TEST(PlanJson, TellsMissingPredictionsFromZero) {
  const auto plan = parse_plan(
      R"({"schema": "pantoum.plan/2", )" + kQuestion + R"("budget_bytes": 1, "instructions": []})", "p.json", false);
  ASSERT_TRUE(plan.has_value()) << to_text(plan.error());
  EXPECT_EQ(plan->predicted.peak_bytes, -1);
  EXPECT_TRUE(std::isnan(plan->predicted.energy_j));
}

TEST(PlanJson, NamesTheKeyThatIsWrong) {
  EXPECT_EQ(refusal(replaced("plan/2", "plan/9")),
            "E0230 the schema is \"pantoum.plan/9\", and this release reads \"pantoum.plan/2\" @ p.json");
  EXPECT_EQ(refusal(replaced("\"page_out\"", "\"page\"")),
            "E0230 must be one of \"compute\", \"page_out\", \"page_in\", \"free\", not \"page\" @ p.json: "
            "instructions[2].do");
  EXPECT_EQ(refusal(replaced("\"page_out\", \"tensor\": 2", "\"page_out\", \"tensor\": 2, \"at\": 1")),
            "E0230 the key \"at\" is not known here @ p.json: instructions[2]");
  EXPECT_EQ(refusal(replaced("\"at\": [5632]", "\"at\": [-1]")),
            "E0230 must be between 0 and 9007199254740991, not -1 @ p.json: instructions[0].at[0]");
  EXPECT_EQ(refusal(replaced("\"10\": 1024", "\"01\": 1024")), "E0230 the key \"01\" is no id @ p.json: initial");
  EXPECT_EQ(refusal(replaced("\"10\": 1024", "\"10\": true")),
            "E0230 must be an integer, not true or false @ p.json: initial.10");
  EXPECT_EQ(refusal(replaced("\"optimal\"", "\"infeasible\"")),
            "E0230 must be one of \"optimal\", \"feasible\", not \"infeasible\" @ p.json: status");
  EXPECT_EQ(refusal(replaced("\"budget_bytes\": 16384, \"deadline_s\": null, \"objective\"",
                             "\"deadline_s\": null, \"objective\"")),
            "E0230 the key \"budget_bytes\" is missing @ p.json");
  EXPECT_EQ(refusal(R"({"schema": "pantoum.plan/2", )" + kQuestion + R"("budget_bytes": 1, "instructions": []})"),
            "E0230 the key \"graph\" is missing @ p.json");
  EXPECT_EQ(refusal(replaced("\"energy_j\": 2}", "\"energy_j\": null}")),
            "E0220 must be a number, not null @ p.json: graph.ops[0].choices[0].energy_j");
  EXPECT_EQ(refusal(replaced("\"inputs\": [0]", "\"inputs\": [5]")),
            "E0221 reads tensor 5, which does not exist @ p.json: graph: op 0 (f)");
}

TEST(PlanJson, ReadsItsQuestion) {
  const auto plan = parse_plan(kWhole, "p.json");
  ASSERT_TRUE(plan) << to_text(plan.error());
  const Freedoms freedoms{
      .paging = true, .recomputing = false, .in_place = true, .reordering = false, .numerics = true};
  EXPECT_EQ(plan->question, (Question{.budget = 16384, .objective = Objective::kTime, .freedoms = freedoms}));
  const auto again = parse_plan(base::json_text(to_json(*plan)), "again");
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(again->question, plan->question);
}

TEST(PlanJson, TakesTheKeysBesideTheQuestionWhereTheyDiffer) {
  const auto asked = [](const char* from, const char* to) {
    return parse_plan(replaced(from, to), "p.json")->question;
  };
  EXPECT_EQ(asked(R"("budget_bytes": 16384, "deadline_s": null, "objective")",
                  R"("budget_bytes": 16385, "deadline_s": null, "objective")")
                .budget,
            16385);
  EXPECT_EQ(asked(R"("deadline_s": null, "objective")", R"("deadline_s": 2, "objective")").deadline, 2);
  EXPECT_EQ(asked(R"("energy_limit_j": null)", R"("energy_limit_j": 7)").energy_limit, std::nullopt);
  EXPECT_FALSE(asked(R"("paging": true)", R"("paging": false)").freedoms.paging);
}

TEST(PlanJson, RefusesAPlanWithoutItsQuestion) {
  EXPECT_EQ(refusal(replaced(kQuestion, "")), "E0230 the key \"question\" is missing @ p.json");
  EXPECT_EQ(refusal(replaced(R"("objective": "time",
  "initial")",
                             R"("objective": "ram", "initial")")),
            "E0230 no plan is made for the least RAM @ p.json: objective");
}

TEST(PlanJson, RefusesAPlanWithoutABudget) {
  const auto budget = [](const std::string& text, const std::string& value) {
    std::string changed = text;
    const size_t at = changed.rfind("\"budget_bytes\": 16384");
    return changed.replace(at, 21, "\"budget_bytes\": " + value);
  };
  {
    const std::string& text = kWhole;
    for (const char* value : {"null", "-1", "1.5", "true", "\"16KiB\"", "1e300", "9007199254740992"})
      EXPECT_TRUE(refusal(budget(text, value)).starts_with("E0230 must be ")) << value;
    EXPECT_TRUE(refusal(budget(text, "null")).ends_with("@ p.json: budget_bytes"));
  }
  EXPECT_EQ(refusal(replaced(R"("question": {"budget_bytes": 16384)", R"("question": {"budget_bytes": null)")),
            "E0230 a plan is for some budget @ p.json: question.budget_bytes");
  auto plan = parse_plan(kWhole, "p.json");
  plan->question.budget.reset();
  EXPECT_FALSE(parse_plan(base::json_text(to_json(*plan)), "again"));
}

TEST(PlanJson, CarriesTheOptionsOfAModelUnread) {
  Plan plan;
  plan.question.budget = 1;
  plan.model = R"({"batch":8,"path":"cnn.onnx"})";
  plan.request = R"({"device":"m4"})";
  const auto read = parse_plan(base::json_text(to_json(plan)), "test");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->model, plan.model);
  EXPECT_EQ(read->request, plan.request);
  EXPECT_FALSE(to_json(Plan{}).contains("x-model"));
  auto words = to_json(plan);
  words["x-model"] = {"cnn.onnx", "--batch", "8"};
  const auto refused = parse_plan(base::json_text(words), "test");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().where, "test: x-model");
}

TEST(PlanJson, RefusesEveryTruncation) {
  for (size_t length = 0; length < kWhole.size(); ++length)
    EXPECT_NE(refusal(kWhole.substr(0, length)), "accepted") << length;
}

const std::string kCertificate =
    R"({"question": {"budget_bytes": 16384, "deadline_s": 2.5, "energy_limit_j": null, "objective": "time", "freedoms":
  {"paging": true, "recomputing": false, "in_place": true, "reordering": true, "numerics": false}},
  "bound": 0.1, "most_seconds": 0.0, "order": [0], "boundaries": [1, 2],
  "rows": [["need", 0.5, 1, 0], ["work", 1], ["cover", 1e-300, 0, -1, 0, 1, 0]]})";

std::string with_certificate(const std::string& from = "", const std::string& to = "") {
  std::string certificate = kCertificate;
  if (!from.empty()) certificate.replace(certificate.find(from), from.size(), to);
  return replaced(R"("graph": )", R"("x-certificate": )" + certificate + R"(, "graph": )");
}

TEST(PlanJson, CarriesTheCertificateOfItsBound) {
  const auto read = parse_plan(with_certificate(), "p.json");
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  ASSERT_TRUE(read->certificate.has_value());
  const Certificate& certificate = *read->certificate;
  EXPECT_EQ(certificate.question.objective, Objective::kTime);
  EXPECT_EQ(certificate.bound, 0.1);
  EXPECT_EQ(certificate.question.budget, 16384);
  EXPECT_EQ(certificate.question.deadline, 2.5);
  EXPECT_TRUE(certificate.question.freedoms.paging);
  EXPECT_FALSE(certificate.question.freedoms.recomputing);
  EXPECT_EQ(certificate.order, std::vector<int64_t>{0});
  EXPECT_EQ(certificate.boundaries, (std::vector<int32_t>{1, 2}));
  ASSERT_EQ(certificate.rows.size(), 3U);
  EXPECT_EQ(certificate.rows[0].rule, Rule::kNeed);
  EXPECT_EQ(certificate.rows[0].of, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(certificate.rows[2].rule, Rule::kCover);
  EXPECT_EQ(certificate.rows[2].multiplier, 1e-300);
  const auto again = parse_plan(base::json_text(to_json(*read)), "again");
  ASSERT_TRUE(again.has_value()) << to_text(again.error());
  EXPECT_EQ(to_json(*again), to_json(*read));
}

std::string with_cases(const std::string& cases) {
  return with_certificate(R"("boundaries")", R"("cases": )" + cases + R"(, "boundaries")");
}

TEST(PlanJson, CarriesTheCasesOfACertificate) {
  const auto read = parse_plan(with_cases(R"([["paged_in", 1, 2], ["rows"], ["rows", 1, 0.5, 0, 2]])"), "p.json");
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  const std::vector<Certificate::Case>& cases = read->certificate->cases;
  ASSERT_EQ(cases.size(), 3U);
  ASSERT_TRUE(cases[0].decision.has_value());
  EXPECT_EQ(cases[0].decision->variable, Variable::kPagedIn);
  EXPECT_EQ(cases[0].decision->segment, 1);
  EXPECT_EQ(cases[0].decision->index, 2);
  EXPECT_TRUE(cases[1].parts.empty());
  ASSERT_EQ(cases[2].parts.size(), 2U);
  EXPECT_EQ(cases[2].parts[0].row, 1);
  EXPECT_EQ(cases[2].parts[1].multiplier, 2);
  const auto again = parse_plan(base::json_text(to_json(*read)), "again");
  ASSERT_TRUE(again.has_value()) << to_text(again.error());
  EXPECT_EQ(to_json(*again), to_json(*read));
  EXPECT_EQ(again->certificate->cases.size(), 3U);
}

TEST(PlanJson, RefusesWhatIsNoCase) {
  EXPECT_EQ(refusal(with_cases("[[]]")), "E0230 a case is a decision or has rows @ p.json: x-certificate.cases[0]");
  EXPECT_EQ(refusal(with_cases(R"([["in_ram", 1]])")),
            "E0230 a decision has a segment and an index @ p.json: x-certificate.cases[0]");
  EXPECT_EQ(refusal(with_cases(R"([["rows", 1]])")),
            "E0230 every row of a case has a multiplier @ p.json: x-certificate.cases[0]");
  EXPECT_EQ(refusal(with_cases(R"([["kept", 1, 2]])")).substr(0, 31), "E0230 must be one of \"in_ram\", ");
  EXPECT_EQ(refusal(with_cases(R"([["in_ram", -1, 2]])")),
            "E0230 must be between 0 and 2147483647, not -1 @ p.json: x-certificate.cases[0][1]");
}

TEST(PlanJson, RefusesWhatIsNoCertificate) {
  EXPECT_EQ(refusal(replaced(R"("graph": )", R"("x-certificate": 3, "graph": )")),
            "E0230 must be an object, not a number @ p.json: x-certificate");
  EXPECT_EQ(refusal(with_certificate(R"("need", 0.5)", R"("wish", 0.5)")).substr(0, 29),
            "E0230 must be one of \"need\", ");
  EXPECT_EQ(refusal(with_certificate(R"("work", 1)", R"("work")")),
            "E0230 a row has a rule and a multiplier @ p.json: x-certificate.rows[1]");
  EXPECT_EQ(refusal(with_certificate(R"(0.5, 1, 0])", R"(-1, 1, 0])")),
            "E0230 must be between 0 and 1e+100, not -1 @ p.json: x-certificate.rows[0][1]");
  EXPECT_EQ(refusal(with_certificate(R"(0.5, 1, 0])", R"(0.5, 1, 0.5])")),
            "E0230 must be an integer, not a number with a fraction @ p.json: x-certificate.rows[0][3]");
  EXPECT_EQ(refusal(with_certificate(R"("boundaries": [1, 2])", R"("boundaries": [1, 3000000000])")),
            "E0230 must be between 0 and 2147483647, not 3000000000 @ p.json: x-certificate.boundaries[1]");
  EXPECT_EQ(refusal(with_certificate(R"("order": [0], )", "")),
            "E0230 the key \"order\" is missing @ p.json: x-certificate");
  EXPECT_EQ(refusal(with_certificate(R"("bound")", R"("pages": true, "bound")")),
            "E0230 the key \"pages\" is not known here @ p.json: x-certificate");
}

}  // namespace
}  // namespace pantoum::problem
