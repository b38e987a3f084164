#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "report/kinds.h"
#include "report/lifetimes.h"
#include "report/page_fixture.h"
#include "report/page_parts.h"
#include "report/report.h"
#include "report/trace_events.h"
#include "report/words.h"

namespace pantoum::report {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Json report_of(const CheckedPlan& made, const std::string& log = "") {
  ReportRequest request{.plan = made, .version = "1", .plan_file = "p"};
  if (!log.empty()) request.logs = {{"run.jsonl", log}};
  auto report = report_json(request);
  EXPECT_TRUE(report);
  return report ? *report : Json();
}

// Where it fails, the page is not printed.
bool holds(const std::string& page, const char* part) {
  return page.find(part) != std::string::npos;
}

TEST(Lifetimes, TellWhyATensorIsThereAndWhyNot) {
  const CheckedPlan made = checked(returning_plan());
  std::map<int64_t, std::vector<How>> how;
  for (const Bar& bar : lifetimes_of(made.plan, made.spans)) {
    how[bar.tensor].push_back(bar.how);
    EXPECT_LE(bar.begin_s, bar.end_s);
    EXPECT_LE(bar.end_s, made.found.time_s);
  }
  EXPECT_THAT(how[0], ElementsAre(How::kFromStart));
  EXPECT_THAT(how[1], ElementsAre(How::kComputed, How::kDropped, How::kRecomputed));
  EXPECT_THAT(how[2], ElementsAre(How::kComputed, How::kInStorage, How::kPagedIn));
  EXPECT_THAT(how[4], ElementsAre(How::kComputed));
}

TEST(Kinds, AreWhatTensorsAndOpsAreFor) {
  const Kinds kinds = kinds_of(returning_plan().graph);
  EXPECT_EQ(kinds.tensors.at(0), TensorKind::kParameter);
  EXPECT_EQ(kinds.tensors.at(1), TensorKind::kActivation);
  EXPECT_EQ(kinds.tensors.at(3), TensorKind::kGradient);
  EXPECT_EQ(kinds.tensors.at(4), TensorKind::kParameter);
  EXPECT_EQ(kinds.ops.at(1), Phase::kForward);
  EXPECT_EQ(kinds.ops.at(2), Phase::kBackward);
  EXPECT_EQ(kinds.ops.at(3), Phase::kUpdate);
}

TEST(Kinds, AnOpsKindIsItsNamesLastPartWithoutNumbers) {
  EXPECT_EQ(kind_of_op("/stage1/stage1.0/Conv_3"), "Conv");
  EXPECT_EQ(kind_of_op("/fc/Gemm.dw"), "Gemm.dw");
  EXPECT_EQ(kind_of_op("fc.weight.sgd"), "sgd");
  EXPECT_EQ(kind_of_op("/a/BatchNormalization#2"), "BatchNormalization");
  EXPECT_EQ(kind_of_op("c4784"), "c");
  for (const char* strange : {"", "17", "///", "...", ".dx", "/.dx", "_1", "#2"}) EXPECT_NE(kind_of_op(strange), "");
}

TEST(Report, SumsAreTheWhole) {
  const CheckedPlan made = checked(returning_plan());
  const Json report = report_of(made);
  const Json &time = report["costs"]["time"], &energy = report["costs"]["energy"];
  EXPECT_NEAR(time["first_s"].get<double>() + time["again_s"].get<double>() + time["stall_s"].get<double>(),
              made.found.time_s, 1e-9);
  EXPECT_NEAR(energy["first_j"].get<double>() + energy["again_j"].get<double>() + energy["paging_j"].get<double>() +
                  energy["idle_j"].get<double>(),
              made.found.energy_j, 1e-9);
  EXPECT_EQ(time["again_s"], 1.0);
  int64_t held = 0;
  for (const Json& kind : report["memory"]["peak"]["kinds"]) held += kind["bytes"].get<int64_t>();
  EXPECT_EQ(held, made.found.peak_bytes);
  const auto bytes = report["memory"]["planned"]["bytes"].get<std::vector<int64_t>>();
  EXPECT_EQ(*std::max_element(bytes.begin(), bytes.end()), made.found.peak_bytes);
  const auto seconds = report["memory"]["planned"]["seconds"].get<std::vector<double>>();
  EXPECT_TRUE(std::is_sorted(seconds.begin(), seconds.end()));
}

// The bytes that the columns of the schedule name at a tick: bars in RAM, scratch space, staging.
int64_t live_at(const Json& schedule, int64_t tick) {
  const Json &bars = schedule["bars"], &computes = schedule["computes"];
  int64_t sum = schedule["staging_bytes"];
  for (size_t at = 0; at < bars["tensor"].size(); ++at)
    if (bars["how"][at] < static_cast<int>(How::kInStorage) && bars["begin"][at] <= tick && bars["end"][at] > tick)
      sum += schedule["tensors"]["bytes"][bars["tensor"][at].get<size_t>()].get<int64_t>();
  int64_t workspace = 0;
  for (size_t at = 0; at < computes["op"].size(); ++at)
    if (computes["begin"][at] <= tick) workspace = computes["until"][at] > tick ? computes["workspace"][at].get<int64_t>() : 0;
  return sum + workspace;
}

TEST(Report, WhatIsLiveIsTheCurveAtEveryMoment) {
  for (const bool roomy : {false, true}) {
    problem::Plan plan = returning_plan();
    if (roomy) {  // with scratch space and a pager's buffer
      plan.question.budget = 1000, plan.staging_at = 60, plan.graph.device.pager.staging_bytes = 5;
      for (problem::Op& op : plan.graph.ops) op.choices[0].workspace_bytes = 3 + op.id;
      for (problem::Instruction& step : plan.instructions)
        if (step.what == problem::Do::kCompute) step.workspace_at = 80;
    }
    const CheckedPlan made = checked(std::move(plan));
    const Json report = report_of(made);
    const auto& curve = report["memory"]["planned"];
    const double tick_s = report["schedule"]["tick_s"];
    for (size_t at = 0; at < curve["seconds"].size(); ++at) {
      const double begin = curve["seconds"][at],
                   end = at + 1 < curve["seconds"].size() ? curve["seconds"][at + 1].get<double>() : made.found.time_s;
      if (end <= begin) continue;  // for no time
      for (const double share : {0.01, 0.5, 0.99})
        EXPECT_EQ(live_at(report["schedule"], std::llround((begin + share * (end - begin)) / tick_s)), curve["bytes"][at])
            << begin << " to " << end << ", " << roomy;
    }
  }
}

TEST(Page, ACommandBreaksBetweenItsWordsAlone) {
  const std::string html = command_box("pantoum train 'my net.onnx' --lr 0.05 --optimizer 'it'\\''s <b>' -o x\npantoum emit y");
  for (const char* word : {">pantoum<", ">train<", ">&#39;my net.onnx&#39;<", ">--lr 0.05<", "s &#60;b&#62;&#39;<", ">-o x</span>\n<", ">emit<", ">y<"})
    EXPECT_THAT(html, HasSubstr(word));
  for (const char* strange : {"", "'", "--", "-", "\\", "a  b", "--x '", "--x\n\n-y \\"}) {
    std::string kept = command_box(strange);
    EXPECT_THAT(kept, HasSubstr("<code>"));
  }
}

TEST(Page, NamesTheTraceBesideItAndNoOtherPlace) {
  const CheckedPlan made = checked(returning_plan());
  ReportRequest request{.plan = made, .version = "1", .plan_file = "p"};
  EXPECT_THAT(to_html(*report_json(request)), Not(HasSubstr("as a trace")));
  for (const auto& [file, address] : {std::pair<std::string, std::string>{"../out/trace.json", "./../out/trace.json"},
                                      {"javascript:x()", "./javascript%3Ax%28%29"},
                                      {"a' onclick='x()", "./a%27%20onclick%3D%27x%28%29"}}) {
    request.trace_file = file;
    EXPECT_THAT(to_html(*report_json(request)), HasSubstr("<a href='" + address + "'>"));
  }
}

TEST(Report, AnswersTheFiveQuestions) {
  const Json report = report_of(checked(returning_plan()));
  ASSERT_EQ(report["questions"].size(), 5U);
  const auto answer = [&](size_t at) { return report["questions"][at]["answer"].get<std::string>(); };
  EXPECT_THAT(answer(0), HasSubstr("Yes: the arena takes 40 B of the 40 B asked for"));
  EXPECT_THAT(answer(1), HasSubstr("40 B, "));
  EXPECT_THAT(answer(2), HasSubstr("1 computation, for 1.0 s and 2.00 J a step; the dearest: net/conv_1"));
  EXPECT_THAT(answer(2), HasSubstr("Paged: 10 B out and 10 B in"));
  EXPECT_THAT(answer(3), HasSubstr("a step (time modelled; energy modelled)"));
  EXPECT_THAT(answer(4), HasSubstr("the unplanned step takes 40 B"));
}

// What a name may try: HTML, SVG, scripts, JSON, CDATA, what turns text around, slots of the template.
TEST(Page, NamesAreText) {
  for (const std::string& name :
       {std::string("<script>alert(1)</script>"), std::string("</script><script>x()</script>"),
        std::string("]]><svg onload=x()>"), std::string("' onmouseover='x()"), std::string("\" onfocus=\"x()"),
        std::string("\u2028\u2029\u202e\u2066"), std::string("{{data}}{{body}}{{title}}"), std::string("<!--"),
        std::string("`${x}`"), std::string("\xff\xfe"), std::string("\0b", 2), std::string(20000, 'n')}) {
    const CheckedPlan made = checked(returning_plan(name));
    const std::string page = to_html(report_of(made, "{\"event\":\"step\",\"step\":1,\"loss\":1}\n"));
    for (const char* bad :
         {"<script>alert", "<script>x()", "<svg onload", "<!--", "\u2028", "\u2029", "\u202e", "\u2066", "\xff"})
      EXPECT_FALSE(holds(page, bad)) << name << ": " << bad;
    const std::string body = page.substr(0, page.find("<script type=\"application/json\""));
    for (const char* bad : {"' onmouse", "\" onfocus"}) EXPECT_FALSE(holds(body, bad)) << name << ": " << bad;
    EXPECT_EQ(page.find('\0'), std::string::npos);
    size_t scripts = 0;
    for (size_t at = page.find("<script"); at != std::string::npos; at = page.find("<script", at + 1)) ++scripts;
    EXPECT_EQ(scripts, 3U) << name;
  }
}

TEST(Page, LoadsNothingAndNamesItsOwnScripts) {
  const std::string page = to_html(report_of(checked(returning_plan())));
  EXPECT_TRUE(holds(page, "default-src 'none'; style-src 'sha256-"));
  for (const char* bad : {"{{", " style='", "src=", "url("}) EXPECT_FALSE(holds(page, bad)) << bad;
}

TEST(Page, AStepThatNeedsNothingBackSaysSo) {
  problem::Plan plan = returning_plan();
  plan.instructions = {plan.instructions[0], plan.instructions[1]};
  plan.graph.ops.resize(2), plan.graph.order.resize(2);
  plan.graph.tensors.resize(3), plan.graph.tensors[0].next = -1;
  const Json report = report_of(checked(plan));
  EXPECT_THAT(report["questions"][2]["answer"].get<std::string>(), HasSubstr("Nothing. Nothing was paged."));
  EXPECT_TRUE(holds(to_html(report), "nothing runs twice"));
}

TEST(Trace, EventsOfATrackFollowEachOther) {
  const CheckedPlan made = checked(returning_plan());
  const Json trace = trace_events(made);
  std::map<int, double> end;
  std::map<int, std::string> tracks;
  double counter = -1, most = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "thread_name") tracks[event["tid"]] = event["args"]["name"];
    if (event["ph"] == "X") {
      EXPECT_GE(event["ts"].get<double>(), end[event["tid"]] - 1e-6);
      EXPECT_GE(event["dur"].get<double>(), 0);
      end[event["tid"]] = event["ts"].get<double>() + event["dur"].get<double>();
    }
    if (event["ph"] != "C") continue;
    EXPECT_GE(event["ts"].get<double>(), counter);
    counter = event["ts"];
    most = std::max(most, event["args"]["bytes"].get<double>());
  }
  EXPECT_EQ(tracks.size(), 4U);  // cpu, out, in, stalls
  EXPECT_EQ(most, static_cast<double>(made.found.peak_bytes));
  double last = 0;
  for (const auto& [track, at] : end) last = std::max(last, at);
  EXPECT_NEAR(last, made.found.time_s * 1e6, 1e-3);
}

TEST(Command, SaysWhatWasAskedInWordsOfAShell) {
  const Json model = Json::parse(
      R"({"path":"a b.onnx","batch":8,"loss":[{"name":"mse","output":null,"weight":2.0}],"optimizer":{"name":"sgd","momentum":0.9,"lr":0.05},"freeze":["x*"]})");
  const Json request = Json::parse(R"({"device":"m4","ram_bytes":262144,"paging":false,"effort":5})");
  const std::string line = command_of(model, request, {}, Followed::kByNothing);
  for (const char* part :
       {"pantoum plan 'a b.onnx' --batch 8", "--loss 'mse,weight=2'", "--optimizer 'sgd,momentum=0.9'", "--lr 0.05",
        "--freeze 'x*'", "--device m4", "--ram 256KiB", "--no-paging", "--effort 5"})
    EXPECT_THAT(line, HasSubstr(part));
  EXPECT_THAT(command_of(nullptr, nullptr, {{"budget_bytes", 40}, {"deadline_s", nullptr}, {"objective", "time"}},
                         Followed::kByNothing),
              HasSubstr("pantoum plan --costgraph GRAPH.json --ram 40B --objective time"));
}

TEST(Command, HoldsWhatAPlanWasAskedFor) {
  const Json model = Json::parse(
      R"({"path":"a.onnx","optimizer":{"name":"adamw","weight_decay":0.0,"beta1":0.8},"keep_init":["head*"],"freeze_stats":["bn*"],"train":["h*"],"accept_folded":true})");
  const Json request =
      Json::parse(R"({"energy_limit_j":2.5,"effort":null,"time_limit_s":7.0,"gap":0.01,"samples":60,"epochs":3})");
  const std::string line = command_of(model, request, {}, Followed::kByTraining);
  for (const char* part :
       {"--keep-init 'head*'", "--freeze-stats 'bn*'", "--train 'h*'", "--accept-folded", "--weight-decay 0",
        "--optimizer 'adamw,beta1=0.8'", "--energy-limit 2.5J", "--time-limit 7s", "--gap '1%'", "--epochs 3",
        " --data DATA"})
    EXPECT_THAT(line, HasSubstr(part));
  const std::string board = command_of(model, request, {}, Followed::kByBoard);
  EXPECT_THAT(board, testing::StartsWith("pantoum plan a.onnx"));
  EXPECT_THAT(board,
              HasSubstr("\npantoum emit plan.json --target TARGET --data DATA -o project\npantoum run-firmware"));
  EXPECT_THAT(line, testing::Not(HasSubstr("--samples")));
  const Json asked = Json::parse(R"({"most_energy_j":3.5,"freedoms":{"recomputing":false,"reordering":false}})");
  EXPECT_THAT(command_of(nullptr, nullptr, asked, Followed::kByNothing),
              HasSubstr("--energy-limit 3.5J --no-remat --no-reorder -o"));
}

TEST(Command, OptionsOfAnotherTypeAreLeftOut) {
  for (const char* strange :
       {R"({"path":7,"batch":"x","loss":[3,{"name":7}],"optimizer":{"name":1,"nesterov":"no"}})", R"({"loss":{}})",
        "{}"})
    EXPECT_THAT(command_of(Json::parse(strange), Json::parse(R"({"paging":"x","deadline":3})"), {},
                           Followed::kByTraining),
                HasSubstr("pantoum train"));
}

// A gap is a share of the plan's value: 0.5 of it is as much again above the least.
TEST(Words, WhatIsProvedIsNeverTooGood) {
  EXPECT_EQ(show_above_least(0), "0% above");
  EXPECT_EQ(show_above_least(0.01), "1.1% above");  // 0.0101...
  EXPECT_EQ(show_above_least(0.0001), "0.02% above");
  EXPECT_EQ(show_above_least(0.25), "34% above");
  EXPECT_EQ(show_above_least(0.5), "2.0 times");
  EXPECT_EQ(show_above_least(0.9), "10.0 times");
  for (const double nothing : {1.0, 2.0, std::nan(""), 1 - 1e-9}) EXPECT_EQ(show_above_least(nothing), "");
  for (double gap = 1e-6; gap < 0.49; gap *= 1.37)
    EXPECT_GE(std::strtod(show_above_least(gap).c_str(), nullptr) / 100, gap / (1 - gap) - 1e-12) << gap;
}

std::string answer_of(const CheckedPlan& made, size_t at, const std::vector<Probe>& probes = {}) {
  ReportRequest request{.plan = made, .version = "1", .plan_file = "p"};
  if (!probes.empty()) request.next = NextBytes{.probes = probes, .no_deadline = {}, .unplanned = {}};
  return (*report_json(request))["questions"][at]["answer"];
}

TEST(Words, RamIsNotPraisedForWhatSearchFound) {
  const CheckedPlan made = checked(returning_plan());
  const double own = made.found.energy_j;
  const auto probe = [&](double more, problem::Bytes ram, double share) {
    return Probe{more, ram, {.peak_bytes = ram, .time_s = 1, .energy_j = own * share}};
  };
  const std::string both = answer_of(made, 4, {probe(0, 40, 0.8), probe(0.05, 42, 0.8), probe(0.1, 44, 0.4)});
  EXPECT_THAT(both, HasSubstr("Searching on in the same RAM saves 20% of the energy. Beside that: 2 B more (5%) saves "
                              "0%; 4 B more (10%) saves 50% of the energy"));
  EXPECT_THAT(answer_of(made, 4, {probe(0, 40, 1), probe(0.1, 44, 0.4)}),
              testing::StartsWith("4 B more (10%) saves 60% of the energy"));
}

TEST(Words, MicroBatchesAndReservesAreTold) {
  CheckedPlan made = checked(returning_plan());
  EXPECT_THAT(answer_of(made, 3), testing::Not(HasSubstr("micro-batches")));
  made.plan.model = R"({"batch":8,"accumulate":4})", made.plan.request = R"({"ram_bytes":52,"reserve_bytes":12})";
  const Json report = report_of(made);
  for (const char* key : {"headline", "lead"}) {
    EXPECT_THAT(report[key].get<std::string>(), HasSubstr("4 micro-batches a step (the figures are of the last one)"));
    EXPECT_THAT(report[key].get<std::string>(), HasSubstr("sked for 52 B, 12 B of it reserved"));
  }
  EXPECT_THAT(answer_of(made, 3), HasSubstr("A step has 4 micro-batches; these figures are of the last one."));
  EXPECT_THAT(answer_of(made, 0), HasSubstr("40 B of the 40 B that are left (52 B asked for, 12 B of it reserved)"));
  EXPECT_TRUE(holds(to_html(report), "40 B left of 52 B"));
  for (const char* strange : {R"({"reserve_bytes":-1})", R"({"reserve_bytes":"x"})", R"({"reserve_bytes":1e99})"}) {
    made.plan.request = strange;
    EXPECT_THAT(answer_of(made, 0), HasSubstr("40 B of the 40 B asked for"));
  }
}

TEST(Words, WhatLivesInStorageIsNotKeptByRam) {
  problem::Plan plan = returning_plan();
  CheckedPlan made = checked(plan);
  EXPECT_THAT(answer_of(made, 4), testing::Not(HasSubstr("storage")));
  made.plan.graph.tensors[0].start = problem::Home::kAux;  // as --params-in aux has it
  EXPECT_THAT(answer_of(made, 4), HasSubstr("The tensors that begin in storage (10 B) are paged in every step"));
  made.plan.model = R"({"params_in":"aux"})";
  EXPECT_THAT(answer_of(made, 4), HasSubstr("Parameters and optimizer state (10 B) live in storage"));
  EXPECT_THAT(answer_of(made, 4), HasSubstr("--params-in ram keeps them in RAM"));
  const std::string page = to_html(report_of(made));
  EXPECT_FALSE(holds(page, "with everything kept"));
  EXPECT_FALSE(holds(page, "everything is kept"));
}

TEST(MeasuredEnergyRows, TellOfAStepAndOfAll) {
  const auto rows = measured_energy(Json::parse(
      R"({"energy_j":100,"energy_source":"measured by x","step_energy_j":2,"step_energy_half_width_j":0.04,"idle_w":10,"step_energy_modelled_j":1.5})"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].second, "100.00 J (measured by x)");
  EXPECT_EQ(rows[1].second, "2.00 J, +- 40.00 mJ with 95%, above 10 W idle; modelled: 1.50 J");
}

TEST(MeasuredEnergyRows, AreNoneOfWhatIsNoMeasurement) {
  for (const char* end : {"null", "{}", R"({"energy_source":"modelled","step_energy_modelled_j":1})",
                          R"({"energy_j":"x","step_energy_j":[]})"})
    EXPECT_TRUE(measured_energy(Json::parse(end)).empty()) << end;
}

TEST(Words, NumbersAreShort) {
  EXPECT_EQ(show_count(1234567), "1,234,567");
  EXPECT_EQ(show_count(-1234), "-1,234");
  EXPECT_EQ(show_count(999), "999");
  EXPECT_EQ(show_percent(0.0073), "0.73%");
  EXPECT_EQ(show_percent(0), "0.00%");
  EXPECT_EQ(show_ratio(1.319), "1.32x");
}

}  // namespace
}  // namespace pantoum::report
