#include "pipeline/request_json.h"
#include "plan/simulate/switches.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pantoum::pipeline {
namespace {

// Every option other than its default.
ModelOptions some_model() {
  ModelOptions model{.path = "cnn.onnx", .batch = 8};
  model.training.losses = {{.loss = autodiff::Loss::kSmoothL1, .output = "boxes", .weight = 0.25, .beta = 2},
                           {.smoothing = 0.1, .ignore_index = -100, .classes_last = true}};
  model.training.optimizer = autodiff::AdamW{.beta1 = 0.8, .weight_decay = 0.05};
  model.training.freeze = {"body.*"};
  model.training.clip_norm = 1.5;
  model.training.accumulate = 4;
  model.training.metrics.top5 = true;
  model.lr = 0.003;
  model.seed = UINT64_MAX;
  model.weights = {"start.safetensors", {"head.*"}};
  model.train = {"table"};
  model.accept_folded = true;
  model.freeze_stats = {"bn*"};
  model.feature_cache = 1 << 20;
  model.params_in = cost::ParamsIn::kAux;
  return model;
}

PlanRequest some_request() {
  PlanRequest request{.device = "m4", .deadline = {.relative = 1.25, .training = 7200}};
  request.length = {.steps = 30, .epochs = 2, .samples = 60};
  request.reserve = 8192;
  request.rom = 0;
  request.planner = "poet";
  request.kernel_threads = 3;
  request.kernels = host::KernelSet::Choice::kPortable;
  request.fuse = request.layouts = false;
  request.compact_activations = request.rewrite.attention = true;
  request.measure = {
      .measure = Measure::kMissing, .profile_store = "times.db", .page_folder = "/var/tmp", .page_encryption = false};
  request.options.question.budget = 262144;
  request.options.question.energy_limit = 3.5;
  request.options.question.objective = problem::Objective::kEdp;
  request.options.question.freedoms.recomputing = false;
  request.options.without.add(plan::Switch::kWriteCompletion);
  request.options.gap = 0.01;
  request.options.effort = 2;
  return request;
}

TEST(RequestJson, KeepsEveryOptionOfAModel) {
  const std::string text = model_json(some_model());
  const Result<ModelOptions> read = parse_model_json(text, "plan.json");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(model_json(*read), text);
  EXPECT_NE(text, model_json({}));
  EXPECT_EQ(read->seed, UINT64_MAX);
  EXPECT_EQ(read->training.losses[1].ignore_index, -100);
  EXPECT_TRUE(read->accept_folded);
  EXPECT_EQ(read->train, std::vector<std::string>{"table"});
  EXPECT_DOUBLE_EQ(std::get<autodiff::AdamW>(read->training.optimizer).weight_decay, 0.05);
}

TEST(RequestJson, KeepsEveryOptimizer) {
  for (const autodiff::Optimizer& optimizer : std::vector<autodiff::Optimizer>{
           autodiff::Sgd{.momentum = 0.5, .nesterov = true}, autodiff::Adam{.eps = 1e-6},
           autodiff::RmsProp{.alpha = 0.9, .centered = true}, autodiff::Adagrad{.lr_decay = 0.01}}) {
    ModelOptions model;
    model.training.optimizer = optimizer;
    const Result<ModelOptions> read = parse_model_json(model_json(model), "plan.json");
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->training.optimizer.index(), optimizer.index());
    EXPECT_EQ(model_json(*read), model_json(model));
  }
}

TEST(RequestJson, KeepsEveryOptionOfARequest) {
  const std::string text = request_json(some_request());
  const Result<PlanRequest> read = parse_request_json(text, "plan.json");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(request_json(*read), text);
  EXPECT_EQ(read->rom, 0);
  EXPECT_FALSE(read->deadline.seconds.has_value());
  EXPECT_TRUE(read->options.without.has(plan::Switch::kWriteCompletion));
  EXPECT_FALSE(read->options.without.has(plan::Switch::kPrefetch));
}

TEST(RequestJson, HasEveryKeyWhateverItsValue) {
  EXPECT_EQ(nlohmann::json::parse(model_json({})).size(), nlohmann::json::parse(model_json(some_model())).size());
  EXPECT_EQ(nlohmann::json::parse(request_json({})).size(), nlohmann::json::parse(request_json(some_request())).size());
}

TEST(RequestJson, ReadsHowOlderPlansWereMeasured) {
  const auto measure_in = [](const std::string& value) {
    return parse_request_json(R"({"measure": {"measure": )" + value + "}}", "plan.json");
  };
  EXPECT_EQ(measure_in("true")->measure.measure, Measure::kAll);
  EXPECT_EQ(measure_in("false")->measure.measure, Measure::kOff);
  EXPECT_EQ(measure_in(R"("missing")")->measure.measure, Measure::kMissing);
  EXPECT_EQ(measure_in(R"("auto")")->measure.measure, Measure::kAuto);
  ASSERT_FALSE(measure_in(R"("often")"));
  EXPECT_EQ(measure_in(R"("often")").error().where, "plan.json: x-request.measure.measure");
  EXPECT_FALSE(measure_in("1"));
}

TEST(RequestJson, TakesDefaultsForMissingKeys) {
  const Result<ModelOptions> read = parse_model_json(R"({"path": "cnn.onnx", "x-note": 1})", "plan.json");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->training.losses.size(), 1U);
  EXPECT_DOUBLE_EQ(read->lr, 0.01);
}

TEST(RequestJson, NamesTheKeyThatIsWrong) {
  const auto refusal = [](const std::string& text) {
    const Result<ModelOptions> read = parse_model_json(text, "plan.json");
    return read ? "" : read.error().code + " " + read.error().where + ": " + read.error().message;
  };
  EXPECT_EQ(refusal(R"({"bach": 8})"), "E0230 plan.json: x-model: the key \"bach\" is not known here");
  EXPECT_EQ(refusal(R"({"batch": "8"})"), "E0230 plan.json: x-model.batch: must be an integer, not a string");
  EXPECT_EQ(refusal(R"({"optimizer": {"name": "adam", "momentum": 0.9}})"),
            "E0230 plan.json: x-model.optimizer: the key \"momentum\" is not known here");
  EXPECT_EQ(refusal(R"({"params_in": "rom"})"),
            "E0230 plan.json: x-model.params_in: must be one of \"ram\", \"aux\", \"auto\", not \"rom\"");
  EXPECT_EQ(refusal(R"({"losses": [{}, {"weight": -1}]})").substr(0, 35), "E0230 plan.json: x-model.losses[1].");
  EXPECT_EQ(refusal("[]"), "E0230 plan.json: x-model: must be an object, not an array");
  const Result<PlanRequest> request = parse_request_json(R"({"without": ["hoist", "gravity"]})", "plan.json");
  ASSERT_FALSE(request.has_value());
  EXPECT_EQ(request.error().where, "plan.json: x-request.without[1]");
}

}  // namespace
}  // namespace pantoum::pipeline
