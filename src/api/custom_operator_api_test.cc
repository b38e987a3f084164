#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "api/fixture.h"

namespace pantoum::api {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

Result<std::vector<TensorType>> as_first(const Operands& operands) {
  if (operands.inputs.size() != 1) return fail("", "it takes one input");
  return std::vector<TensorType>{operands.inputs[0]};
}

float sigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

// x s(b x), b an attribute; its gradient reads the input alone.
CustomOperator swish(const std::string& name) {
  return {.name = name,
          .shape = as_first,
          .kernel = [](const KernelCall& call) -> Result<void> {
            const auto x = call.inputs()[0].as<float>(), y = call.outputs()[0].as<float>();
            const auto b = static_cast<float>(call.reals()[0]);
            call.parallel_for(x.size(), [&](size_t begin, size_t end) {
              for (size_t at = begin; at < end; ++at) y[at] = x[at] * sigmoid(b * x[at]);
            });
            return {};
          },
          .gradients = {{.of = {0},
                         .reads_inputs = {0},
                         .kernel = [](const KernelCall& call) -> Result<void> {
                           const auto dy = call.inputs()[0].as<float>(), x = call.inputs()[1].as<float>();
                           const auto dx = call.outputs()[0].as<float>();
                           const auto b = static_cast<float>(call.reals()[0]);
                           for (size_t at = 0; at < x.size(); ++at) {
                             const float s = sigmoid(b * x[at]);
                             dx[at] = dy[at] * (s + b * x[at] * s * (1 - s));
                           }
                           return {};
                         }}},
          .reals = {{.name = "beta", .otherwise = 1}}};
}

auto node_of(const std::string& type, const Attributes& attributes = {}) {
  return [=](ModelBuilder& net, const Tensor& x) {
    return net.node(type, {x}, {.attributes = attributes, .domain = "test.ops", .types = {{x.dtype(), x.shape()}}})
        .front();
  };
}

Result<Plan> plan_with(const std::string& type, const PlanOptions& options = quick(),
                       const Attributes& attributes = {}) {
  PANTOUM_ASSIGN(const Model model, classifier({.batch = kBatch}, node_of(type, attributes)));
  return Plan::make(model, device("host"), options);
}

TEST(CustomOperatorApi, TrainsAsTheOperatorThatItIs) {
  ASSERT_TRUE(add_operator(swish("test.ops::Swish")));
  const Result<Plan> plan = plan_with("Swish");
  ASSERT_TRUE(plan) << to_text(plan.error());
  const Plan built_in = Plan::make(classifier().value(), device("host"), quick()).value();
  const std::vector<double> losses = losses_of(*plan, 10).value(), expected = losses_of(built_in, 10).value();
  for (size_t step = 0; step < losses.size(); ++step) EXPECT_NEAR(losses[step], expected[step], 1e-4) << step;
}

TEST(CustomOperatorApi, ReadsTheAttributesOfItsNode) {
  ASSERT_TRUE(add_operator(swish("test.ops::Bent")));
  const std::vector<double> one = losses_of(plan_with("Bent").value(), 2).value();
  const std::vector<double> same = losses_of(plan_with("Bent", quick(), {{"beta", 1.0}}).value(), 2).value();
  const std::vector<double> two = losses_of(plan_with("Bent", quick(), {{"beta", 2.0}}).value(), 2).value();
  EXPECT_THAT(same, ElementsAreArray(one));
  EXPECT_NE(two[0], one[0]);
  EXPECT_THAT(to_text(plan_with("Bent", quick(), {{"gamma", 2.0}}).error()), HasSubstr("gamma"));
}

// Computed again and paged: the same bits.
TEST(CustomOperatorApi, IsPlannedAsAllOthers) {
  ASSERT_TRUE(add_operator(swish("test.ops::Planned")));
  const Plan unlimited = plan_with("Planned").value();
  PlanOptions options = quick();
  options.ram = Bytes(unlimited.facts().unplanned_peak_bytes * 8 / 10);
  const Result<Plan> tight = plan_with("Planned", options);
  ASSERT_TRUE(tight) << to_text(tight.error());
  EXPECT_TRUE(tight->verify());
  EXPECT_THAT(losses_of(*tight, 5).value(), ElementsAreArray(losses_of(unlimited, 5).value()));
}

TEST(CustomOperatorApi, IsNeverComputedAgainWhereItIsNotDeterministic) {
  CustomOperator op = swish("test.ops::Once");
  op.deterministic = false;
  ASSERT_TRUE(add_operator(std::move(op)));
  PlanOptions options = quick();
  options.ram = Bytes(plan_with("Once").value().facts().unplanned_peak_bytes * 8 / 10);
  const Plan plan = plan_with("Once", options).value();
  const std::string json = plan.to_json();
  EXPECT_THAT(json, HasSubstr("\"recompute\": false"));
}

TEST(CustomOperatorApi, IsRefusedWhereItsGradientIsMissing) {
  CustomOperator op = swish("test.ops::Forward");
  op.gradients.clear();
  ASSERT_TRUE(add_operator(std::move(op)));
  const Result<Plan> plan = plan_with("Forward");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, "E0402");
}

// It is planned for a device by its flops; a project for one would lack the kernel.
TEST(CustomOperatorApi, IsPlannedForADeviceAndNotEmitted) {
  ASSERT_TRUE(add_operator(swish("test.ops::HostOnly")));
  const std::string file = testing::TempDir() + "/custom.onnx", plan_file = testing::TempDir() + "/custom.plan.json";
  ASSERT_TRUE(classifier({.batch = kBatch}, node_of("HostOnly")).value().save(file));
  const Model model = Model::from_file(file, {.batch = kBatch}).value();
  const Result<Plan> plan = Plan::make(model, device("m4"), quick());
  ASSERT_TRUE(plan) << to_text(plan.error());
  ASSERT_TRUE(plan->save(plan_file));
  const Result<FirmwareSizes> emitted =
      emit_project(plan_file, {.target = "cortex-m4f", .folder = testing::TempDir() + "/custom-firmware"});
  ASSERT_FALSE(emitted);
  EXPECT_EQ(emitted.error().code, "E0291") << to_text(emitted.error());
  EXPECT_THAT(to_text(emitted.error()), HasSubstr("custom"));
}

TEST(CustomOperatorApi, TellsWhatItsRulesAndKernelsRefuse) {
  CustomOperator picky = swish("test.ops::Picky");
  picky.shape = [](const Operands&) -> Result<std::vector<TensorType>> { return fail("", "no shape pleases it"); };
  ASSERT_TRUE(add_operator(std::move(picky)));
  EXPECT_THAT(to_text(plan_with("Picky").error()), HasSubstr("no shape pleases it"));

  CustomOperator throws = swish("test.ops::Throws");
  throws.shape = [](const Operands&) -> Result<std::vector<TensorType>> { throw std::runtime_error("what a rule"); };
  ASSERT_TRUE(add_operator(std::move(throws)));
  EXPECT_THAT(to_text(plan_with("Throws").error()), HasSubstr("what a rule"));

  CustomOperator fails = swish("test.ops::Fails");
  fails.kernel = [](const KernelCall&) -> Result<void> { return fail("", "the sensor is gone"); };
  ASSERT_TRUE(add_operator(std::move(fails)));
  EXPECT_THAT(to_text(losses_of(plan_with("Fails").value(), 1).error()), HasSubstr("the sensor is gone"));

  CustomOperator dies = swish("test.ops::Dies");
  dies.kernel = [](const KernelCall&) -> Result<void> { throw 7; };
  ASSERT_TRUE(add_operator(std::move(dies)));
  EXPECT_EQ(losses_of(plan_with("Dies").value(), 1).error().code, "E0107");
}

TEST(CustomOperatorApi, RefusesOperatorsThatAreNone) {
  EXPECT_EQ(add_operator({}).error().code, "E0106");
  for (const char* name : {"", "Swish", "::Swish", "test.ops::", "ai.onnx::Relu", "a b::C", "a::b::c", "a::b\n"})
    EXPECT_EQ(add_operator(swish(name)).error().code, "E0106") << name;
  ASSERT_TRUE(add_operator(swish("test.ops::Twice")));
  EXPECT_EQ(add_operator(swish("test.ops::Twice")).error().code, "E0106");
  CustomOperator two = swish("test.ops::TwoOfOne");
  two.gradients.push_back(two.gradients.front());
  EXPECT_EQ(add_operator(std::move(two)).error().code, "E0106");
  EXPECT_FALSE(plan_with("NeverAdded"));
}

TEST(CustomOperatorApi, TellsOfRulesThatDoNotSuitItsNodes) {
  const auto told = [](const std::string& type, const auto& change) {
    CustomOperator op = swish("test.ops::" + type);
    change(op);
    if (const Result<void> added = add_operator(std::move(op)); !added) return to_text(added.error());
    const Result<Plan> plan = plan_with(type);
    return plan ? std::string() : to_text(plan.error());
  };
  EXPECT_THAT(told("ReadsBeyond", [](CustomOperator& op) { op.gradients[0].reads_inputs = {7}; }),
              HasSubstr("reads an operand that is not there"));
  EXPECT_THAT(told("ReadsBefore", [](CustomOperator& op) { op.gradients[0].reads_outputs = {-1}; }),
              HasSubstr("reads operand -1"));
  EXPECT_THAT(told("Overwrites", [](CustomOperator& op) { op.in_place = {{-1, 0}}; }), HasSubstr("output -1"));
  EXPECT_THAT(told("NoFlops", [](CustomOperator& op) { op.flops = [](const Operands&) { return std::nan(""); }; }),
              HasSubstr("nan flops"));
  EXPECT_THAT(told("FlopsThrow",
                   [](CustomOperator& op) {
                     op.flops = [](const Operands&) -> double { throw std::runtime_error("no idea"); };
                   }),
              HasSubstr("no idea"));
}

// What one run's kernel says is not said of another run.
TEST(CustomOperatorApi, ItsErrorIsToldOnce) {
  CustomOperator fails = swish("test.ops::FailsOnce");
  fails.kernel = [](const KernelCall&) -> Result<void> { return fail("", "my kernel says no"); };
  ASSERT_TRUE(add_operator(std::move(fails)));
  PlanOptions measured = quick();
  measured.measure = Measure::all;
  (void)plan_with("FailsOnce", measured);
  ModelBuilder net("embedded");
  net.output(
      "y",
      net.linear(net.flatten(net.embedding(net.input("x", {2}, DType::i64), {.rows = 5, .columns = 3, .name = "e"})),
                 {.features = 2, .name = "o"}));
  const Plan plan =
      Plan::make(Model::from_onnx(net.onnx().value(), {.batch = 2}).value(), device("host"), quick()).value();
  Trainer trainer = Trainer::create(plan).value();
  const std::vector<int64_t> x{1, 2, 99, 0}, y{0, 1};
  const Result<StepStats> step = trainer.step({x, y});
  ASSERT_FALSE(step);
  EXPECT_THAT(to_text(step.error()), testing::Not(HasSubstr("my kernel says no")));
}

// Two inputs, two outputs, workspace, a gradient for each input: a - b and a + b through a copy.
TEST(CustomOperatorApi, HasSeveralOperandsAndWorkspace) {
  const auto both = [](const KernelCall& call, float sign_of_b) -> Result<void> {
    const auto a = call.inputs()[0].as<float>(), b = call.inputs()[1].as<float>();
    const std::span<float> copy(reinterpret_cast<float*>(call.workspace()), a.size());
    std::copy(a.begin(), a.end(), copy.begin());
    for (size_t at = 0; at < a.size(); ++at) call.outputs()[0].as<float>()[at] = copy[at] + sign_of_b * b[at];
    return {};
  };
  const auto bytes_of = [](const Operands& operands) {
    size_t bytes = 4;
    for (const int64_t extent : operands.inputs[0].shape) bytes *= static_cast<size_t>(extent);
    return bytes;
  };
  CustomOperator op{.name = "test.ops::SumAndDifference",
                    .shape = [](const Operands& operands) -> Result<std::vector<TensorType>> {
                      if (operands.inputs.size() != 2 || !(operands.inputs[0] == operands.inputs[1]))
                        return fail("", "it takes two inputs of one type");
                      return std::vector<TensorType>{operands.inputs[0], operands.inputs[0]};
                    },
                    .kernel = [](const KernelCall& call) -> Result<void> {
                      const auto a = call.inputs()[0].as<float>(), b = call.inputs()[1].as<float>();
                      const std::span<float> copy(reinterpret_cast<float*>(call.workspace()), a.size());
                      std::copy(a.begin(), a.end(), copy.begin());
                      for (size_t at = 0; at < a.size(); ++at) {
                        call.outputs()[0].as<float>()[at] = copy[at] + b[at];
                        call.outputs()[1].as<float>()[at] = copy[at] - b[at];
                      }
                      return {};
                    },
                    .gradients = {{.of = {0},
                                   .kernel = [both](const KernelCall& call) { return both(call, 1); },
                                   .workspace_bytes = size_t{4} * kBatch * 32},
                                  {.of = {1},
                                   .kernel = [both](const KernelCall& call) { return both(call, -1); },
                                   .workspace_bytes = size_t{4} * kBatch * 32}},
                    .workspace_bytes = bytes_of};
  ASSERT_TRUE(add_operator(std::move(op)));
  const auto net_with = [](const auto& join) {
    return classifier({.batch = kBatch}, [&](ModelBuilder& net, const Tensor& x) { return join(net, net.relu(x), x); });
  };
  const Model custom = net_with([](ModelBuilder& net, const Tensor& a, const Tensor& b) {
                         const ValueType type{a.dtype(), a.shape()};
                         const auto made = net.node("SumAndDifference", {a, b},
                                                    {.outputs = 2, .domain = "test.ops", .types = {type, type}});
                         return made[0] * made[1];
                       }).value();
  const Model plain =
      net_with([](ModelBuilder&, const Tensor& a, const Tensor& b) { return (a + b) * (a - b); }).value();
  const auto losses = [](const Model& model) {
    return losses_of(Plan::make(model, device("host"), quick()).value(), 4).value();
  };
  const std::vector<double> found = losses(custom), expected = losses(plain);
  for (size_t step = 0; step < found.size(); ++step) EXPECT_NEAR(found[step], expected[step], 1e-4);
}

// The optimizer that the project has too, with momentum as a state.
TEST(CustomOptimizerApi, UpdatesAsTheOptimizerThatItIs) {
  ASSERT_TRUE(add_optimizer(
      {.name = "test.ops::Momentum", .states = {"velocity"}, .kernel = [](const KernelCall& call) -> Result<void> {
         const auto w = call.inputs()[0].as<float>(), g = call.inputs()[1].as<float>(),
                    v = call.inputs()[2].as<float>();
         const auto new_w = call.outputs()[0].as<float>(), new_v = call.outputs()[1].as<float>();
         const auto momentum = static_cast<float>(call.reals()[0]);
         const auto lr = static_cast<float>(call.lr());
         for (size_t at = 0; at < w.size(); ++at) {
           new_v[at] = momentum * v[at] + g[at];
           new_w[at] = w[at] - lr * new_v[at];
         }
         return {};
       }}));
  const auto losses_with = [](const Optimizer& optimizer) {
    const Model model = classifier({.batch = kBatch, .optimizer = optimizer}).value();
    const Plan plan = Plan::make(model, device("host"), quick()).value();
    return losses_of(plan, 10).value();
  };
  const std::vector<double> own =
      losses_with(CustomUpdate{.name = "test.ops::Momentum", .lr = 0.05, .settings = {0.9}});
  const std::vector<double> expected = losses_with(Sgd{.lr = 0.05, .momentum = 0.9});
  for (size_t step = 0; step < own.size(); ++step) EXPECT_NEAR(own[step], expected[step], 1e-4) << step;
}

TEST(CustomOptimizerApi, KeepsItsStatesInCheckpoints) {
  ASSERT_TRUE(add_optimizer(
      {.name = "test.ops::Counts", .states = {"count"}, .kernel = [](const KernelCall& call) -> Result<void> {
         const auto w = call.inputs()[0].as<float>(), n = call.inputs()[2].as<float>();
         for (size_t at = 0; at < w.size(); ++at) {
           call.outputs()[1].as<float>()[at] = n[at] + 1;
           call.outputs()[0].as<float>()[at] = w[at];
         }
         return {};
       }}));
  const Model model = classifier({.batch = kBatch, .optimizer = CustomUpdate{.name = "test.ops::Counts"}}).value();
  const Plan plan = Plan::make(model, device("host"), quick()).value();
  Trainer first = Trainer::create(plan).value(), second = Trainer::create(plan).value();
  for (uint32_t step = 0; step < 3; ++step) {
    const Points batch = points(kBatch, step);
    ASSERT_TRUE(first.step({batch.x, batch.y}));
  }
  const std::string file = testing::TempDir() + "/counts.safetensors";
  ASSERT_TRUE(first.save(file));
  ASSERT_TRUE(second.resume(file));
  EXPECT_EQ(second.tensor("optim.count.fc1.weight").value().as<float>().front(), 3.0F);
}

}  // namespace
}  // namespace pantoum::api
