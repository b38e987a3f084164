// Thousands of random plans, good and broken: our replay and the reference checker say the same, to the last bit of
// every figure.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/lists.h"
#include "check/least_costs.h"
#include "check/replay.h"
#include "problem/cost_graph_json.h"
#include "problem/plan_json.h"
#include "testing/all_cases.h"
#include "testing/random_case.h"
#include "testing/temporary_folder.h"

namespace pantoum::check {
namespace {

#ifdef PANTOUM_SANITIZER
constexpr int kDefaultCases = 500, kBoundCases = 150;
#else
constexpr int kDefaultCases = 5000;
const int kBoundCases = all_cases() ? 3000 : 1000;
#endif
constexpr int kPortion = 500;

// PANTOUM_AGREEMENT_CASES asks for more of them, in whole portions.
int cases() {
  const char* asked = std::getenv("PANTOUM_AGREEMENT_CASES");
  return asked == nullptr ? kDefaultCases : std::max(1, std::atoi(asked) / kPortion) * kPortion;
}

// How often a feature occurs is tested over this many cases or more: among fewer, a rare one may be missing by chance.
constexpr int kCasesForShares = 5000;

// Half as many again have several engines.
constexpr RandomGraphOptions kEngines{.engines = true};
RandomCase case_with_engines(int number) {
  return random_case(uint64_t{1} << 32 | static_cast<uint64_t>(number), kEngines);
}

// As many have choices that stream: on one engine and on several by turns.
RandomCase case_with_streams(int number) {
  return random_case(uint64_t{2} << 32 | static_cast<uint64_t>(number), {.engines = number % 2 == 1, .streams = true});
}

// What is said of the plan's file.
Result<Found> judge(const std::string& text, std::vector<Span>* spans = nullptr) {
  PANTOUM_ASSIGN(const problem::Plan plan, problem::parse_plan(text, "case"));
  return replay(plan.graph, plan, plan.question, spans);
}

// The same, as the reference checker judges: with one engine and no streams it does not look at the storage table, else it looks at
// numerics.
Result<Found> judge_as_reference(problem::Plan plan) {
  Result<Found> found = judge(problem::to_json(plan).dump());
  if (problem::has_queues(plan.graph)) {
    if (found && found->used.numerics && !plan.question.freedoms.numerics) return fail("E0807", "another class");
    return found;
  }
  if (found || found.error().code != "E0804") return found;
  plan.storage.clear();
  return judge(problem::to_json(plan).dump());
}

// What a case has of each feature; a feature that never turns up would be compared by nobody.
void count_features(const RandomCase& random, const Result<Found>& found, std::map<std::string, int>& counts) {
  const problem::CostGraph& graph = random.plan.graph;
  const problem::Pager& pager = graph.device.pager;
  constexpr const char* kModes[] = {"pager none", "pager sync", "pager async"};
  ++counts[kModes[static_cast<size_t>(pager.mode)]];
  if (pager.mode != problem::PagerMode::kNone) ++counts[pager.full_duplex ? "duplex full" : "duplex half"];
  counts["staging"] += pager.staging_bytes > 0;
  counts["blocks"] += pager.block_bytes > 1;
  counts["alignment"] += graph.device.align_bytes > 1;
  ++counts["mutation " + random.mutation];
  if (!found) {
    ++counts["broken " + found.error().code];
    return;
  }
  ++counts["valid"];
  counts["valid, recomputes"] += found->counts.recompute > 0;
  counts["valid, pages in"] += found->counts.page_in > 0;
  counts["valid, another order"] += !found->keeps_order;
  counts["valid, storage table"] += !random.plan.storage.empty();
  counts["valid, deadline"] += random.plan.question.deadline.has_value();
  for (const problem::Tensor& tensor : graph.tensors) {
    counts["valid, rom"] += tensor.start == problem::Home::kRom;
    counts["valid, aux"] += tensor.start == problem::Home::kAux;
    counts["valid, pinned"] += tensor.pinned;
    counts["valid, next"] += tensor.next >= 0;
    counts["valid, empty tensor"] += tensor.bytes == 0;
  }
}

// Walks the stream of a valid plan: takeovers, recomputations in place, waits for transfers in flight.
void count_moments(const problem::Plan& plan, const std::vector<Span>& spans, std::map<std::string, int>& counts) {
  std::map<int64_t, const problem::Op*> op_of;
  std::map<int64_t, int64_t> held = plan.initial;
  std::map<int64_t, size_t> paged_out_at;
  std::map<int64_t, double> written_s;
  for (const problem::Op& op : plan.graph.ops) op_of[op.id] = &op;
  for (size_t index = 0; index < plan.instructions.size(); ++index) {
    const problem::Instruction& step = plan.instructions[index];
    if (step.what == problem::Do::kPageOut) {
      paged_out_at[step.subject] = index;
      written_s[step.subject] = spans[index].end_s;
    }
    const auto waits_for_write = [&](int64_t tensor) {
      return written_s.contains(tensor) && written_s[tensor] > spans[index].issue_s;
    };
    if (step.what == problem::Do::kFree) {
      counts["freed while written"] += paged_out_at.contains(step.subject) && paged_out_at[step.subject] + 1 == index;
      held.erase(step.subject);
    }
    if (step.what == problem::Do::kPageIn) {
      counts["paged in right after out"] +=
          paged_out_at.contains(step.subject) && paged_out_at[step.subject] + 3 >= index;
      held[step.subject] = step.at.front();
    }
    if (step.what != problem::Do::kCompute) continue;
    const problem::Op& op = *op_of.at(step.subject);
    const problem::Choice& choice = op.choices[static_cast<size_t>(step.choice)];
    counts["optional computed"] += op.optional;
    counts["workspace"] += choice.workspace_bytes > 0;
    counts["reads a part"] += choice.reads.size() < op.inputs.size();
    counts["writes a part"] += choice.writes.size() < op.outputs.size();
    for (size_t output = 0; output < choice.writes.size(); ++output) {
      const int64_t tensor = op.outputs[static_cast<size_t>(choice.writes[output])];
      counts["recomputed in place"] += held.contains(tensor);
      counts["recomputed in place, waits for a page_out"] += held.contains(tensor) && waits_for_write(tensor);
      for (const auto& [out, in] : choice.overwrites) {
        const int64_t source = op.inputs[static_cast<size_t>(in)];
        const bool taken = out == choice.writes[output] && held.contains(source) && held[source] == step.at[output];
        counts["taken over"] += taken;
        counts["taken over, waits for a page_out"] += taken && waits_for_write(source);
      }
      held[tensor] = step.at[output];
    }
  }
}

// What the plan streams, and what its streams wait for.
void count_streams(const problem::Plan& plan, const std::vector<Span>& spans, std::map<std::string, int>& counts) {
  std::map<int64_t, const problem::Op*> op_of;
  for (const problem::Op& op : plan.graph.ops) op_of[op.id] = &op;
  const problem::Pager& pager = plan.graph.device.pager;
  const auto slot_of = [&](int64_t tensor) {
    const auto place = plan.storage.find(tensor);
    return place == plan.storage.end() ? -1 : place->second;
  };
  constexpr const char* kWaits[] = {"stream waits for the issuer", "stream waits for engines or channels",
                                    "stream waits for a value", "stream waits for bytes"};
  for (size_t index = 0; index < plan.instructions.size(); ++index) {
    const problem::Instruction& step = plan.instructions[index];
    if (step.what != problem::Do::kCompute) continue;
    const problem::Op& op = *op_of.at(step.subject);
    const problem::Choice& choice = op.choices[static_cast<size_t>(step.choice)];
    const problem::Stream& stream = choice.stream;
    if (!stream.any()) continue;
    ++counts[kWaits[static_cast<size_t>(spans[index].why)]];
    ++counts[pager.full_duplex ? "stream, full duplex" : "stream, half duplex"];
    ++counts[pager.mode == problem::PagerMode::kSync ? "stream, sync" : "stream, async"];
    ++counts[problem::several_engines(plan.graph.device) ? "stream, several engines" : "stream, one engine"];
    counts["stream in"] += !stream.in.empty();
    counts["stream out"] += !stream.out.empty();
    counts["stream in and out"] += !stream.in.empty() && !stream.out.empty();
    counts["stream in place"] += stream.in_place;
    counts["stream with async_s"] += stream.async_s && pager.mode == problem::PagerMode::kAsync;
    counts["stream beside whole operands"] += stream.in.size() < choice.reads.size() && !step.at.empty();
    counts["stream in blocks"] += pager.block_bytes > 1;
    for (const auto& [out, in] : choice.overwrites) {
      const bool same = slot_of(op.output(out)) == slot_of(op.input(in));
      if (base::contains(stream.out, out)) ++counts[same ? "stream over its slot" : "stream pair, two slots"];
    }
  }
}

class Agreement : public testing::Test {
 public:
  // Empty: it cannot be run here.
  static std::filesystem::path reference_checker() {
    std::filesystem::path checker = std::filesystem::path(PANTOUM_SOURCE_DIR) / "../shared/tools/check_plan.py";
    const bool runs = std::filesystem::exists(checker) && std::system("python3 -c '' >/dev/null 2>&1") == 0;
    return runs ? checker : std::filesystem::path();
  }

  void write(const RandomCase& random, int number, std::ofstream& list) const {
    nlohmann::ordered_json json = problem::to_json(random.plan);
    const std::string graph_path = write_text("g" + std::to_string(number % kPortion), json["graph"].dump());
    json.erase("graph");
    list << graph_path << " " << write_text("p" + std::to_string(number % kPortion), json.dump()) << "\n";
  }

  std::string write_text(const std::string& name, const std::string& text) const {
    const std::string path = (folder_.path() / name).string();
    std::ofstream file(path);
    file << text;
    file.close();
    EXPECT_TRUE(file.good()) << "cannot write " << path << "; is the disk full?";
    return path;
  }

  // One verdict, a line of JSON, for each of the cases [first, last).
  template <class Case>
  std::vector<nlohmann::json> reference_verdicts(const std::filesystem::path& checker, int first, int last,
                                                 const Case& case_of) const {
    const std::string list_path = (folder_.path() / "list").string();
    const std::string verdicts_path = (folder_.path() / "verdicts").string();
    std::ofstream list(list_path);
    for (int number = first; number < last; ++number) write(case_of(number), number, list);
    list.close();
    EXPECT_TRUE(list.good()) << "cannot write " << list_path << "; is the disk full?";
    const std::string command =
        "python3 '" + checker.string() + "' --batch '" + list_path + "' > '" + verdicts_path + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::vector<nlohmann::json> verdicts;
    std::ifstream lines(verdicts_path);
    for (std::string line; std::getline(lines, line);) verdicts.push_back(nlohmann::json::parse(line));
    return verdicts;
  }

 private:
  TemporaryFolder folder_;
};

void expect_same(const Found& ours, const nlohmann::json& theirs, int number) {
  EXPECT_EQ(ours.peak_bytes, theirs["peak_bytes"].get<int64_t>()) << number;
  EXPECT_EQ(ours.arena_bytes, theirs["arena_bytes"].get<int64_t>()) << number;
  EXPECT_EQ(ours.time_s, theirs["time_s"].get<double>()) << number;
  EXPECT_EQ(ours.energy_j, theirs["energy_j"].get<double>()) << number;
  EXPECT_EQ(ours.counts.compute, theirs["counts"]["compute"].get<int64_t>()) << number;
  EXPECT_EQ(ours.counts.recompute, theirs["counts"]["recompute"].get<int64_t>()) << number;
  EXPECT_EQ(ours.counts.page_in, theirs["counts"]["page_in"].get<int64_t>()) << number;
  EXPECT_EQ(ours.counts.page_out, theirs["counts"]["page_out"].get<int64_t>()) << number;
  EXPECT_EQ(ours.counts.free, theirs["counts"]["free"].get<int64_t>()) << number;
  EXPECT_EQ(ours.bytes_in, theirs["bytes_paged"]["in"].get<int64_t>()) << number;
  EXPECT_EQ(ours.bytes_out, theirs["bytes_paged"]["out"].get<int64_t>()) << number;
  EXPECT_EQ(ours.keeps_order, theirs["keeps_order"].get<bool>()) << number;
}

// Returns how many plans are valid. In portions that overwrite one another's files: ten thousand pairs at once are too much for a
// small /tmp.
template <class Test, class Case>
void expect_agreement(const Test& test, const std::filesystem::path& checker, int cases, const Case& case_of,
                      int& valid) {
  for (int first = 0; first < cases; first += kPortion) {
    const std::vector<nlohmann::json> verdicts = test.reference_verdicts(checker, first, first + kPortion, case_of);
    ASSERT_EQ(verdicts.size(), static_cast<size_t>(kPortion));
    for (int number = first; number < first + kPortion; ++number) {
      const nlohmann::json& theirs = verdicts[static_cast<size_t>(number - first)];
      const Result<Found> mine = judge_as_reference(case_of(number).plan);
      ASSERT_EQ(mine.has_value(), theirs["valid"].get<bool>())
          << number << theirs.dump() << (mine ? "" : to_text(mine.error()));
      if (mine) expect_same(*mine, theirs, number);
      valid += mine ? 1 : 0;
    }
  }
}

TEST_F(Agreement, WithTheReferenceCheckerOnRandomPlans) {
  const std::filesystem::path checker = reference_checker();
  if (checker.empty()) GTEST_SKIP() << "no python3, or no ../shared/tools/check_plan.py";
  int valid = 0;
  expect_agreement(
      *this, checker, cases(), [](int number) { return random_case(static_cast<uint64_t>(number)); }, valid);
  RecordProperty("cases", cases());
  RecordProperty("valid", valid);
}

TEST_F(Agreement, WithTheReferenceCheckerOnRandomPlansOfSeveralEngines) {
  const std::filesystem::path checker = reference_checker();
  if (checker.empty()) GTEST_SKIP() << "no python3, or no ../shared/tools/check_plan.py";
  const int cases = std::max(1, check::cases() / kPortion / 2) * kPortion;
  int valid = 0;
  expect_agreement(*this, checker, cases, case_with_engines, valid);
  EXPECT_GT(valid, cases / 4);
  RecordProperty("cases", cases);
  RecordProperty("valid", valid);
}

TEST_F(Agreement, WithTheReferenceCheckerOnRandomPlansThatStream) {
  const std::filesystem::path checker = reference_checker();
  if (checker.empty()) GTEST_SKIP() << "no python3, or no ../shared/tools/check_plan.py";
  int valid = 0;
  expect_agreement(*this, checker, cases(), case_with_streams, valid);
  EXPECT_GT(valid, cases() / 4);
  RecordProperty("cases", cases());
  RecordProperty("valid", valid);
}

TEST_F(Agreement, WithTheReferenceCheckerThatAPlanHasABudgetWhateverTheCallersIs) {
  const std::filesystem::path checker = reference_checker();
  if (checker.empty()) GTEST_SKIP() << "no python3, or no ../shared/tools/check_plan.py";
  for (int number = 0; number < 20; ++number) {
    problem::Plan plan = random_case(static_cast<uint64_t>(number)).plan;
    plan.question.budget.reset();
    nlohmann::ordered_json json = problem::to_json(plan);
    for (const bool erased : {false, true}) {
      if (erased) json.erase("budget_bytes");
      const Result<Found> mine = judge(json.dump());
      ASSERT_FALSE(mine.has_value());
      EXPECT_EQ(mine.error().code, "E0230");
      const std::string paths =
          "'" + write_text("graph", json["graph"].dump()) + "' '" + write_text("plan", json.dump()) + "'";
      EXPECT_NE(std::system(("python3 '" + checker.string() + "' " + paths + " --ram 1000000000 >/dev/null").c_str()),
                0);
    }
  }
}

// Each turns up in a two-hundredth of the cases at least.
constexpr const char* kFeatures[] = {"pager none",
                                     "pager sync",
                                     "pager async",
                                     "duplex half",
                                     "duplex full",
                                     "staging",
                                     "blocks",
                                     "alignment",
                                     "broken E0221",
                                     "broken E0230",
                                     "broken E0801",
                                     "broken E0802",
                                     "broken E0803",
                                     "valid, recomputes",
                                     "valid, pages in",
                                     "valid, another order",
                                     "valid, storage table",
                                     "valid, deadline",
                                     "valid, rom",
                                     "valid, aux",
                                     "valid, pinned",
                                     "valid, next",
                                     "valid, empty tensor",
                                     "freed while written",
                                     "paged in right after out",
                                     "optional computed",
                                     "workspace",
                                     "reads a part",
                                     "writes a part",
                                     "recomputed in place",
                                     "recomputed in place, waits for a page_out",
                                     "taken over",
                                     "taken over, waits for a page_out",
                                     "mutation none",
                                     "mutation drop",
                                     "mutation duplicate",
                                     "mutation swap near",
                                     "mutation swap far",
                                     "mutation move",
                                     "mutation shift",
                                     "mutation workspace",
                                     "mutation choice",
                                     "mutation subject",
                                     "mutation outputs",
                                     "mutation initial",
                                     "mutation staging",
                                     "mutation budget",
                                     "mutation deadline",
                                     "mutation prediction",
                                     "mutation bound",
                                     "mutation free early",
                                     "mutation page late",
                                     "mutation pin",
                                     "mutation no budget"};

TEST(RandomCases, ShowEveryFeatureAndEveryBreakage) {
  if (cases() < kCasesForShares) GTEST_SKIP() << "shares of features need " << kCasesForShares << " cases";
  std::map<std::string, int> counts;
  for (int number = 0; number < cases(); ++number) {
    const RandomCase random = random_case(static_cast<uint64_t>(number));
    std::vector<Span> spans;
    const Result<Found> found = judge(problem::to_json(random.plan).dump(), &spans);
    count_features(random, found, counts);
    if (found) count_moments(random.plan, spans, counts);
  }
  for (const auto& [feature, count] : counts) RecordProperty(feature, count);
  EXPECT_GT(counts["valid"], cases() * 2 / 5);
  EXPECT_LT(counts["valid"], cases() * 3 / 5);
  for (const char* feature : kFeatures) EXPECT_GE(counts[feature], cases() / 200) << feature;
}

constexpr const char* kStreamFeatures[] = {"stream waits for the issuer",
                                           "stream waits for engines or channels",
                                           "stream waits for a value",
                                           "stream waits for bytes",
                                           "stream, full duplex",
                                           "stream, half duplex",
                                           "stream, sync",
                                           "stream, async",
                                           "stream, several engines",
                                           "stream, one engine",
                                           "stream in",
                                           "stream out",
                                           "stream in and out",
                                           "stream in place",
                                           "stream with async_s",
                                           "stream beside whole operands",
                                           "stream in blocks",
                                           "stream over its slot",
                                           "stream pair, two slots",
                                           "broken E0221",
                                           "broken E0801",
                                           "broken E0804",
                                           "mutation slot",
                                           "mutation one slot",
                                           "mutation no page_out",
                                           "mutation stream twice",
                                           "mutation capacity",
                                           "mutation stream"};

TEST(RandomCases, ThatStreamShowEveryFeatureAndEveryBreakage) {
  if (cases() < kCasesForShares) GTEST_SKIP() << "shares of features need " << kCasesForShares << " cases";
  std::map<std::string, int> counts;
  for (int number = 0; number < cases(); ++number) {
    const RandomCase random = case_with_streams(number);
    std::vector<Span> spans;
    const Result<Found> found = judge(problem::to_json(random.plan).dump(), &spans);
    count_features(random, found, counts);
    if (found) count_streams(random.plan, spans, counts);
  }
  for (const auto& [feature, count] : counts) RecordProperty(feature, count);
  EXPECT_GT(counts["valid"], cases() / 3);
  for (const char* feature : kStreamFeatures) EXPECT_GE(counts[feature], cases() / 200) << feature;
}

// What is read off a graph of several engines is below every plan of it.
TEST(RandomCases, WithSeveralEnginesTakeNoLessThanWhatEveryPlanTakes) {
  const problem::Freedoms all{.numerics = true, .one_slot = true};
  double nearest_time = 0, nearest_energy = 0;
  int valid = 0;
  for (int number = 0; number < kBoundCases; ++number) {
    const problem::Plan plan = case_with_engines(number).plan;
    const Result<Found> found = judge(problem::to_json(plan).dump());
    if (!found) continue;
    const LeastCosts least = least_costs(plan.graph, all);
    constexpr double kOrders = 1 - 1e-12;  // both are rounded down, and sum in different orders
    ASSERT_LE(least.time_s * kOrders, found->time.low) << number;
    ASSERT_LE(least.energy_j * kOrders, found->energy.low) << number;
    ASSERT_LE(least.ram_bytes, found->arena_bytes) << number;
    nearest_time = std::max(nearest_time, least.time_s / found->time.high);
    nearest_energy = std::max(nearest_energy, least.energy_j / found->energy.high);
    ++valid;
  }
  EXPECT_GT(valid, kBoundCases / 3);
  EXPECT_GT(nearest_time, 0.99);  // the bounds are not empty words
  EXPECT_GT(nearest_energy, 0.9);
}

// The same of graphs that stream, for the plan's budget and for no more freedoms than the plan uses.
TEST(RandomCases, ThatStreamTakeNoLessThanWhatEveryPlanTakes) {
  double nearest_time = 0, nearest_energy = 0;
  int valid = 0;
  for (int number = 0; number < kBoundCases; ++number) {
    const problem::Plan plan = case_with_streams(number).plan;
    const Result<Found> found = judge(problem::to_json(plan).dump());
    if (!found) continue;
    const FreedomsUsed& used = found->used;
    const problem::Freedoms all{.numerics = true, .one_slot = true};
    const problem::Freedoms few{.paging = used.paging.has_value(),
                                .recomputing = used.recomputing.has_value(),
                                .in_place = used.in_place.has_value(),
                                .reordering = !found->keeps_order,
                                .numerics = used.numerics.has_value(),
                                .one_slot = plan.question.freedoms.one_slot};
    constexpr double kOrders = 1 - 1e-12;  // both are rounded down, and sum in different orders
    for (const problem::Freedoms& freedoms : {all, few})
      for (const int64_t budget : {std::numeric_limits<int64_t>::max(), found->arena_bytes}) {
        const LeastCosts least = least_costs(plan.graph, freedoms, budget);
        ASSERT_LE(least.time_s * kOrders, found->time.low) << number << ", budget " << budget;
        ASSERT_LE(least.energy_j * kOrders, found->energy.low) << number << ", budget " << budget;
        // A budget has a byte at least, and a plan that streams everything may need none.
        ASSERT_LE(least.ram_bytes, std::max<int64_t>(1, found->arena_bytes)) << number << ", budget " << budget;
        nearest_time = std::max(nearest_time, least.time_s / found->time.high);
        nearest_energy = std::max(nearest_energy, least.energy_j / found->energy.high);
      }
    ++valid;
  }
  EXPECT_GT(valid, kBoundCases / 3);
  EXPECT_GT(nearest_time, 0.99);  // the bounds are not empty words
  EXPECT_GT(nearest_energy, 0.9);
}

TEST(RandomGraphs, AreGraphsWhateverTheOptions) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const RandomGraphOptions options{.pager = seed % 2 == 0,
                                     .empty_tensors = seed % 3 == 0,
                                     .odd_sizes = seed % 5 == 0,
                                     .engines = seed % 7 < 3,
                                     .streams = seed % 4 < 3};
    const problem::CostGraph graph = random_cost_graph(seed, options);
    const auto valid = problem::validate(graph);
    ASSERT_TRUE(valid.has_value()) << seed << to_text(valid.error());
    EXPECT_EQ(problem::to_json(graph), problem::to_json(random_cost_graph(seed, options)));
  }
}

}  // namespace
}  // namespace pantoum::check
