// Measuring each op and shape once.
#include "cost/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "cost/kernel_bench.h"
#include "cost/profile_store.h"
#include "cost/roofline.h"
#include "cost/step_bench.h"
#include "ir/builder.h"
#include "testing/evaluate.h"
#include "testing/raw_sqlite.h"
#include "testing/temporary_folder.h"

namespace pantoum::cost {

namespace {

class Measure : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.file(name); }

  TemporaryFolder folder_;
};

OpSample sample(Seconds seconds) {
  return {.seconds = seconds, .low_s = seconds, .high_s = seconds, .runs = 1};
}

ir::Graph product(int64_t rows) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", {ir::DType::kF32, {rows, 8}});
  const ir::ValueId w = builder.input("w", {ir::DType::kF32, {8, 4}});
  builder.op(ir::Kind::k_matmul, "y", {x, w}, {{0, 0}, {}});
  return graph;
}

// A program with its costs by the model.
struct Modelled {
  explicit Modelled(ir::Graph made) : graph(std::move(made)) {
    device.device.name = "bench";
    device.compute = {.flops_per_s = 1e9, .bytes_per_s = 1e9, .op_overhead_s = 1e-6, .active_w = 2};
    device.host = true;
    built = build_cost_graph(graph, device, {}).value();
  }
  MeasuredCosts measured(ProfileStore& store, MeasuringLimits limits = {}) {
    limits.machine = "here";
    limits.compute = device.compute;
    return measure_costs({{graph, built}}, store, limits);
  }
  [[nodiscard]] Seconds time(size_t op = 0) const { return built.graph.ops[op].choices[0].time_s; }

  ir::Graph graph;
  DeviceProfile device;
  BuiltCostGraph built;
};

// Two products of the same shapes, a third one, and a relu.
ir::Graph chain() {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", {ir::DType::kF32, {8, 8}});
  const ir::ValueId w = builder.input("w", {ir::DType::kF32, {8, 8}}),
                    v = builder.input("v", {ir::DType::kF32, {8, 4}});
  const ir::ValueId one = builder.op(ir::Kind::k_matmul, "one", {x, w}, {{0, 0}, {}});
  const ir::ValueId two = builder.op(ir::Kind::k_matmul, "two", {one, w}, {{0, 0}, {}});
  const ir::ValueId three = builder.op(ir::Kind::k_matmul, "three", {two, v}, {{0, 0}, {}});
  builder.op(ir::Kind::k_relu, "four", {three}, {});
  return graph;
}

TEST_F(Measure, MeasuresAnOpOnceForEachShape) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  Modelled first(chain());
  const MeasuredCosts measured = first.measured(**store);
  EXPECT_EQ(measured.known, 0U);
  EXPECT_EQ(measured.now, measured.kernels);
  EXPECT_EQ(measured.share, 1);
  EXPECT_FALSE(measured.store_failure);
  EXPECT_GT(first.time(), 0);
  EXPECT_EQ(first.time(0), first.time(1));
  EXPECT_EQ(first.built.graph.ops[0].choices[0].energy_j, 2 * first.time());

  Modelled again(chain());
  const MeasuredCosts known = again.measured(**store);
  EXPECT_EQ(known.now, 0U);
  EXPECT_EQ(known.known, known.kernels);
  for (size_t op = 0; op < 4; ++op) EXPECT_EQ(again.time(op), first.time(op));
}

TEST_F(Measure, HasAKeyForAllThatATimeDependsOn) {
  const ir::Graph small = product(2), large = product(512);
  const auto kernel = ir::kernel_of(small, small.ops[0], *pt_portable_kernels(), 0);
  ASSERT_NE(kernel, nullptr);
  const OpKey key = op_key(small, small.ops[0], *kernel, 1, "here");
  EXPECT_EQ(key, op_key(small, small.ops[0], *kernel, 1, "here"));
  EXPECT_NE(key, op_key(large, large.ops[0], *kernel, 1, "here"));
  EXPECT_NE(key, op_key(small, small.ops[0], *kernel, 2, "here"));
  EXPECT_NE(key, op_key(small, small.ops[0], *kernel, 1, "there"));
}

TEST_F(Measure, TakesKnownTimesAndScalesTheModelOfTheOthers) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  Modelled modelled(chain());
  const pt_kernel& kernel = *modelled.built.kernel_of[0][0];
  ASSERT_TRUE((*store)->put_op(op_key(modelled.graph, modelled.graph.ops[0], kernel, 1, "here"), sample(42)));
  const Seconds by_model = modelled.time(0), third = modelled.time(2), relu = modelled.time(3);
  const MeasuredCosts measured = modelled.measured(**store, {.seconds = 0});
  EXPECT_EQ(measured.now, 0U);
  EXPECT_EQ(measured.known, 1U);
  EXPECT_EQ(modelled.time(0), 42);
  EXPECT_EQ(modelled.time(1), 42);
  EXPECT_NEAR(modelled.time(2), third * 42 / by_model, 1e-9);  // of the same operator
  EXPECT_NEAR(modelled.time(3), relu * 42 / by_model, 1e-9);   // of all
  EXPECT_GT(measured.share, 0.5);
  EXPECT_LT(measured.share, 1);
}

// Small products take an overhead, large ones a rate: a factor for all of them would miss both.
TEST_F(Measure, FitsTheModelToWhatIsKnown) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  const Compute real{.flops_per_s = 2e8, .bytes_per_s = 4e9, .op_overhead_s = 2e-5};
  const auto taken = [&](const Modelled& of) {
    return modelled_seconds(real, work_of(of.graph, of.graph.ops[0], of.built.graph.ops[0].choices[0].workspace_bytes,
                                          of.built.kernel_of[0][0]));
  };
  ir::Graph all;
  ir::Builder builder(all);
  std::vector<Seconds> expected;
  std::vector<bool> known;
  for (const int64_t size : {2, 3, 5, 8, 16, 24, 48, 64, 96, 192, 256, 512, 1024, 4096}) {
    const Modelled alone(product(size));
    expected.push_back(taken(alone));
    known.push_back(expected.size() % 3 != 0);
    const OpKey key = op_key(alone.graph, alone.graph.ops[0], *alone.built.kernel_of[0][0], 1, "here");
    ASSERT_TRUE(!known.back() || (*store)->put_op(key, sample(expected.back())));
    const ir::ValueId x = builder.input(fmt::format("x{}", size), {ir::DType::kF32, {size, 8}});
    const ir::ValueId w = builder.input(fmt::format("w{}", size), {ir::DType::kF32, {8, 4}});
    builder.op(ir::Kind::k_matmul, fmt::format("y{}", size), {x, w}, {{0, 0}, {}});
  }
  Modelled modelled(std::move(all));
  EXPECT_EQ(modelled.measured(**store, {.seconds = 0}).now, 0U);
  for (size_t op = 0; op < expected.size(); ++op)
    EXPECT_NEAR(modelled.time(op) / expected[op], 1, known[op] ? 1e-12 : 0.2) << op;
}

TEST_F(Measure, LeavesTheModelWhereThereIsNoTimeOrMemory) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  Modelled modelled(chain());
  const Seconds by_model = modelled.time();
  EXPECT_EQ(modelled.measured(**store, {.seconds = 0}).now, 0U);
  const MeasuredCosts large = modelled.measured(**store, {.memory_bytes = 16});
  EXPECT_EQ(large.now, 0U);
  EXPECT_EQ(large.too_large, large.kernels);
  EXPECT_EQ(large.share, 0);
  EXPECT_EQ(modelled.time(), by_model);
}

TEST_F(Measure, TellsHowFarItIs) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  std::vector<size_t> told;
  size_t ends = 0;
  Modelled modelled(chain());
  const auto hear = [&](size_t done, size_t all, bool last) {
    told.push_back(done);
    ends += last ? 1 : 0;
    EXPECT_LE(done, all);
  };
  const MeasuredCosts measured = modelled.measured(**store, {.progress = hear});
  EXPECT_EQ(ends, 1U);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), measured.kernels);
  (void)modelled.measured(**store, {.progress = hear});  // all is known: nothing to tell
  EXPECT_EQ(ends, 1U);
}

TEST_F(Measure, StopsWhereItIsAsked) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(Modelled(chain()).measured(**store, {.stop = stop.get_token()}).now, 0U);
}

TEST_F(Measure, MeasuresAnewWhereAsked) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  Modelled modelled(product(2));
  const OpKey key = op_key(modelled.graph, modelled.graph.ops[0], *modelled.built.kernel_of[0][0], 1, "here");
  ASSERT_TRUE((*store)->put_op(key, sample(42)));
  EXPECT_GT(modelled.measured(**store, {.anew = true}).now, 0U);
  EXPECT_LT(modelled.time(), 1);
  const auto found = (*store)->find_op(key).value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->seconds, modelled.time());
}

TEST_F(Measure, HasTheIntervalOfAMedian) {
  EXPECT_EQ(sample_of({5}).seconds, 5);
  EXPECT_EQ(sample_of({3, 1, 2}).low_s, 1);
  EXPECT_EQ(sample_of({3, 1, 2}).high_s, 3);
  std::vector<Seconds> many;
  for (int run = 1; run <= 100; ++run) many.push_back(run);
  const OpSample sample = sample_of(many);
  EXPECT_EQ(sample.seconds, 51);
  // Ranks 40 and 61 of 100 hold the median with 95%; counted outwards.
  EXPECT_GE(sample.low_s, 39);
  EXPECT_LE(sample.low_s, 41);
  EXPECT_GE(sample.high_s, 60);
  EXPECT_LE(sample.high_s, 62);
  EXPECT_FALSE(is_settled(sample));
  EXPECT_FALSE(is_settled(sample_of({1, 1, 1, 1, 1}))) << "five are too few";
  EXPECT_TRUE(is_settled(sample_of({1, 1, 1, 1, 1, 1.02})));
}

// A chain whose tensors do not fit the cache, all of them or none.
TEST_F(Measure, TakesAnOpForAsWarmAsTheStepLeavesItsOperands) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  Modelled modelled(chain());
  for (size_t op = 0; op < 4; ++op) {
    const OpKey key = op_key(modelled.graph, modelled.graph.ops[op], *modelled.built.kernel_of[op][0], 1, "here");
    ASSERT_TRUE((*store)->put_op(key, {.seconds = 3, .low_s = 3, .high_s = 3, .warm_s = 1, .runs = 9}));
  }
  MeasuringLimits limits{.seconds = 0};
  (void)modelled.measured(**store, limits);
  EXPECT_EQ(modelled.time(1), 3);  // no cache is known of
  limits.cache_bytes = 1 << 20;
  Modelled warm(chain());
  (void)warm.measured(**store, limits);
  for (size_t op = 0; op < 4; ++op) EXPECT_EQ(warm.time(op), 1);
  limits.cache_bytes = 256;  // one tensor of 8 x 8 numbers
  Modelled between(chain());
  (void)between.measured(**store, limits);
  EXPECT_DOUBLE_EQ(between.time(0), 1 + 2 * (2.5 / 3));  // x and w have left; half of what y takes was freed just now
  EXPECT_DOUBLE_EQ(between.time(1), 1 + 2 * (2.0 / 3));  // what was just computed is there
}

// Two threads of which one has no processor at first: they compute as one. Later half of the work stands for all of it.
struct LateProcessor {
  int missing_runs = 0, kernels_meanwhile = 0;

  static void run(void* self, size_t count, void (*body)(void*, size_t, size_t), void* arg) {
    auto& late = *static_cast<LateProcessor*>(self);
    const bool missing = late.missing_runs > 0;
    late.missing_runs -= missing ? 1 : 0;
    late.kernels_meanwhile += missing && count != 2 ? 1 : 0;  // two: a whole chain each, which tells
    body(arg, 0, missing ? count : count / 2);
  }
};

TEST_F(Measure, WaitsForProcessorsThatAreMissing) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", {ir::DType::kF32, {256, 64}});
  const ir::ValueId w = builder.input("w", {ir::DType::kF32, {64, 256}});
  builder.op(ir::Kind::k_matmul, "y", {x, w}, {{0, 0}, {}});
  LateProcessor late{.missing_runs = 30};
  const pt_pool pool{.context = &late, .threads = 2, .run = LateProcessor::run};
  Modelled modelled(std::move(graph));
  StepFactors factors;
  EXPECT_GT(modelled.measured(**store, {.pool = &pool, .in_step = &factors, .runs_step = true}).now, 0U);
  EXPECT_EQ(late.missing_runs, 0);
  EXPECT_EQ(late.kernels_meanwhile, 0);

  constexpr int kForever = std::numeric_limits<int>::max();
  LateProcessor never{.missing_runs = kForever};  // a part of the time is waited for nothing
  const pt_pool short_of_one{.context = &never, .threads = 2, .run = LateProcessor::run};
  Modelled anew(product(512));
  EXPECT_GT(anew.measured(**store, {.seconds = 1, .pool = &short_of_one}).now, 0U);
}

// Both ways of knowing what an op takes are there: of the two, the step's counts.
TEST_F(Measure, TakesOpsForWhatTheyTakeInTheStep) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  StepFactors factors;
  Modelled modelled(chain());
  const MeasuredCosts costs = modelled.measured(**store, {.seconds = 10, .in_step = &factors, .runs_step = true});
  ASSERT_TRUE(factors.usual);
  EXPECT_DOUBLE_EQ(costs.share, 1);
  ASSERT_EQ(costs.found.size(), 3U) << "two products are of one kernel";
  Seconds by_ops = 0, in_step = 0;
  for (const FoundKernel& found : costs.found) {
    ASSERT_TRUE(found.in_step_s) << found.key.op;
    in_step += found.times * *found.in_step_s;
  }
  for (size_t op = 0; op < 4; ++op) by_ops += modelled.time(op);
  EXPECT_NEAR(by_ops, in_step, 1e-6 * in_step);

  StepFactors known;  // a step is run once
  Modelled again(chain());
  (void)again.measured(**store, {.seconds = 0, .in_step = &known, .runs_step = true});
  for (size_t op = 0; op < 4; ++op) EXPECT_NEAR(again.time(op), modelled.time(op), 1e-6 * modelled.time(op));

  StepFactors of_other;  // of which nothing is known
  Modelled other(product(5));
  (void)other.measured(**store, {.seconds = 0, .in_step = &of_other, .runs_step = true});
  EXPECT_FALSE(of_other.usual);
}

// A choice that seems quicker than its op's first is run where it stands in the step, too; one that does not is not.
TEST_F(Measure, TakesQuickerChoicesForWhatTheyTakeInTheStep) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  constexpr size_t kOp = 1;
  pt_kernel quick{}, slow{};
  const auto with_choices = [&](Modelled& modelled) {
    quick = slow = *modelled.built.kernel_of[kOp][0];
    quick.algorithm_name = "quick", slow.algorithm_name = "slow";
    for (const pt_kernel* kernel : {&quick, &slow}) {
      modelled.built.graph.ops[kOp].choices.push_back(modelled.built.graph.ops[kOp].choices.front());
      modelled.built.kernel_of[kOp].push_back(kernel);
      modelled.built.computed_as[kOp].push_back(modelled.built.computed_as[kOp].front());
      modelled.built.threads_of[kOp].push_back(0);
    }
  };
  Modelled modelled(chain());
  with_choices(modelled);
  const auto key = [&](const pt_kernel& kernel) {
    return op_key(modelled.graph, modelled.graph.ops[kOp], kernel, 1, "here");
  };
  for (const auto& [kernel, seconds] :
       {std::pair(modelled.built.kernel_of[kOp][0], 3e-6), {&quick, 2e-6}, {&slow, 4e-6}})
    ASSERT_TRUE((*store)->put_op(
        key(*kernel), {.seconds = seconds, .low_s = seconds, .high_s = seconds, .warm_s = seconds, .runs = 9}));
  const auto times = [](const Modelled& of) {
    std::vector<Seconds> seconds;
    for (const problem::Choice& choice : of.built.graph.ops[kOp].choices) seconds.push_back(choice.time_s);
    return seconds;
  };
  StepFactors factors;
  const MeasuredCosts costs = modelled.measured(**store, {.seconds = 10, .in_step = &factors, .runs_step = true});
  ASSERT_EQ(factors.of_other.size(), 1U);
  ASSERT_TRUE(factors.of_other.contains(text_of(key(quick))));
  for (const FoundKernel& found : costs.found) {
    EXPECT_EQ(found.in_step_s.has_value(), found.key.algorithm != "slow") << found.key.algorithm;
    if (found.key.algorithm != "quick") continue;
    EXPECT_NEAR(times(modelled)[1], *found.in_step_s, 1e-6 * *found.in_step_s);
  }
  EXPECT_NEAR(times(modelled)[2], times(modelled)[0] * 4 / 3, 1e-6 * times(modelled)[2]) << "by its op's first choice";

  StepFactors known;  // and kept
  Modelled again(chain());
  with_choices(again);
  (void)again.measured(**store, {.seconds = 0, .in_step = &known, .runs_step = true});
  EXPECT_EQ(known.of_other.size(), 1U);
  for (size_t choice = 0; choice < 3; ++choice)
    EXPECT_NEAR(times(again)[choice], times(modelled)[choice], 1e-6 * times(modelled)[choice]);
}

// The model errs by more than two measurements differ.
TEST_F(Measure, TakesNoChoiceForQuickerByTheModelAloneButForClearlyQuicker) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  Modelled modelled(product(512));
  std::vector<pt_kernel> others(2, *modelled.built.kernel_of[0][0]);
  others[0].algorithm_name = "little", others[1].algorithm_name = "clear";
  const auto key = op_key(modelled.graph, modelled.graph.ops[0], *modelled.built.kernel_of[0][0], 1, "here");
  ASSERT_TRUE((*store)->put_op(key, sample(1)));
  std::vector<problem::Choice>& choices = modelled.built.graph.ops[0].choices;
  for (size_t other = 0; other < 2; ++other) {
    choices.push_back(choices.front());
    choices.back().time_s *= other == 0 ? 0.9 : 0.5;
    modelled.built.kernel_of[0].push_back(&others[other]);
    modelled.built.computed_as[0].push_back(modelled.built.computed_as[0].front());
    modelled.built.threads_of[0].push_back(0);
  }
  EXPECT_EQ(modelled.measured(**store, {.seconds = 0}).known, 1U);
  EXPECT_EQ(choices[0].time_s, 1);
  EXPECT_EQ(choices[1].time_s, 1);
  EXPECT_NEAR(choices[2].time_s, 0.5, 0.01);
}

// Two graphs of one step are compared: what was found of the first counts for both.
TEST_F(Measure, TakesOtherGraphsOpsForWhatTheirLikeTakeInTheStep) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  Modelled first(chain()), other(product(5));
  for (Modelled* of : {&first, &other})
    for (size_t op = 0; op < of->graph.ops.size(); ++op)
      ASSERT_TRUE((*store)->put_op(op_key(of->graph, of->graph.ops[op], *of->built.kernel_of[op][0], 1, "here"),
                                   {.seconds = 3, .low_s = 3, .high_s = 3, .warm_s = 3, .runs = 9}));
  StepFactors factors{
      .of_op = {{text_of(op_key(first.graph, first.graph.ops[0], *first.built.kernel_of[0][0], 1, "here")), 0.5}},
      .of_kind = {{"relu", 3}},
      .usual = 2};
  (void)first.measured(**store, {.seconds = 0, .in_step = &factors});
  (void)other.measured(**store, {.seconds = 0, .in_step = &factors});
  EXPECT_DOUBLE_EQ(first.time(0), 1.5);
  EXPECT_DOUBLE_EQ(first.time(2), 6);
  EXPECT_DOUBLE_EQ(first.time(3), 9) << "of its operator";
  EXPECT_DOUBLE_EQ(other.time(0), 6);
}

// Its weight's bytes become the new weight's, as in a step: kernels that only change some rows do not copy the others.
TEST_F(Measure, MeasuresAnUpdateOverWhatItReplaces) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId w = builder.parameter("w", {ir::DType::kF32, {8}}, nullptr);
  const ir::ValueId g = builder.input("g", {ir::DType::kF32, {8}});
  const ir::ValueId next = builder.op(ir::Kind::k_add, "w#2", {w, g}, {});
  graph.values[static_cast<size_t>(w)].next = next;
  static const void *read = nullptr, *written = nullptr;
  pt_kernel kernel{};
  kernel.submit = [](const pt_call* call) {
    read = call->inputs[0].data, written = call->outputs[0].data;
    return PT_OK;
  };
  KernelBench bench(nullptr, 1 << 16, 1 << 20);
  ASSERT_TRUE(bench.measure(graph, graph.ops[0], kernel, {.slice = 0}));
  EXPECT_EQ(read, written);
}

TEST_F(Measure, SettlesWhatIsKnownTooVaguely) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  Modelled modelled(product(2));
  const OpKey key = op_key(modelled.graph, modelled.graph.ops[0], *modelled.built.kernel_of[0][0], 1, "here");
  ASSERT_TRUE((*store)->put_op(key, {.seconds = 42, .low_s = 1, .high_s = 80, .runs = 3}));
  EXPECT_EQ(modelled.measured(**store).now, 0U);
  const MeasuredCosts settled = modelled.measured(**store, {.settle = true});
  EXPECT_GT(settled.now, 0U);
  const auto found = (*store)->find_op(key).value();
  ASSERT_TRUE(found);
  EXPECT_LT(found->seconds, 1);
  EXPECT_TRUE(found->warm_s);
  EXPECT_LE(found->low_s, found->seconds);
  EXPECT_GE(found->high_s, found->seconds);
  ASSERT_EQ(settled.found.size(), settled.kernels);
  EXPECT_EQ(settled.found.front().times, 1);
}

TEST_F(Measure, TakesJoulesOfAMeter) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  Modelled modelled(product(2));
  int runs = 0;
  MeasuringLimits limits;
  limits.energy_of = [&](const std::function<bool()>& run) -> std::optional<MeteredEnergy> {
    for (int time = 0; time < 10; ++time) runs += run() ? 1 : 0;
    return MeteredEnergy{7, "a meter"};
  };
  (void)modelled.measured(**store, limits);
  EXPECT_GE(runs, 10);
  EXPECT_EQ(modelled.built.graph.ops[0].choices[0].energy_j, 7);
  runs = 0;
  Modelled again(product(2));
  (void)again.measured(**store, limits);
  EXPECT_EQ(runs, 0) << "never twice";
  EXPECT_EQ(again.built.graph.ops[0].choices[0].energy_j, 7);
}

TEST_F(Measure, GoesOnWithoutAStoreThatFails) {
  const auto store = ProfileStore::open(path("held"));
  ASSERT_TRUE(store);
  RawSqlite other(path("held"));
  other.run("BEGIN EXCLUSIVE");
  Modelled modelled(chain());
  const MeasuredCosts measured = modelled.measured(**store);
  ASSERT_TRUE(measured.store_failure);
  EXPECT_EQ(measured.store_failure->code, "E0275");
  EXPECT_EQ(measured.now, measured.kernels);
}

}  // namespace
}  // namespace pantoum::cost
