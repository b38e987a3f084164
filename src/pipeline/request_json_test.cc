#include "pipeline/request_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/simulate/switches.h"
#include "settings/fields.h"

namespace pantoum::pipeline {
namespace {

// Every setting other than its default.
ModelRequest some_model() {
  return {.path = "cnn.onnx",
          .options = {.batch = 8,
                      .shapes = {"x=N,3,8,8"},
                      .loss = {{.name = "smooth_l1", .output = "boxes", .weight = 0.25, .beta = 2},
                               {.smoothing = 0.1, .ignore_index = -100, .classes_last = true}},
                      .optimizer = AdamW{.lr = 0.003, .beta1 = 0.8, .weight_decay = 0.05},
                      .groups = {{"*.bias", {}, 0}, {"head.*", 0.5}},
                      .freeze = {"body.*"},
                      .clip_value = 2,
                      .clip_norm = 1.5,
                      .accumulate = 4,
                      .split_update = true,
                      .metrics = {.top5 = true},
                      .train = {"table"},
                      .train_channels = {"head.weight=1/4"},
                      .freeze_stats = {"bn*"},
                      .accept_folded = true,
                      .inference = true,
                      .weights = "start.safetensors",
                      .keep_init = {"head.*"},
                      .feature_cache = MiB(1),
                      .params_in = ParamsIn::aux}};
}

PlanOptions some_settings() {
  return {.ram = KiB(256),
          .reserve = KiB(8),
          .rom = Bytes(0),
          .deadline = Relative(1.25),
          .energy_limit_j = 3.5,
          .finish_within = Seconds(7200),
          .steps = 30,
          .epochs = 2,
          .samples = 60,
          .objective = "edp",
          .gap = 0.01,
          .time_limit = Seconds(7),
          .effort = 2,
          .threads = 3,
          .paging = false,
          .recomputing = false,
          .in_place = false,
          .reordering = false,
          .allow_numerics_change = true,
          .compact_activations = true,
          .kernels = Kernels::portable,
          .measure = Measure::missing,
          .profile_store = "times.db",
          .page_file = "/var/tmp",
          .page_encryption = false,
          .prefetch = 2,
          .planner = "poet",
          .disable = {"fusions", "layouts", "merge-convolutions"},
          .without = {"write-completion"}};
}

// Another planner plans for one engine alone.
PlanOptions some_settings_of_engines() {
  PlanOptions settings = some_settings();
  settings.planner = PlanOptions().planner;
  settings.engines = "cpu0-1,cpu2";
  settings.gangs = false;
  return settings;
}

PlanRequest some_request() {
  PlanRequest request = plan_request("host", some_settings()).value();
  request.rewrite.attention = true;
  request.rewrite.substitutions = {{"merge-convolutions", "b0"}};
  return request;
}

template <class Options>
void expect_none_is_default(Options& options) {
  for (const settings::Field& field : settings::fields_of(options))
    EXPECT_TRUE(!field.setting.recorded || !field.is_default()) << field.key << ": give it another value here";
}

TEST(RequestJson, KeepsEverySetting) {
  ModelRequest model = some_model();
  expect_none_is_default(model.options);
  const std::string model_text = model_json(model);
  const Result<ModelRequest> read_model = parse_model_json(model_text, "plan.json");
  ASSERT_TRUE(read_model.has_value()) << to_text(read_model.error());
  EXPECT_EQ(model_json(*read_model), model_text);
  EXPECT_EQ(read_model->path, "cnn.onnx");
  PlanOptions every = some_settings();
  every.engines = some_settings_of_engines().engines;
  every.gangs = false;
  expect_none_is_default(every);
  const PlanRequest request = some_request();
  const std::string text = request_json(request);
  const Result<PlanRequest> read = parse_request_json(text, "plan.json");
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  EXPECT_EQ(request_json(*read), text);
  EXPECT_EQ(read->device, "host");
  EXPECT_TRUE(read->rewrite.attention);
  EXPECT_EQ(read->rewrite.substitutions, request.rewrite.substitutions);
  EXPECT_TRUE(read->options.without.has(plan::Switch::kWriteCompletion));
  EXPECT_FALSE(read->options.without.has(plan::Switch::kPrefetch));
}

TEST(RequestJson, KeepsEveryOptimizer) {
  for (const Optimizer& optimizer : std::vector<Optimizer>{Sgd{.momentum = 0.5, .nesterov = true}, Adam{.eps = 1e-6},
                                                           Adam{.eps_before_correction = true},
                                                           RmsProp{.alpha = 0.9, .centered = true},
                                                           Adagrad{.lr_decay = 0.01}, SparseAdam{.beta2 = 0.99}}) {
    const ModelRequest model{.options = {.optimizer = optimizer}};
    const Result<ModelRequest> read = parse_model_json(model_json(model), "plan.json");
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->options.optimizer.index(), optimizer.index());
    EXPECT_EQ(model_json(*read), model_json(model));
  }
}

TEST(RequestJson, HasEveryKeyWhateverItsValue) {
  EXPECT_EQ(nlohmann::json::parse(model_json({})).size(), nlohmann::json::parse(model_json(some_model())).size());
  EXPECT_EQ(nlohmann::json::parse(request_json({})).size(), nlohmann::json::parse(request_json(some_request())).size());
}

TEST(RequestJson, TakesDefaultsForMissingKeys) {
  const Result<ModelRequest> read = parse_model_json(R"({"path": "cnn.onnx", "x-note": 1})", "plan.json");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->options.loss.terms().size(), 1U);
  EXPECT_DOUBLE_EQ(std::get<Sgd>(read->options.optimizer).lr, 0.01);
}

TEST(RequestJson, NamesTheKeyThatIsWrong) {
  const auto refusal = [](const std::string& text) {
    const Result<ModelRequest> read = parse_model_json(text, "plan.json");
    return read ? "" : read.error().code + " " + read.error().where + ": " + read.error().message;
  };
  EXPECT_EQ(refusal(R"({"bach": 8})"), "E0230 plan.json: x-model: the key \"bach\" is not known here");
  EXPECT_EQ(refusal(R"({"batch": "8"})"), "E0230 plan.json: x-model.batch: must be an integer, not a string");
  EXPECT_EQ(refusal(R"({"optimizer": {"name": "adam", "momentum": 0.9}})"),
            "E0230 plan.json: x-model.optimizer: the key \"momentum\" is not known here");
  EXPECT_EQ(refusal(R"({"params_in": "rom"})"),
            "E0230 plan.json: x-model.params_in: must be one of \"ram\", \"aux\", \"auto\", not \"rom\"");
  EXPECT_EQ(refusal(R"({"loss": [{}, {"weight": -1}]})").substr(0, 33), "E0230 plan.json: x-model.loss[1].");
  EXPECT_EQ(refusal("[]"), "E0230 plan.json: x-model: must be an object, not an array");
  const Result<PlanRequest> request = parse_request_json(R"({"without": ["gravity"]})", "plan.json");
  ASSERT_FALSE(request.has_value());
  EXPECT_EQ(request.error().code, "E0230");
  EXPECT_EQ(request.error().where, "plan.json: x-request: --without");
}

// What `plan`, `sweep` and `train` ask of the planner.
TEST(PlanRequest, IsMadeOfTheSettings) {
  const PlanRequest request = some_request();
  const problem::Question& question = request.options.question;
  EXPECT_EQ(question.budget, 256 << 10);
  EXPECT_EQ(request.reserve, 8 << 10);
  EXPECT_EQ(question.energy_limit, 3.5);
  EXPECT_EQ(question.objective, problem::Objective::kEdp);
  EXPECT_FALSE(question.freedoms.paging);
  EXPECT_TRUE(question.freedoms.numerics);
  EXPECT_EQ(request.kernel_threads, 3);
  EXPECT_EQ(request.kernels, host::KernelSet::Choice::kPortable);
  EXPECT_FALSE(request.runs("fusions"));
  EXPECT_TRUE(request.runs("updates"));
  EXPECT_EQ(request.rewrite.without, std::vector<std::string>{"merge-convolutions"});
}

TEST(PlanRequest, HasTheEnginesAndTheirThreads) {
  const PlanRequest request = plan_request("host", some_settings_of_engines()).value();
  ASSERT_EQ(request.engines.size(), 2U);
  EXPECT_EQ(request.engines.front().threads, 2);
  EXPECT_EQ(request.kernel_threads, 3);
  const std::string text = request_json(request);
  const Result<PlanRequest> read = parse_request_json(text, "plan.json");
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  EXPECT_EQ(request_json(*read), text);
  EXPECT_EQ(read->engines.size(), 2U);
  EXPECT_FALSE(read->settings.gangs);
}

TEST(PlanRequest, IsRefusedByTheOption) {
  const auto refusal = [](const PlanOptions& options) {
    const Result<PlanRequest> request = plan_request("host", options);
    return request ? "" : request.error().code + " " + request.error().where;
  };
  EXPECT_EQ(refusal({.ram = Bytes(0)}), "E0300 --ram");
  EXPECT_EQ(refusal({.objective = "beauty"}), "E0117 --objective");
  EXPECT_EQ(refusal({.engines = "cpu0,cpu1", .planner = "poet"}), "E0117 --engines");
  EXPECT_EQ(refusal({.gangs = false}), "E0117 --no-gangs");
  for (const char* formula : {"energy + 2 * time", "energy / time"})
    EXPECT_EQ(refusal({.objective = formula, .engines = "cpu0,cpu1"}), "E0117 --engines");
  EXPECT_EQ(refusal({.disable = {"gravity"}}), "E0115 --disable");
  EXPECT_EQ(refusal({.without = {"gravity"}}), "E0115 --without");
  EXPECT_EQ(refusal({.effort = 0}), "E0116 PlanOptions::effort");
}

}  // namespace
}  // namespace pantoum::pipeline
