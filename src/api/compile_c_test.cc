// The functions of pantoum/compile.h: settings, plans and trainers as the C++ library makes them, and every wrong call.
#include "pantoum/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "api/fixture.h"
#include "testing/temporary_folder.h"

namespace pantoum::api {
namespace {

using testing::HasSubstr;

constexpr const char* kIni = R"([model]
type = NeuralNetwork
loss = mse
batch_size = 8
[optimizer]
type = sgd
learning_rate = 0.25
[x]
type = input
input_shape = 1:1:12
[hidden]
type = fully_connected
unit = 32
activation = tanh
[y]
type = fully_connected
unit = 3
)";

class CompileC : public testing::Test {
 protected:
  CompileC() {
    std::ofstream(path("net.ini")) << kIni;
    std::ofstream(path("net.onnx"), std::ios::binary) << classifier().value().contents().value();
  }
  ~CompileC() override { pt_compile_close(compiler_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  int open(const std::string& name) { return pt_compile_open(&compiler_, path(name).c_str()); }
  int set(const char* option, const char* value) { return pt_compile_set(compiler_, option, value); }
  void set_quick() {
    for (const auto& [option, value] :
         {std::pair{"kernels", "portable"}, {"measure", "off"}, {"effort", "1"}, {"threads", "1"}})
      ASSERT_EQ(set(option, value), 0) << said();
  }
  [[nodiscard]] std::string said() const { return pt_compile_last_error(compiler_)->text; }

  pt_compiler* compiler_ = nullptr;

 private:
  TemporaryFolder folder_;
};

// The losses of `steps` steps on the same batch.
std::vector<double> losses_in_c(pt_trainer* trainer, int steps, const Points& batch,
                                const std::vector<float>* targets) {
  const pt_train_data data[] = {{batch.x.data(), batch.x.size() * sizeof(float)},
                                targets != nullptr ? pt_train_data{targets->data(), targets->size() * sizeof(float)}
                                                   : pt_train_data{batch.y.data(), batch.y.size() * sizeof(int64_t)}};
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    pt_train_result result{};
    result.size = sizeof result;
    EXPECT_EQ(pt_train_step(trainer, data, 2, &result), 0) << pt_train_last_error(trainer)->text;
    losses.push_back(result.loss);
  }
  return losses;
}

TEST_F(CompileC, TrainsWithTheBitsOfTheCppLibrary) {
  ASSERT_EQ(open("net.onnx"), 0) << said();
  set_quick();
  ASSERT_EQ(set("batch", "8"), 0);
  ASSERT_EQ(set("optimizer", "adam,beta1=0.8"), 0) << said();
  ASSERT_EQ(set("lr", "0.02"), 0) << said();
  pt_compiled facts{};
  facts.size = sizeof facts;
  ASSERT_EQ(pt_compile_plan(compiler_, &facts), 0) << said();
  const Model model = classifier({.batch = kBatch, .optimizer = Adam{.lr = 0.02, .beta1 = 0.8}}).value();
  const Plan plan = Plan::make(model, device("host"), quick()).value();
  EXPECT_EQ(facts.arena_bytes, static_cast<uint64_t>(plan.facts().arena_bytes));
  EXPECT_EQ(facts.batch, static_cast<uint64_t>(kBatch));
  pt_trainer* trainer = nullptr;
  ASSERT_EQ(pt_compile_train(compiler_, &trainer, nullptr), 0) << said();
  const Points batch = points(kBatch, 3);
  const std::vector<double> losses = losses_in_c(trainer, 4, batch, nullptr);
  Trainer same = Trainer::create(plan).value();
  for (const double loss : losses) EXPECT_EQ(same.step({batch.x, batch.y}).value().loss, loss);
  pt_train_close(trainer);
}

TEST_F(CompileC, StartsWithTheSettingsOfAnIniModel) {
  ASSERT_EQ(open("net.ini"), 0) << said();
  set_quick();
  ASSERT_EQ(pt_compile_plan(compiler_, nullptr), 0) << said();
  pt_trainer* trainer = nullptr;
  ASSERT_EQ(pt_compile_train(compiler_, &trainer, nullptr), 0) << said();
  const Points batch = points(kBatch, 5);
  const std::vector<float> targets(kBatch * kClasses, 0.5F);
  const std::vector<double> losses = losses_in_c(trainer, 5, batch, &targets);
  EXPECT_LT(losses.back(), losses.front());
  pt_train_result result{};
  result.size = sizeof result;
  const pt_train_data data[] = {{batch.x.data(), batch.x.size() * sizeof(float)},
                                {targets.data(), targets.size() * sizeof(float)}};
  ASSERT_EQ(pt_train_step(trainer, data, 2, &result), 0);
  EXPECT_EQ(result.learning_rate, 0.25);
  ASSERT_EQ(pt_train_save(trainer, path("trained.safetensors").c_str()), 0);
  pt_train_close(trainer);
  EXPECT_EQ(pt_compile_export(compiler_, path("trained.safetensors").c_str(), path("out.onnx").c_str()), 0) << said();
  EXPECT_TRUE(Model::from_file(path("out.onnx"), {.batch = 8, .loss = "mse"}));
}

TEST_F(CompileC, APlanThatIsSavedOpensATrainer) {
  ASSERT_EQ(open("net.onnx"), 0);
  set_quick();
  ASSERT_EQ(set("batch", "8"), 0);
  EXPECT_EQ(pt_compile_save(compiler_, nullptr, path("step.bin").c_str(), nullptr), 150);  // nothing is planned
  ASSERT_EQ(pt_compile_plan(compiler_, nullptr), 0);
  ASSERT_EQ(
      pt_compile_save(compiler_, path("p.json").c_str(), path("step.bin").c_str(), path("first.safetensors").c_str()),
      0);
  pt_trainer* trainer = nullptr;
  EXPECT_EQ(pt_train_open(&trainer, path("step.bin").c_str(), path("first.safetensors").c_str(), nullptr), 0);
  pt_train_close(trainer);
  EXPECT_TRUE(Plan::load(path("p.json")));
  ASSERT_EQ(set("batch", "16"), 0);  // the plan is one of other settings now
  EXPECT_EQ(pt_compile_train(compiler_, &trainer, nullptr), 150);
}

TEST_F(CompileC, RefusesWhatItsHeaderDoesNotAllow) {
  EXPECT_EQ(pt_compile_open(nullptr, "x"), 150);
  EXPECT_EQ(pt_compile_set(nullptr, "ram", "1KiB"), 150);
  EXPECT_EQ(open("absent.onnx"), 201);
  EXPECT_EQ(set("ram", "1KiB"), 150);  // there is no model
  pt_compile_close(compiler_);
  EXPECT_EQ(set("ram", "1KiB"), 150);  // closed
  ASSERT_EQ(open("net.onnx"), 0);
  EXPECT_EQ(set("rma", "1KiB"), 100);
  EXPECT_THAT(said(), HasSubstr("ram"));
  EXPECT_EQ(set("ram", "64"), 110);
  EXPECT_EQ(set("optimizer", "adm"), 115);
  EXPECT_EQ(set("no-paging", "off"), 115);
  EXPECT_EQ(set("no-paging", "on"), 0);
  EXPECT_EQ(set(nullptr, "1"), 150);
  EXPECT_EQ(set("batch", nullptr), 150);
  pt_compiled facts{};
  EXPECT_EQ(pt_compile_plan(compiler_, &facts), 150);  // the size is not set
  set_quick();
  ASSERT_EQ(set("ram", "1KiB"), 0);
  EXPECT_EQ(pt_compile_plan(compiler_, nullptr), 301) << said();
  pt_trainer* trainer = nullptr;
  EXPECT_EQ(pt_compile_train(compiler_, &trainer, nullptr), 150);
  EXPECT_EQ(trainer, nullptr);
}

TEST_F(CompileC, AFileWithoutALossIsPlannedWithTheOptionAlone) {
  std::string text = kIni;
  text.erase(text.find("loss = mse\n"), std::string("loss = mse\n").size());
  std::ofstream(path("graph.ini")) << text;
  ASSERT_EQ(open("graph.ini"), 0) << said();
  set_quick();
  EXPECT_EQ(pt_compile_plan(compiler_, nullptr), 214);
  EXPECT_THAT(said(), HasSubstr("names no loss"));
  ASSERT_EQ(set("loss", "l1"), 0) << said();
  EXPECT_EQ(pt_compile_plan(compiler_, nullptr), 0) << said();
}

TEST_F(CompileC, OptionsMayMendWhatAModelLeavesOpen) {
  ModelBuilder net("open");
  net.output("y", net.linear(net.input("x", {4}), {.features = 2, .name = "fc"}));
  std::ofstream(path("open.onnx"), std::ios::binary) << net.onnx().value();
  ASSERT_EQ(open("open.onnx"), 0) << said();
  set_quick();
  ASSERT_EQ(set("batch", "4"), 0);
  EXPECT_EQ(pt_compile_plan(compiler_, nullptr), 0) << said();
}

TEST_F(CompileC, TheFirstValueOfAListReplacesWhatTheFileSets) {
  std::ofstream(path("frozen.ini")) << kIni << "trainable = false\n";
  ASSERT_EQ(open("frozen.ini"), 0) << said();
  set_quick();
  ASSERT_EQ(set("freeze", "hidden.*"), 0) << said();
  ASSERT_EQ(pt_compile_plan(compiler_, nullptr), 0) << said();
  pt_trainer* trainer = nullptr;
  ASSERT_EQ(pt_compile_train(compiler_, &trainer, nullptr), 0) << said();
  std::array<float, kClasses> before{}, after{};
  ASSERT_EQ(pt_train_get(trainer, "y.bias", before.data(), sizeof before), 0);
  const std::vector<float> targets(kBatch * kClasses, 1.0F);
  losses_in_c(trainer, 1, points(kBatch, 2), &targets);
  ASSERT_EQ(pt_train_get(trainer, "y.bias", after.data(), sizeof after), 0);
  EXPECT_NE(before, after);
  pt_train_close(trainer);
}

}  // namespace
}  // namespace pantoum::api
