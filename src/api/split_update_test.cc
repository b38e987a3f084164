// Steps in two halves: Trainer::gradients and Trainer::update.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "api/fixture.h"

namespace pantoum::api {
namespace {

using testing::HasSubstr;

constexpr int64_t kImage = 8, kImageClasses = 4;

// Convolutions, running statistics, dropout, a weight that two layers share, one that is frozen.
Result<std::string> image_net() {
  ModelBuilder net("images", {.seed = 3});
  Tensor x = net.input("x", {1, kImage, kImage});
  x = net.conv2d(x, {.channels = 6, .kernel = 3, .padding = 1, .name = "conv1"});
  x = net.relu(net.batch_norm(x, {.name = "norm"}));
  x = net.max_pool2d(x, {.kernel = 2});
  x = net.relu(net.conv2d(x, {.channels = 8, .kernel = 3, .padding = 1, .name = "conv2"}));
  x = net.dropout(net.flatten(x), 0.25);
  x = net.relu(net.linear(x, {.features = 24, .name = "fc1"}));
  net.output("logits", net.linear(x, {.features = kImageClasses, .name = "fc2"}));
  return net.onnx();
}

Points images(int64_t count, uint32_t seed) {
  Points made;
  uint32_t state = seed * 2654435761U + 1;
  for (int64_t sample = 0; sample < count; ++sample) {
    made.y.push_back(sample % kImageClasses);
    for (int64_t pixel = 0; pixel < kImage * kImage; ++pixel) {
      state = state * 1664525U + 1013904223U;
      made.x.push_back(static_cast<float>(state >> 8) / 16777216.0F +
                       (pixel % kImageClasses == sample % kImageClasses ? 0.5F : 0.0F));
    }
  }
  return made;
}

Plan planned(ModelOptions model, const PlanOptions& options = quick()) {
  if (!model.batch) model.batch = kBatch;
  return Plan::make(Model::from_onnx(image_net().value(), std::move(model)).value(), device("host"), options).value();
}

using Contents = std::map<std::string, std::vector<std::byte>>;

std::vector<std::byte> contents_of(Trainer& trainer, const TensorInfo& tensor) {
  size_t bytes = element_size(tensor.dtype);
  for (const int64_t extent : tensor.shape) bytes *= static_cast<size_t>(extent);
  std::vector<std::byte> data(bytes);
  EXPECT_TRUE(trainer.read(tensor.name, data)) << tensor.name;
  return data;
}

Contents weights_of(Trainer& trainer) {
  Contents contents;
  for (const TensorInfo& tensor : trainer.tensors())
    if (!tensor.is_gradient) contents[tensor.name] = contents_of(trainer, tensor);
  return contents;
}

Contents trained(const Plan& plan, int steps) {
  Trainer trainer = Trainer::create(plan).value();
  for (int step = 0; step < steps; ++step) {
    const Points batch = images(trainer.samples_per_step(), static_cast<uint32_t>(step));
    const Result<StepStats> stats = trainer.step({batch.x, batch.y});
    EXPECT_TRUE(stats) << to_text(stats.error());
  }
  return weights_of(trainer);
}

TEST(SplitUpdate, GivesTheBitsOfTheFusedStep) {
  const std::vector<Optimizer> optimizers = {Sgd{.lr = 0.05},
                                             Sgd{.lr = 0.05, .momentum = 0.9, .weight_decay = 1e-3},
                                             Adam{},
                                             AdamW{},
                                             RmsProp{.centered = true},
                                             Adagrad{}};
  for (const Optimizer& optimizer : optimizers)
    for (const int64_t accumulate : {1, 3})
      for (const double clip_norm : {0.0, 0.3}) {
        ModelOptions model{.optimizer = optimizer, .accumulate = accumulate};
        if (clip_norm > 0) model.clip_value = clip_norm / 3, model.clip_norm = clip_norm;
        const Contents fused = trained(planned(model), 4);
        model.split_update = true;
        EXPECT_EQ(trained(planned(model), 4), fused) << optimizer.index() << " " << accumulate << " " << clip_norm;
      }
}

TEST(SplitUpdate, GivesTheSameBitsInEveryBudget) {
  for (const Kernels kernels : {Kernels::portable, Kernels::automatic}) {
    PlanOptions options = quick();
    options.kernels = kernels;
    const ModelOptions model{.batch = 4 * kBatch, .optimizer = Adam{}, .clip_norm = 1, .split_update = true};
    const Plan unlimited = planned(model, options);
    const Contents expected = trained(unlimited, 4);
    for (const int64_t percent : {95, 85, 78}) {
      options.ram = Bytes(unlimited.facts().unplanned_peak_bytes * percent / 100);
      const Plan tight = planned(model, options);
      EXPECT_LE(tight.facts().arena_bytes, options.ram->count());
      Trainer trainer = Trainer::create(tight).value();
      EXPECT_LE(trainer.usage().arena_bytes, static_cast<uint64_t>(options.ram->count())) << "of all programs";
      EXPECT_EQ(trained(tight, 4), expected) << percent;
    }
  }
}

// How many computes of the step a device runs.
size_t on_device(const Plan& plan) {
  const nlohmann::json json = nlohmann::json::parse(plan.to_json());
  size_t computes = 0;
  for (const nlohmann::json& step : json["instructions"])
    if (step["do"] == "compute") {
      const nlohmann::json& choice =
          json["graph"]["ops"][step["op"].get<size_t>()]["choices"][step["choice"].get<size_t>()];
      computes += choice.contains("engine") && choice["engine"] == "opencl0" ? 1 : 0;
    }
  return computes;
}

TEST(SplitUpdate, GivesTheSameBitsOnADeviceToo) {
  PlanOptions options = quick();
  options.engines = "cpu,opencl0";
  for (const int64_t accumulate : {1, 2}) {
    const ModelOptions model{
        .batch = kBatch, .optimizer = Adam{}, .clip_norm = 1, .accumulate = accumulate, .split_update = true};
    const Contents expected = trained(planned(model), 4);
    const Result<Plan> mixed =
        Plan::make(Model::from_onnx(image_net().value(), model).value(), device("host"), options);
    if (!mixed && mixed.error().code == "E0412") GTEST_SKIP() << mixed.error().message;
    ASSERT_TRUE(mixed) << to_text(mixed.error());
    EXPECT_GT(on_device(*mixed), 0U);
    EXPECT_EQ(trained(*mixed, 4), expected) << accumulate;
  }
}

TEST(SplitUpdate, TellsEachGradientOnceWhenItIsFinal) {
  for (const int64_t accumulate : {1, 2}) {
    const Plan plan = planned({.freeze = {"conv1*"}, .accumulate = accumulate, .split_update = true});
    Trainer trainer = Trainer::create(plan).value();
    const Points batch = images(trainer.samples_per_step(), 5);
    for (int step = 0; step < 2; ++step) {
      Contents told;
      std::vector<std::string> order;
      const Result<StepStats> stats = trainer.gradients({batch.x, batch.y}, [&](const TensorView& gradient) {
        EXPECT_FALSE(gradient.data.empty());
        told[std::string(gradient.name)] = {gradient.data.begin(), gradient.data.end()};
        order.emplace_back(gradient.name);
        // As one of several machines would, while backward goes on.
        for (float& value : gradient.as<float>()) value = -value;
      });
      ASSERT_TRUE(stats) << to_text(stats.error());
      EXPECT_EQ(stats->step, static_cast<uint64_t>(step) + 1);
      EXPECT_EQ(trainer.steps_done(), static_cast<uint64_t>(step));
      size_t gradients = 0;
      for (const TensorInfo& tensor : trainer.tensors()) {
        if (!tensor.is_gradient) continue;
        ++gradients;
        EXPECT_THAT(tensor.name, Not(HasSubstr("conv1")));
        std::vector<std::byte> turned = told.at(tensor.name);
        for (size_t at = 3; at < turned.size(); at += 4) turned[at] ^= std::byte{0x80};
        EXPECT_EQ(contents_of(trainer, tensor), turned) << tensor.name << ": what is written is kept";
      }
      EXPECT_EQ(gradients, 8U) << "norm, conv2, fc1, fc2: weight and bias";
      EXPECT_EQ(order.size(), gradients);
      EXPECT_THAT(order.front(), HasSubstr("fc2"));
      ASSERT_TRUE(trainer.update());
      EXPECT_EQ(trainer.steps_done(), static_cast<uint64_t>(step) + 1);
    }
  }
}

// What two machines do: the mean of their gradients is that of both batches together.
TEST(SplitUpdate, OfTheMeanOfTwoTrainersIsTheStepOfBothBatches) {
  const auto net = [](int64_t batch, bool split) {
    const Model model =
        classifier({.batch = batch, .optimizer = Adam{}, .clip_norm = 0.5, .split_update = split}).value();
    return Trainer::create(Plan::make(model, device("host"), quick()).value()).value();
  };
  Trainer whole = net(2 * kBatch, false), one = net(kBatch, true), other = net(kBatch, true);
  for (uint32_t step = 0; step < 5; ++step) {
    const Points batch = points(2 * kBatch, step);
    ASSERT_TRUE(whole.step({batch.x, batch.y}));
    const std::span<const float> x(batch.x);
    const std::span<const int64_t> y(batch.y);
    ASSERT_TRUE(one.gradients({x.first(kBatch * kFeatures), y.first(kBatch)}));
    ASSERT_TRUE(other.gradients({x.last(kBatch * kFeatures), y.last(kBatch)}));
    for (const TensorInfo& tensor : one.tensors()) {
      if (!tensor.is_gradient) continue;
      const auto a = one.tensor(tensor.name)->as<float>(), b = other.tensor(tensor.name)->as<float>();
      for (size_t at = 0; at < a.size(); ++at) a[at] = b[at] = (a[at] + b[at]) / 2;
    }
    ASSERT_TRUE(one.update() && other.update());
  }
  EXPECT_EQ(weights_of(one), weights_of(other));
  for (const TensorInfo& tensor : one.tensors()) {
    if (tensor.is_gradient || tensor.dtype != DType::f32) continue;
    const auto a = one.tensor(tensor.name)->as<float>(), b = whole.tensor(tensor.name)->as<float>();
    for (size_t at = 0; at < a.size(); ++at) EXPECT_NEAR(a[at], b[at], 2e-5) << tensor.name;
  }
}

TEST(SplitUpdate, KeepsItsOrder) {
  const Points batch = images(kBatch, 1);
  Trainer fused = Trainer::create(planned({})).value(),
          split = Trainer::create(planned({.split_update = true})).value();
  EXPECT_EQ(fused.gradients({batch.x, batch.y}).error().code, "E0105");
  EXPECT_EQ(fused.update().error().code, "E0105");
  EXPECT_EQ(split.update().error().code, "E0105");
  ASSERT_TRUE(split.gradients({batch.x, batch.y}));
  ASSERT_TRUE(split.update());
  EXPECT_EQ(split.update().error().code, "E0105");
  EXPECT_FALSE(fused.read("accumulated.fc2.weight", {}));
  EXPECT_EQ(split.gradients({batch.x, std::vector<int64_t>(kBatch, 99)}).error().code, "E0262");
}

TEST(SplitUpdate, BeginsAgainWhereGradientsAreMadeTwice) {
  for (const int64_t accumulate : {1, 2}) {
    const Plan plan = planned({.accumulate = accumulate, .split_update = true});
    Trainer once = Trainer::create(plan).value(), twice = Trainer::create(plan).value();
    const Points batch = images(once.samples_per_step(), 1);
    ASSERT_TRUE(twice.gradients({batch.x, batch.y}) && twice.gradients({batch.x, batch.y}));
    ASSERT_TRUE(once.gradients({batch.x, batch.y}));
    for (const TensorInfo& tensor : once.tensors())
      EXPECT_TRUE(!tensor.is_gradient || contents_of(once, tensor) == contents_of(twice, tensor)) << tensor.name;
  }
}

TEST(SplitUpdate, KeepsTheParametersWhereTheLossIsNotFinite) {
  Trainer trainer = Trainer::create(planned({.split_update = true})).value();
  const Contents before = weights_of(trainer);
  Points batch = images(kBatch, 1);
  batch.x[7] = std::numeric_limits<float>::infinity();
  const Result<StepStats> stats = trainer.step({batch.x, batch.y});
  ASSERT_FALSE(stats);
  EXPECT_EQ(stats.error().code, "E0701");
  EXPECT_EQ(trainer.steps_done(), 0U);
  EXPECT_EQ(weights_of(trainer).at("fc1.weight"), before.at("fc1.weight"));
  EXPECT_EQ(trainer.update().error().code, "E0105");
}

TEST(SplitUpdate, SaysWhatOnGradientThrew) {
  Trainer trainer = Trainer::create(planned({.split_update = true})).value();
  const Points batch = images(kBatch, 1);
  int calls = 0;
  const Result<StepStats> stats = trainer.gradients({batch.x, batch.y}, [&](const TensorView&) {
    ++calls;
    throw std::runtime_error("the network is down");
  });
  ASSERT_FALSE(stats);
  EXPECT_EQ(stats.error().code, "E0107");
  EXPECT_THAT(stats.error().message, HasSubstr("the network is down"));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(trainer.step({batch.x, batch.y})) << "and trains on";
}

TEST(SplitUpdate, GoesOnFromACheckpoint) {
  const Plan plan = planned({.optimizer = Adam{}, .split_update = true});
  const std::string path = testing::TempDir() + "/split.safetensors";
  Trainer first = Trainer::create(plan).value();
  const Points batch = images(kBatch, 1);
  ASSERT_TRUE(first.step({batch.x, batch.y}));
  ASSERT_TRUE(first.gradients({batch.x, batch.y}));
  ASSERT_TRUE(first.save(path)) << "what is between the halves is no part of it";
  ASSERT_TRUE(first.update());
  Trainer second = Trainer::create(plan).value();
  ASSERT_TRUE(second.gradients({batch.x, batch.y}));
  ASSERT_TRUE(second.resume(path));
  EXPECT_EQ(second.update().error().code, "E0105");
  // Running statistics have seen the batch of the first half already.
  ASSERT_TRUE(second.step({batch.x, batch.y}));
  EXPECT_EQ(weights_of(first).at("fc1.weight"), weights_of(second).at("fc1.weight"));
}

}  // namespace
}  // namespace pantoum::api
