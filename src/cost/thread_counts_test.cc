#include "cost/thread_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/build_cost_graph.h"
#include "ir/builder.h"
#include "kernels/back_end.h"
#include "kernels/portable/kernel_rows.h"

namespace pantoum::cost {

using problem::Choice;
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

DeviceProfile host_with(problem::Watts core_w) {
  DeviceProfile device = load_device("host").value();
  device.compute.active_w = 6;
  device.compute.core_w = core_w;
  return device;
}

ir::Graph product() {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", {ir::DType::kF32, {64, 32}});
  const ir::ValueId w = builder.parameter("w", {ir::DType::kF32, {32, 16}}, nullptr);
  graph.inputs = {x};
  graph.results = {builder.op(ir::Kind::k_matmul, "y", {x, w}, {{0, 0}, {}})};
  return graph;
}

std::vector<std::string> names(const std::vector<Choice>& choices) {
  std::vector<std::string> found;
  for (const Choice& choice : choices) found.push_back(choice.algorithm);
  return found;
}

TEST(ThreadCounts, OneAndTwoWhereFurtherThreadsDrawWatts) {
  const Compute draws{.active_w = 6, .core_w = 4};
  EXPECT_THAT(fewer_threads(draws, 1), IsEmpty());
  EXPECT_THAT(fewer_threads(draws, 2), ElementsAre(1));
  EXPECT_THAT(fewer_threads(draws, 8), ElementsAre(1, 2));
  EXPECT_THAT(fewer_threads({.active_w = 6}, 8), IsEmpty());
}

TEST(ThreadCounts, ComputingTakesLongerAndMemoryTrafficDoesNot) {
  const Compute compute{.flops_per_s = 1e9, .bytes_per_s = 1e9, .op_overhead_s = 0, .active_w = 6, .core_w = 4};
  const Choice all{.algorithm = "blocked", .numerics = "ascending", .time_s = 1, .energy_j = 10};
  const Choice computes = on_fewer_threads(all, {.flops = 1e9}, compute, 1, 2, true);
  EXPECT_EQ(computes.algorithm, "blocked@1t");
  EXPECT_EQ(computes.numerics, "ascending");
  EXPECT_DOUBLE_EQ(computes.time_s, 2);
  EXPECT_DOUBLE_EQ(computes.energy_j, 12);
  const Choice moves = on_fewer_threads(all, {.bytes = 1e9, .footprint = 1e9}, compute, 1, 2, false);
  EXPECT_EQ(moves.numerics, "ascending@1t");
  EXPECT_DOUBLE_EQ(moves.time_s, 1);
  EXPECT_DOUBLE_EQ(moves.energy_j, 6);
}

TEST(ThreadCounts, CostGraphsOfferThemBehindAllThreads) {
  const BuiltCostGraph built = build_cost_graph(product(), host_with(4), {.threads = 4}).value();
  ASSERT_TRUE(validate(built.graph));
  const std::vector<Choice>& choices = built.graph.ops.at(0).choices;
  EXPECT_THAT(names(choices), ElementsAre("blocked", "blocked@1t", "blocked@2t"));
  EXPECT_THAT(built.threads_of[0], ElementsAre(0, 1, 2));
  EXPECT_EQ(built.kernel_of[0].size(), 3U);
  EXPECT_EQ(built.computed_as[0].size(), 3U);
  EXPECT_DOUBLE_EQ(choices[0].energy_j, choices[0].time_s * (6 + 3 * 4));
  EXPECT_DOUBLE_EQ(choices[2].energy_j, choices[2].time_s * (6 + 4));
}

TEST(ThreadCounts, NoneWithoutTheirWattsNorWhereOnlyFirstChoicesAre) {
  EXPECT_EQ(build_cost_graph(product(), host_with(0), {.threads = 4})->graph.ops[0].choices.size(), 1U);
  EXPECT_EQ(
      build_cost_graph(product(), host_with(4), {.threads = 4, .first_choices = true})->graph.ops[0].choices.size(),
      1U);
}

TEST(ThreadCounts, ABackEndsAreAClassOfTheirOwnWhichMayBeKept) {
  const pt_kernel row{
      PT_OP_matmul, PT_F32, 0, PT_FIRST_BACK_END_ALGORITHM, "fast", "fast", [](const pt_call*) { return PT_OK; },
      nullptr,      nullptr};
  const pt_kernel_table table{&row, 1};
  CostGraphOptions options{.kernels = &table, .threads = 2};
  EXPECT_EQ(build_cost_graph(product(), host_with(4), options)->graph.ops[0].choices[1].numerics, "fast@1t");
  options.classes = {{"y", "fast@1t"}};
  const BuiltCostGraph kept = build_cost_graph(product(), host_with(4), options).value();
  EXPECT_THAT(names(kept.graph.ops[0].choices), ElementsAre("fast@1t"));
  EXPECT_THAT(kept.threads_of[0], ElementsAre(1));
  options.first_choices = true;
  EXPECT_THAT(names(build_cost_graph(product(), host_with(4), options)->graph.ops[0].choices), ElementsAre("fast@1t"));
}

// Copies are a choice beside the op as it lies, and until both are measured the one that costs more: where there is one
// choice, and for who takes the first, it is the op that asks for no copies.
TEST(BackEndCopies, AreNoFirstChoice) {
  const auto row = [](uint16_t algorithm, const char* name, size_t (*workspace)(const pt_call*)) {
    return pt_kernel{PT_OP_matmul, PT_F32,   0, algorithm, name, "fast", [](const pt_call*) { return PT_OK; },
                     nullptr,      workspace};
  };
  const pt_kernel rows[] = {
      row(PT_BACK_END_COPIES, "fast:copied", [](const pt_call*) { return size_t{4096}; }),
      row(PT_FIRST_BACK_END_ALGORITHM + 1, "fast", nullptr),
  };
  const pt_kernel_table table{rows, 2};
  CostGraphOptions options{.kernels = &table};
  const auto choices = [&] { return build_cost_graph(product(), host_with(0), options).value().graph.ops[0].choices; };
  const std::vector<Choice> both = choices();
  EXPECT_THAT(both, ElementsAre(Field(&Choice::algorithm, "fast"), Field(&Choice::algorithm, "fast:copied")));
  EXPECT_EQ(both[0].numerics, both[1].numerics);
  EXPECT_LT(both[0].workspace_bytes, both[1].workspace_bytes);
  EXPECT_LT(both[0].time_s, both[1].time_s);
  options.first_choices = true;
  EXPECT_THAT(choices(), ElementsAre(Field(&Choice::algorithm, "fast")));
}

// A checkpoint from a machine with more threads, or from a profile that told their watts.
TEST(ThreadCounts, AKeptClassIsThereOnOtherThreadsAndWithoutTheirWatts) {
  const pt_kernel row{
      PT_OP_matmul, PT_F32, 0, PT_FIRST_BACK_END_ALGORITHM, "fast", "fast", [](const pt_call*) { return PT_OK; },
      nullptr,      nullptr};
  const pt_kernel_table table{&row, 1};
  for (const double core_w : {0., 4.})
    for (const int threads : {1, 2, 3, 4}) {
      const CostGraphOptions options{.kernels = &table, .threads = threads, .classes = {{"y", "fast@2t"}}};
      const BuiltCostGraph built = build_cost_graph(product(), host_with(core_w), options).value();
      ASSERT_EQ(built.graph.ops[0].choices.size(), 1U) << threads;
      EXPECT_EQ(built.graph.ops[0].choices[0].numerics, "fast@2t");
      EXPECT_THAT(built.threads_of[0], ElementsAre(threads > 2 ? 2 : 0));
    }
}

TEST(ThreadCounts, AKeptClassThatIsNotThereIsNamed) {
  for (const char* const kept : {"other", "ascending@0t", "ascending@t", "ascending@-1t", "ascending@99999999999t"}) {
    const auto built = build_cost_graph(product(), host_with(4), {.threads = 4, .classes = {{"y", kept}}});
    ASSERT_FALSE(built) << kept;
    EXPECT_EQ(built.error().code, "E0404");
    EXPECT_THAT(built.error().notes, ElementsAre(std::string("y (") + kept + ")"));
    EXPECT_NE(built.error().help.find("--weights"), std::string::npos);
  }
}

TEST(ThreadCounts, NamesTellThreads) {
  EXPECT_EQ(threads_of_class(of_threads("fast", 2)), 2);
  for (const char* const name : {"", "fast", "@t", "fast@", "fast@t", "fast@2", "fast@2.5t", "fast@600MHz"})
    EXPECT_EQ(threads_of_class(name), 0) << name;
}

TEST(ThreadCounts, AProfileOfAnotherMachineHasNoWattsOfThreads) {
  const std::string text = "name = \"d\"\nram = \"1MiB\"\n[compute]\nflops_per_s = 1.0\nactive_w = 1.0\ncore_w = 1.0\n";
  const auto other = parse_device(text, "d.toml");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, "E0271");
  EXPECT_NE(other.error().message.find("core_w"), std::string::npos);
  const auto host = parse_device("host = true\n" + text, "d.toml");
  ASSERT_TRUE(host) << host.error().message;
  EXPECT_EQ(host->compute.core_w, 1);
  EXPECT_FALSE(parse_device(
      "host = true\nname = \"d\"\nram = \"1MiB\"\n[compute]\nflops_per_s = 1.0\nflops_per_joule = 1.0\ncore_w = 1.0\n",
      "d.toml"));
}

}  // namespace
}  // namespace pantoum::cost
