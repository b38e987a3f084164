#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <thread>

#include "api/fixture.h"

namespace pantoum::api {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Plan planned(const PlanOptions& options = quick(), const ModelOptions& model = {.batch = kBatch}) {
  return Plan::make(classifier(model).value(), device("host"), options).value();
}

size_t contents_bytes(const TensorInfo& tensor) {
  size_t bytes = element_size(tensor.dtype);
  for (const int64_t extent : tensor.shape) bytes *= static_cast<size_t>(extent);
  return bytes;
}

template <class Answer>
std::string code(const Result<Answer>& answer) {
  return answer ? "" : answer.error().code;
}

std::string temporary(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "pantoum-api";
  std::filesystem::create_directories(folder);
  return (folder / name).string();
}

TEST(PlanApi, HasTheCheckersFigures) {
  const Plan plan = planned();
  const PlanFacts facts = plan.facts();
  EXPECT_GT(facts.peak_bytes, 0);
  EXPECT_LE(facts.peak_bytes, facts.budget_bytes);
  EXPECT_EQ(facts.time_source, "modelled");
  EXPECT_EQ(plan.samples_per_step(), kBatch);
  ASSERT_EQ(plan.batch().size(), 2U);
  EXPECT_EQ(plan.batch()[0].name, "x");
  EXPECT_TRUE(plan.batch()[1].is_target);
  const Result<Verdict> verdict = plan.verify();
  ASSERT_TRUE(verdict) << to_text(verdict.error());
  EXPECT_LE(verdict->gap, facts.gap);
}

TEST(PlanApi, SaysTheSmallestBudgetWhereNoneFits) {
  PlanOptions options = quick();
  options.ram = Bytes(1024);
  const Result<Plan> plan = Plan::make(classifier().value(), device("host"), options);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, "E0301");
  EXPECT_EQ(exit_code(plan.error()), 5);
  EXPECT_THAT(plan.error().help, HasSubstr("--ram"));
}

TEST(PlanApi, ExplainsWhatBinds) {
  const int64_t unplanned = planned().facts().unplanned_peak_bytes;
  PlanOptions options = quick();
  options.ram = Bytes(unplanned * 9 / 10);
  const Result<Explanation> why = planned(options).explain();
  ASSERT_TRUE(why) << to_text(why.error());
  EXPECT_THAT(why->at_peak, Not(IsEmpty()));
  EXPECT_THAT(why->text, HasSubstr("peak"));
  EXPECT_EQ(why->json.front(), '{');
}

TEST(PlanApi, IsReadBackFromItsFile) {
  const Model built = classifier().value();
  const std::string model = temporary("model.onnx"), file = temporary("step.plan.json");
  ASSERT_TRUE(built.save(model));
  const Plan plan = Plan::make(Model::from_file(model, {.batch = kBatch}).value(), device("host"), quick()).value();
  ASSERT_TRUE(plan.save(file));
  const Result<Plan> read = Plan::load(file);
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->facts().peak_bytes, plan.facts().peak_bytes);
  EXPECT_THAT(losses_of(*read, 3).value(), ElementsAreArray(losses_of(plan, 3).value()));
}

TEST(PlanApi, OfAModelThatWasBuiltNamesNoFile) {
  const std::string file = temporary("built.plan.json");
  ASSERT_TRUE(planned().save(file));
  const Result<Plan> read = Plan::load(file);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, "E0293");
}

TEST(PlanApi, RefusesOptionsOutOfRange) {
  const Model model = classifier().value();
  const auto code_of = [&](const auto& change) {
    PlanOptions options = quick();
    change(options);
    const Result<Plan> plan = Plan::make(model, device("host"), options);
    return plan ? std::string() : plan.error().code;
  };
  EXPECT_EQ(code_of([](PlanOptions& o) { o.ram = Bytes(0); }), "E0300");
  EXPECT_EQ(code_of([](PlanOptions& o) { o.ram = Bytes(-5); }), "E0300");
  for (const double count : {-1.0, std::nan(""), 1e30, std::numeric_limits<double>::infinity()})
    EXPECT_EQ(code_of([&](PlanOptions& o) { o.ram = MiB(count); }), "E0300") << count;
  EXPECT_EQ(code_of([](PlanOptions& o) { o.gap = 2; }), "E0116");
  EXPECT_EQ(code_of([](PlanOptions& o) { o.gap = std::nan(""); }), "E0116");
  EXPECT_EQ(code_of([](PlanOptions& o) { o.threads = -1; }), "E0116");
  EXPECT_EQ(code_of([](PlanOptions& o) { o.deadline = Seconds(-1); }), "E0116");
  EXPECT_EQ(code_of([](PlanOptions& o) { o.deadline = Relative(std::nan("")); }), "E0116");
  EXPECT_NE(Plan::make(model, device("no such board"), quick()).error().code, "");
}

TEST(ModelApi, RefusesOptionsAndFilesThatAreNone) {
  EXPECT_EQ(Model::from_file("/no/such/model.onnx").error().code, "E0201");
  EXPECT_FALSE(Model::from_onnx("not a model"));
  EXPECT_EQ(classifier({.batch = -1}).error().code, "E0116");
  EXPECT_EQ(classifier({.batch = 8, .loss = "crossentropy"}).error().code, "E0115");
  EXPECT_EQ(classifier({.batch = 8, .optimizer = Adam{.beta1 = 1}}).error().code, "E0116");
  EXPECT_EQ(classifier({.batch = 8, .optimizer = Sgd{.nesterov = true}}).error().code, "E0117");
  EXPECT_EQ(classifier({.batch = 8, .optimizer = CustomUpdate{.name = "no::One"}}).error().code, "E0115");
}

TEST(ModelApi, TellsItsNodesAndWeights) {
  const Result<ModelInfo> info = classifier().value().inspect();
  ASSERT_TRUE(info) << to_text(info.error());
  EXPECT_EQ(info->weights.size(), 6U);
  EXPECT_FALSE(info->refusal);
  for (const NodeInfo& node : info->nodes) EXPECT_TRUE(node.runs && node.trains) << node.name << node.problem;
}

// Less RAM, the same bits: what is paged and what is computed again changes nothing.
TEST(TrainerApi, GivesTheSameBitsInEveryBudget) {
  const Plan unlimited = planned();
  const std::vector<double> losses = losses_of(unlimited, 6).value();
  EXPECT_LT(losses.back(), losses.front());
  PlanOptions options = quick();
  options.ram = Bytes(unlimited.facts().unplanned_peak_bytes * 8 / 10);
  const Plan tight = planned(options);
  EXPECT_LT(tight.facts().peak_bytes, unlimited.facts().peak_bytes);
  EXPECT_THAT(losses_of(tight, 6).value(), ElementsAreArray(losses));
}

TEST(TrainerApi, FitsEvaluatesAndTellsOfIt) {
  const Plan plan = planned(quick(), {.batch = kBatch, .optimizer = Sgd{.lr = 0.1}});
  Trainer trainer = Trainer::create(plan).value();
  const Points train = points(96, 1), test = points(30, 2);
  const Dataset data = Dataset::from_arrays(plan, {train.x, train.y}).value();
  const Dataset held = Dataset::from_arrays(plan, {test.x, test.y}).value();
  int batches = 0, epochs = 0, progress = 0;
  const Result<FitSummary> summary = trainer.fit(data,
                                                 {.epochs = 3,
                                                  .on_batch = [&](const StepStats&) { ++batches; },
                                                  .on_epoch = [&](const EpochStats&) { ++epochs; },
                                                  .on_progress = [&](const FitProgress&) { ++progress; }},
                                                 held);
  ASSERT_TRUE(summary) << to_text(summary.error());
  EXPECT_EQ(batches, 36);
  EXPECT_EQ(epochs, 3);
  EXPECT_GE(progress, 1);
  ASSERT_TRUE(summary->evaluation && summary->evaluation->accuracy);
  EXPECT_GT(*summary->evaluation->accuracy, 0.9);
  EXPECT_EQ(trainer.evaluate(held)->loss, summary->evaluation->loss);
  int asked = 0;
  EXPECT_EQ(trainer.evaluate(held, [&] { return ++asked < 2; }).error().code, "E0999");
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(trainer.evaluate(held, [] { return true; })->loss, summary->evaluation->loss);
}

TEST(TrainerApi, GroupsHaveRatesAndDecaysThatCanBeSet) {
  const ModelOptions plain{.batch = kBatch, .optimizer = Adam{.lr = 0.01, .weight_decay = 0.1}};
  ModelOptions grouped{.batch = kBatch,
                       .optimizer = Adam{.lr = 0.5, .weight_decay = 0.7},
                       .groups = {{"*", 0.01, 0.1}, {"fc1.*|fc3.*", 0.01}, {"*.bias", {}, 0.1}}};
  const auto taken = [&](const Plan& plan, const auto& change) {
    Trainer trainer = Trainer::create(plan).value();
    change(trainer);
    std::vector<double> losses;
    for (uint32_t at = 0; at < 4; ++at) {
      const Points batch = points(kBatch, at);
      losses.push_back(trainer.step({batch.x, batch.y}).value().loss);
    }
    return losses;
  };
  const std::vector<double> expected = taken(planned(quick(), plain), [](Trainer&) {});
  const Plan plan = planned(quick(), grouped);
  EXPECT_THAT(taken(plan, [](Trainer&) {}), Not(ElementsAreArray(expected)));
  EXPECT_THAT(taken(plan,
                    [](Trainer& trainer) {
                      ASSERT_EQ(trainer.groups().size(), 3U);
                      EXPECT_EQ(trainer.groups()[1].names, "fc1.*|fc3.*");
                      EXPECT_EQ(trainer.groups()[2].lr, std::nullopt);
                      ASSERT_TRUE(trainer.set_group_decay(1, 0.1));
                      ASSERT_TRUE(trainer.set_group_rate(2, 0.01));
                      EXPECT_EQ(trainer.groups()[2].lr, 0.01);
                      EXPECT_EQ(trainer.set_group_rate(3, 0.01).error().code, "E0104");
                      EXPECT_EQ(trainer.set_group_rate(0, -1).error().code, "E0116");
                      EXPECT_EQ(trainer.set_group_decay(0, std::nan("")).error().code, "E0116");
                    }),
              ElementsAreArray(expected));
}

TEST(TrainerApi, GoesOnFromACheckpointAsIfNothingHadHappened) {
  const Plan plan = planned();
  const std::vector<double> whole = losses_of(plan, 8).value();
  const std::string file = temporary("half.safetensors");
  Trainer first = Trainer::create(plan).value();
  std::vector<double> losses;
  const auto step = [&](Trainer& trainer, uint32_t at) {
    const Points batch = points(kBatch, at);
    losses.push_back(trainer.step({batch.x, batch.y}).value().loss);
  };
  for (uint32_t at = 0; at < 4; ++at) step(first, at);
  ASSERT_TRUE(first.save(file));
  Trainer second = Trainer::create(plan).value();
  ASSERT_TRUE(second.resume(file));
  EXPECT_EQ(second.steps_done(), 4U);
  for (uint32_t at = 4; at < 8; ++at) step(second, at);
  EXPECT_THAT(losses, ElementsAreArray(whole));
}

TEST(TrainerApi, StopsWhenAskedAndKeepsACheckpoint) {
  const Plan plan = planned();
  Trainer trainer = Trainer::create(plan).value();
  const Points train = points(96, 1);
  const Dataset data = Dataset::from_arrays(plan, {train.x, train.y}).value();
  std::stop_source source;
  const std::string file = temporary("stopped.safetensors");
  const Result<FitSummary> summary = trainer.fit(
      data, {.epochs = 100, .checkpoint = file, .stop = source.get_token(), .on_batch = [&](const StepStats& stats) {
               if (stats.step == 5) source.request_stop();
             }});
  ASSERT_TRUE(summary) << to_text(summary.error());
  EXPECT_TRUE(summary->stopped);
  EXPECT_EQ(summary->steps, 5U);
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(TrainerApi, TakesBatchesFromAFunction) {
  const Plan plan = planned();
  Trainer trainer = Trainer::create(plan).value();
  const Producer produce = [](uint64_t number, std::span<const TensorView> batch) -> Result<void> {
    const Points made = points(kBatch, static_cast<uint32_t>(number - 1));
    std::copy(made.x.begin(), made.x.end(), batch[0].as<float>().begin());
    std::copy(made.y.begin(), made.y.end(), batch[1].as<int64_t>().begin());
    return {};
  };
  std::vector<double> losses;
  const Result<FitSummary> summary = trainer.fit(
      produce, {.steps_per_epoch = 5, .on_batch = [&](const StepStats& stats) { losses.push_back(stats.loss); }});
  ASSERT_TRUE(summary) << to_text(summary.error());
  EXPECT_THAT(losses, ElementsAreArray(losses_of(plan, 5).value()));
  const Producer refuses = [](uint64_t, std::span<const TensorView>) -> Result<void> {
    return fail("E0262", "the camera is covered");
  };
  EXPECT_THAT(trainer.fit(refuses, {.epochs = 2, .steps_per_epoch = 5}).error().message, HasSubstr("camera"));
  const Producer throws = [](uint64_t, std::span<const TensorView>) -> Result<void> {
    throw std::runtime_error("no more");
  };
  EXPECT_EQ(trainer.fit(throws, {.epochs = 2, .steps_per_epoch = 5}).error().code, "E0107");
}

TEST(TrainerApi, ShowsWeightsWithoutACopy) {
  const Plan plan = planned();
  Trainer trainer = Trainer::create(plan).value();
  const Result<TensorView> weight = trainer.tensor("fc1.weight");
  ASSERT_TRUE(weight) << to_text(weight.error());
  EXPECT_THAT(weight->shape, testing::ElementsAre(32, kFeatures));
  std::vector<float> copy(32 * kFeatures);
  ASSERT_TRUE(trainer.read("fc1.weight", std::as_writable_bytes(std::span(copy))));
  EXPECT_EQ(std::memcmp(copy.data(), weight->data.data(), weight->data.size()), 0);
  copy.assign(copy.size(), 0.5F);
  ASSERT_TRUE(trainer.write("fc1.weight", std::as_bytes(std::span(copy))));
  EXPECT_EQ(trainer.tensor("fc1.weight")->as<float>().front(), 0.5F);
  EXPECT_EQ(trainer.tensor("no such").error().code, "E0104");
  EXPECT_EQ(trainer.read("fc1.weight", {}).error().code, "E0262");
}

// A callback that asks for what would take the batches of the call that runs is refused, and the run is that of one without.
TEST(TrainerApi, CallbacksThatCallBackAreRefusedAndChangeNothing) {
  const Plan plan = planned();
  const Points all = points(5 * kBatch, 1), batch = points(kBatch, 2);
  const Result<Dataset> data = Dataset::from_arrays(plan, {all.x, all.y});
  ASSERT_TRUE(data) << to_text(data.error());
  std::vector<double> expected;
  for (const bool calls : {false, true}) {
    Result<Trainer> trainer = Trainer::create(plan);
    ASSERT_TRUE(trainer) << to_text(trainer.error());
    std::vector<double> losses;
    const auto refused = [&](const auto& result) { EXPECT_TRUE(!result && result.error().code == "E0105"); };
    const auto on_batch = [&](const StepStats& stats) {
      losses.push_back(stats.loss);
      if (!calls) return;
      refused(trainer->step({batch.x, batch.y}));
      refused(trainer->fit(*data, {}));
      refused(trainer->update());
      EXPECT_TRUE(trainer->evaluate(*data, [&] {
        refused(trainer->step({batch.x, batch.y}));
        refused(trainer->evaluate(*data));
        return true;
      }));
    };
    ASSERT_TRUE(trainer->fit(*data, {.epochs = 2, .on_batch = on_batch}));
    if (!calls) expected = losses;
    EXPECT_EQ(losses, expected);
    EXPECT_THROW((void)trainer->fit(*data, {.epochs = 3, .on_batch = [](const StepStats&) { throw 7; }}), int);
    EXPECT_EQ(trainer->steps_done(), 11U);
    EXPECT_TRUE(trainer->step({batch.x, batch.y}));  // as if nothing had been thrown
  }
}

// With the outputs as the targets the mean of squares is 0 exactly where evaluation computes the same bits.
TEST(TrainerApi, PredictsWhatEvaluationComputes) {
  const Plan plan = planned(quick(), {.batch = kBatch, .loss = "mse"});
  Trainer trainer = Trainer::create(plan).value();
  const Points some = points(2 * kBatch + 3, 5);
  const std::vector<Output> made = trainer.predict({some.x}).value();
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].name, "logits");
  EXPECT_THAT(made[0].shape, ElementsAreArray({int64_t{2 * kBatch + 3}, kClasses}));
  const std::vector<float> scores = made[0].values<float>();
  const Dataset data = Dataset::from_arrays(plan, {some.x, scores}).value();
  EXPECT_EQ(trainer.evaluate(data).value().loss, 0);

  std::vector<float> into(scores.size()), rows;
  const std::vector<std::span<std::byte>> places{std::as_writable_bytes(std::span(into))};
  ASSERT_TRUE(trainer.predict({some.x}, places));
  EXPECT_EQ(into, scores);
  const Result<void> streamed =
      trainer.predict(data, [&](size_t, int64_t, std::span<const std::byte> bytes) -> Result<void> {
        rows.resize(rows.size() + bytes.size() / sizeof(float));
        std::memcpy(&*(rows.end() - static_cast<std::ptrdiff_t>(bytes.size() / sizeof(float))), bytes.data(),
                    bytes.size());
        return {};
      });
  ASSERT_TRUE(streamed) << to_text(streamed.error());
  EXPECT_EQ(rows, scores);
  ASSERT_EQ(trainer.prediction_inputs().size(), 1U);
  EXPECT_EQ(trainer.prediction_inputs()[0].name, "x");
}

TEST(TrainerApi, RefusesSamplesThatDoNotFitAPrediction) {
  Trainer trainer = Trainer::create(planned()).value();
  const Points some = points(kBatch, 5);
  EXPECT_EQ(code(trainer.predict({some.x, some.y})), "E0262");
  EXPECT_EQ(code(trainer.predict({})), "E0262");
  EXPECT_EQ(code(trainer.predict({some.y})), "E0262");
  EXPECT_EQ(code(trainer.predict({std::vector<float>()})), "E0262");
  std::vector<float> small(3);
  EXPECT_EQ(code(trainer.predict({some.x}, std::vector{std::as_writable_bytes(std::span(small))})), "E0262");
  EXPECT_EQ(code(trainer.predict({some.x}, std::vector<std::span<std::byte>>())), "E0262");
  const Dataset data = Dataset::from_arrays(planned(), {some.x, some.y}).value();
  const auto refuse = [](size_t, int64_t, std::span<const std::byte>) -> Result<void> { return fail("E0901", "full"); };
  EXPECT_EQ(code(trainer.predict(data, refuse)), "E0901");
  EXPECT_TRUE(trainer.predict({some.x}));
}

// A batch that does not fit changes nothing: the next one is taken as if it had not been.
TEST(TrainerApi, RefusesBatchesThatDoNotFit) {
  const Plan plan = planned();
  Trainer trainer = Trainer::create(plan).value();
  const Points good = points(kBatch, 0), small = points(kBatch - 1, 0);
  const std::vector<int32_t> narrow(kBatch, 0);
  EXPECT_EQ(trainer.step({good.x}).error().code, "E0262");
  EXPECT_EQ(trainer.step({good.x, good.y, good.y}).error().code, "E0262");
  EXPECT_EQ(trainer.step({good.x, narrow}).error().code, "E0262");
  EXPECT_EQ(trainer.step({small.x, small.y}).error().code, "E0262");
  EXPECT_EQ(trainer.step({good.x, small.y}).error().code, "E0262");
  EXPECT_EQ(trainer.step({std::span(good.x).first(5), good.y}).error().code, "E0262");
  EXPECT_EQ(trainer.steps_done(), 0U);
  EXPECT_EQ(trainer.step({good.x, good.y}).value().loss, losses_of(plan, 1).value().front());
  EXPECT_EQ(Dataset::from_arrays(plan, {good.x, small.y}).error().code, "E0262");
  EXPECT_FALSE(Dataset::open("/no/such/folder", plan));
}

TEST(TrainerApi, RunsSideBySide) {
  const Plan plan = planned();
  const std::vector<double> alone = losses_of(plan, 20).value();
  std::vector<std::vector<double>> found(4);
  std::vector<std::thread> threads;
  for (std::vector<double>& losses : found) threads.emplace_back([&] { losses = losses_of(plan, 20).value(); });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<double>& losses : found) EXPECT_THAT(losses, ElementsAreArray(alone));
}

TEST(TrainerApi, TakesMicroBatches) {
  const Plan plan = planned(quick(), {.batch = 4, .accumulate = 2});
  EXPECT_EQ(plan.samples_per_step(), 8);
  const std::vector<double> losses = losses_of(plan, 3).value();
  const std::vector<double> whole = losses_of(planned(), 3).value();
  for (size_t step = 0; step < losses.size(); ++step) EXPECT_NEAR(losses[step], whole[step], 1e-5);
}

TEST(DeployApi, ExportsWhatWasBuilt) {
  const Model model = classifier().value();
  const Plan plan = Plan::make(model, device("host"), quick()).value();
  Trainer trainer = Trainer::create(plan).value();
  const std::string weights = temporary("trained.safetensors"), exported = temporary("trained.onnx");
  ASSERT_TRUE(trainer.save(weights));
  const Result<void> done = export_onnx(model, weights, exported);
  ASSERT_TRUE(done) << to_text(done.error());
  EXPECT_GT(std::filesystem::file_size(exported), 1000U);
}

TEST(DeployApi, SweepsBudgets) {
  const Model model = classifier().value();
  const int64_t unplanned = planned().facts().unplanned_peak_bytes;
  const Result<std::vector<SweepRow>> rows = sweep_budgets(
      model, device("host"), {.budgets = {Bytes(unplanned), Bytes(unplanned * 8 / 10), Bytes(64)}, .plan = quick()});
  ASSERT_TRUE(rows) << to_text(rows.error());
  ASSERT_EQ(rows->size(), 3U);
  EXPECT_FALSE(rows->front().has_plan);
  EXPECT_TRUE(rows->back().has_plan);
  EXPECT_LE((*rows)[2].energy_j, (*rows)[1].energy_j);
  const Result<std::vector<SweepRow>> usual = sweep_budgets(model, device("host"), {.plan = quick()});
  ASSERT_TRUE(usual) << to_text(usual.error());
  ASSERT_GE(usual->size(), 2U);
  EXPECT_LE(usual->size(), 8U);
  EXPECT_TRUE(usual->front().has_plan);
  EXPECT_GE(usual->back().ram_bytes, unplanned);
}

// The frozen part runs once; the samples that it ran on are read for their labels.
TEST(TrainerApi, TrainsTheHeadAloneOnKeptFeatures) {
  const Plan plan = planned(
      quick(), {.batch = kBatch, .optimizer = Sgd{.lr = 0.1}, .freeze = {"fc1.*", "fc2.*"}, .feature_cache = MiB(1)});
  Trainer trainer = Trainer::create(plan).value();
  const Points train = points(96, 1), test = points(30, 2);
  const Dataset data = Dataset::from_arrays(plan, {train.x, train.y}).value();
  const Dataset held = Dataset::from_arrays(plan, {test.x, test.y}).value();
  const Result<FitSummary> summary = trainer.fit(data, {.epochs = 4}, held);
  ASSERT_TRUE(summary) << to_text(summary.error());
  EXPECT_EQ(summary->steps, 48U);
  EXPECT_GT(*summary->evaluation->accuracy, 0.5);
  EXPECT_EQ(trainer.step({train.x, train.y}).error().code, "E0105");
}

// A label that is no class is found before the step: the trainer goes on as if the batch had not been.
TEST(TrainerApi, RefusesLabelsThatAreNoClass) {
  const Plan plan = planned();
  Trainer trainer = Trainer::create(plan).value();
  Points good = points(kBatch, 0), bad = points(kBatch, 0);
  bad.y[3] = kClasses;
  const Result<StepStats> refused = trainer.step({bad.x, bad.y});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0262");
  EXPECT_THAT(refused.error().message, HasSubstr("sample 3"));
  EXPECT_EQ(trainer.step({good.x, good.y}).value().loss, losses_of(plan, 1).value().front());
  const Dataset data = Dataset::from_arrays(plan, {bad.x, bad.y}).value();
  EXPECT_EQ(trainer.fit(data).error().code, "E0262");
  EXPECT_EQ(trainer.steps_done(), 1U);
}

TEST(TrainerApi, RefusesLearningRatesThatAreNone) {
  Trainer trainer = Trainer::create(planned()).value();
  EXPECT_EQ(trainer.set_learning_rate(std::nan("")).error().code, "E0116");
  EXPECT_EQ(trainer.set_learning_rate(-1).error().code, "E0116");
  EXPECT_TRUE(trainer.set_learning_rate(0.5));
}

// Rows that are no samples any more are told before anything is planned.
TEST(PlanApi, RefusesOutputsThatLoseTheBatch) {
  ModelBuilder net("tagger");
  Tensor x = net.linear(net.input("x", {7, 4}), {.features = 5, .name = "tags"});
  net.output("y", net.reshape(x, {-1, 5}));
  const Result<Model> model = Model::from_onnx(net.onnx().value(), {.batch = 4});
  ASSERT_TRUE(model) << to_text(model.error());
  const Result<Plan> plan = Plan::make(*model, device("host"), quick());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, "E0403");
  EXPECT_THAT(plan.error().message, HasSubstr("28"));
  const auto swept = sweep_budgets(*model, device("host"), {.budgets = {MiB(1)}});
  ASSERT_FALSE(swept);
  EXPECT_EQ(swept.error().message, plan.error().message);
  const auto estimated = estimate(*model, device("host"), {});
  ASSERT_FALSE(estimated);
  EXPECT_EQ(estimated.error().message, plan.error().message);
}

TEST(PlanApi, SaysWhatTheReserveTakesOff) {
  PlanOptions options = quick();
  options.ram = Bytes(3000);
  options.reserve = Bytes(1000);
  const Result<Plan> plan = Plan::make(classifier().value(), device("host"), options);
  ASSERT_FALSE(plan);
  EXPECT_THAT(to_text(plan.error()), HasSubstr("reserve"));
}

// In a child process every call has to return E0108, and everything can be destroyed; 20 seconds end a child that waits.
int code_of_child(const std::function<bool()>& is_right) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(is_right() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(TrainerApi, AForkedProcessIsRefusedAndTheParentGoesOn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer does not follow the fork of a process that has threads";
#endif
  for (const int64_t ram : {1 << 20, 12 << 10}) {  // all in RAM, and paged
    PlanOptions options = quick();
    options.ram = Bytes(ram);
    options.threads = 2;
    Plan plan = planned(options);
    EXPECT_EQ(plan.facts().bytes_paged_in > 0, ram == 12 << 10);
    const Points batch = points(kBatch, 1);
    const Dataset data = Dataset::from_arrays(plan, {batch.x, batch.y}).value();
    const std::vector<double> wanted = losses_of(plan, 8).value();
    std::optional<Trainer> trainer = Trainer::create(plan).value();
    const std::string tensor = trainer->tensors()[0].name, file = temporary("forked.safetensors");
    std::vector<std::byte> bytes(contents_bytes(trainer->tensors()[0]));
    ASSERT_TRUE(trainer->save(file));
    const std::vector<std::function<std::string()>> calls{[&] {
                                                            return code(trainer->step({batch.x, batch.y}));
                                                          },
                                                          [&] { return code(trainer->fit(data)); },
                                                          [&] { return code(trainer->evaluate(data)); },
                                                          [&] { return code(trainer->save(file)); },
                                                          [&] { return code(trainer->resume(file)); },
                                                          [&] { return code(trainer->read(tensor, bytes)); },
                                                          [&] { return code(trainer->write(tensor, bytes)); }};
    for (size_t at = 0; at < calls.size(); ++at) {  // before each step of the parent
      EXPECT_EQ(code_of_child([&] { return calls[at]() == "E0108"; }), 0) << at;
      EXPECT_EQ(code_of_child([&] {
                  trainer.reset();
                  plan = planned();  // another plan, made in the child, trains there
                  return losses_of(plan, 1).has_value();
                }),
                0)
          << at;
      const Points own = points(kBatch, static_cast<uint32_t>(at));
      const Result<StepStats> stats = trainer->step({own.x, own.y});
      ASSERT_TRUE(stats) << to_text(stats.error());
      EXPECT_EQ(stats->loss, wanted[at]);
    }
  }
}

}  // namespace
}  // namespace pantoum::api
