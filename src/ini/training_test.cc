// The sections that are no layers, as settings.
#include "ini/training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace pantoum::ini {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<Settings> read(const std::string& text, const std::string& path = "net.ini") {
  const Result<Text> parsed = parse_ini(text, path);
  if (!parsed) return Failure(parsed.error());
  return read_settings(*parsed);
}

Training training(const std::string& text, const std::string& path = "net.ini") {
  const Result<Settings> settings = read(text, path);
  EXPECT_TRUE(settings) << to_text(settings.error());
  return settings ? settings->training : Training();
}

std::string refusal(const std::string& text) {
  const Result<Settings> settings = read(text);
  return settings ? "" : to_text(settings.error());
}

Adam adam(const std::string& text) {
  const Training made = training(text);
  EXPECT_TRUE(made.optimizer && std::holds_alternative<Adam>(*made.optimizer)) << text;
  return made.optimizer && std::holds_alternative<Adam>(*made.optimizer) ? std::get<Adam>(*made.optimizer) : Adam();
}

Sgd sgd(const std::string& text) {
  const Training made = training(text);
  EXPECT_TRUE(made.optimizer && std::holds_alternative<Sgd>(*made.optimizer)) << text;
  return made.optimizer && std::holds_alternative<Sgd>(*made.optimizer) ? std::get<Sgd>(*made.optimizer) : Sgd();
}

TEST(IniTraining, TheModelSection) {
  const Training made = training(
      "[Model]\nType = NeuralNetwork\nEpochs = 7\nBatch_Size = 32\nSave_Path = net.bin\nTensor_Format = NCHW\n");
  EXPECT_EQ(made.epochs, 7);
  EXPECT_EQ(made.batch, 32);
  EXPECT_FALSE(made.optimizer || made.schedule || made.clip_norm);
  EXPECT_EQ(training("[model]\nloss = mse\n").batch, 1);
  EXPECT_EQ(training("[a]\ntype = input\n").batch, std::nullopt);
  const Result<Settings> settings = read("[model]\nloss = cross\nclip_grad_by_norm = 2\nlabel_layers = A, b\n");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->loss, LossName::kCross);
  EXPECT_EQ(settings->clip_of_all, 2);
  EXPECT_THAT(settings->label_layers.names, ElementsAre("a", "b"));
}

TEST(IniTraining, WhatThePlanDecidesIsPassedOverWithANote) {
  EXPECT_THAT(training("[model]\nfsu = true\nfsu_lookahead = 2\nmemory_optimization = false\n").notes,
              ElementsAre(HasSubstr("net.ini:4: 'memory_optimization'"), HasSubstr("net.ini:2: 'fsu'"),
                          HasSubstr("net.ini:3: 'fsu_lookahead'")));
  EXPECT_THAT(training("[model]\nloss = mse\n[test_set]\ntype = file\npath = a.dat\n").notes,
              ElementsAre(HasSubstr("net.ini:3: [test_set]")));
}

TEST(IniTraining, RatesOfOptimizers) {
  EXPECT_EQ(sgd("[optimizer]\ntype = SGD\nlearning_rate = 0.1\n").lr, 0.1);
  EXPECT_EQ(sgd("[optimizer]\ntype = sgd\n").lr, 1e-4);
  EXPECT_EQ(sgd("[optimizer]\ntype = sgd\nlearning_rate = 0.1\n[learningratescheduler]\ntype = constant\nlearning_rate "
                "= 0.2\n")
                .lr,
            0.2);
  EXPECT_EQ(adam("[optimizer]\nlearning_rate = 0.1\n").lr, 0.1);
  EXPECT_EQ(adam("[optimizer]\ntype = adam\n").lr, 1e-3);
  EXPECT_EQ(adam("[optimizer]\ntype = adam\n[learningratescheduler]\ntype = constant\nlearning_rate = 0.2\n").lr, 0.2);
}

TEST(IniTraining, Adams) {
  const Adam usual = adam("[optimizer]\ntype = adam\n");
  EXPECT_EQ(usual.beta1, 0.9);
  EXPECT_EQ(usual.beta2, 0.999);
  EXPECT_EQ(usual.eps, 1e-7);
  EXPECT_TRUE(usual.eps_before_correction);
  const Adam set = adam(
      "[optimizer]\ntype = adam\nbeta1 = 0.8\nbeta2 = 0.99\nepsilon = 1e-5\ntorch_ref = true\nweight_decay = 0.1\n");
  EXPECT_EQ(set.beta1, 0.8);
  EXPECT_EQ(set.beta2, 0.99);
  EXPECT_EQ(set.eps, 1e-5);
  EXPECT_EQ(set.weight_decay, 0.1);
  EXPECT_FALSE(set.eps_before_correction);
  EXPECT_THAT(refusal("[optimizer]\ntype = adamw\n"), HasSubstr("--optimizer adamw"));
  EXPECT_THAT(refusal("[optimizer]\ntype = adma\n"), HasSubstr("did you mean adam?"));
  EXPECT_THAT(refusal("[optimizer]\ntype = sgd\nmomentum = 0.9\n"),
              AllOf(HasSubstr("'momentum' is not known"), HasSubstr("net.ini:3")));
  EXPECT_THAT(refusal("[optimizer]\nbeta1 = 2\n"), HasSubstr("no number from 0 to 1"));
}

TEST(IniTraining, OldFilesHaveTheOptimizerInModel) {
  const std::string keys =
      "learning_rate = 0.01\nbeta1 = 0.8\nbeta2 = 0.99\nepsilon = 1e-5\ndecay_rate = 0.5\ndecay_steps = 10\n";
  const Adam old = adam("[model]\noptimizer = adam\n" + keys);
  EXPECT_EQ(old.lr, 0.01);
  EXPECT_EQ(old.beta1, 0.8);
  EXPECT_EQ(old.eps, 1e-5);
  EXPECT_TRUE(old.eps_before_correction);
  EXPECT_EQ(training("[model]\noptimizer = adam\n" + keys).schedule,
            fmt::format("exponential,gamma={}", std::pow(0.5, 0.1)));
  // Without the key `optimizer` they mean nothing.
  const Training passed = training("[model]\n" + keys + "[optimizer]\ntype = sgd\n");
  EXPECT_EQ(std::get<Sgd>(*passed.optimizer).lr, 1e-4);
  EXPECT_EQ(passed.schedule, std::nullopt);
  EXPECT_EQ(passed.notes.size(), 6U);
  EXPECT_THAT(passed.notes[0], HasSubstr("net.ini:2: 'learning_rate' of [model] is passed over"));
}

TEST(IniTraining, Schedules) {
  const auto schedule = [](const std::string& keys) {
    return training("[optimizer]\ntype = sgd\n[learningratescheduler]\n" + keys).schedule;
  };
  EXPECT_EQ(schedule("type = constant\n"), std::nullopt);
  EXPECT_EQ(schedule("type = exponential\nlearning_rate = 0.1\ndecay_rate = 0.9\n"), "exponential,gamma=0.9");
  EXPECT_EQ(schedule("type = exponential\ndecay_rate = 0.25\ndecay_steps = 2\n"), "exponential,gamma=0.5");
  EXPECT_EQ(schedule("type = step\nlearning_rate = 0.8, 0.4, 0.2\niteration = 10, 30\n"),
            "multi_step,at=11:31,to=0.4:0.2")
      << "iterations count from 0, and a rate holds up to the iteration that is named, as in NNTrainer";
  EXPECT_EQ(schedule("type = cosine\nmax_learning_rate = 1e-2\nmin_learning_rate = 1e-4\ndecay_steps = 30\n"),
            "cosine,to=0.0001,every=30");
  EXPECT_EQ(schedule("type = linear\nmax_learning_rate = 1e-2\nmin_learning_rate = 0\ndecay_steps = 30\n"),
            "linear,to=0,over=30");
  EXPECT_EQ(
      sgd("[optimizer]\ntype = sgd\n[learningratescheduler]\ntype = step\nlearning_rate = 0.8,0.4\niteration = 10\n")
          .lr,
      0.8);
  EXPECT_EQ(sgd("[optimizer]\ntype = sgd\nlearning_rate = 3\n[learningratescheduler]\ntype = linear\n"
                "max_learning_rate = 0.7\nmin_learning_rate = 0\ndecay_steps = 30\n")
                .lr,
            0.7);
  EXPECT_EQ(training("[optimizer]\ntype = sgd\ndecay_rate = 0.25\ndecay_steps = 2\n").schedule,
            "exponential,gamma=0.5");
  // A scheduler counts more than the optimizer's decay.
  EXPECT_EQ(training("[optimizer]\ntype = sgd\ndecay_rate = 0.25\n[learningratescheduler]\ntype = constant\n").schedule,
            std::nullopt);
}

TEST(IniTraining, SchedulesThatAreRefused) {
  const auto refused = [](const std::string& keys) { return refusal("[learningratescheduler]\n" + keys); };
  EXPECT_THAT(refused("learning_rate = 1\n"), HasSubstr("the key 'type' is missing"));
  EXPECT_THAT(refused("type = exponential\n"), HasSubstr("the key 'decay_rate' is missing"));
  EXPECT_THAT(refused("type = step\nlearning_rate = 1\niteration = 3\n"), HasSubstr("one rate more than iterations"));
  EXPECT_THAT(refused("type = step\nlearning_rate = 1, 0.5, 0.25\niteration = 6, 6\n"),
              AllOf(HasSubstr("the iterations do not rise"), HasSubstr("net.ini:4")));
  for (const char* type : {"linear", "cosine"}) {
    const std::string begin = fmt::format("type = {}\n", type);
    EXPECT_THAT(refused(begin + "max_learning_rate = 1\nmin_learning_rate = 0\n"),
                HasSubstr("'decay_steps' is missing"));
    EXPECT_THAT(refused(begin + "max_learning_rate = 1\ndecay_steps = 9\n"),
                HasSubstr("'min_learning_rate' is missing"));
    EXPECT_THAT(refused(begin + "max_learning_rate = 1\nmin_learning_rate = 2\ndecay_steps = 9\n"),
                AllOf(HasSubstr("above the most"), HasSubstr("net.ini:4")));
    EXPECT_THAT(refused(begin + "max_learning_rate = 1\nmin_learning_rate = 0\ndecay_steps = 1.5\n"),
                HasSubstr("no whole number"));
    EXPECT_THAT(refused(begin + "learning_rate = 1\nmax_learning_rate = 1\nmin_learning_rate = 0\ndecay_steps = 9\n"),
                HasSubstr("'learning_rate' is not known"));
  }
  EXPECT_THAT(refused("type = exponentail\ndecay_rate = 0.9\n"), HasSubstr("did you mean exponential?"));
}

TEST(IniTraining, DataSets) {
  const Training old = training(
      "[model]\nloss = mse\n[DataSet]\nBufferSize=100\nTrainData=\"a.dat\"\nValidData = sub/b.dat\nLabelData=l.dat\n",
      "some/where/net.ini");
  EXPECT_EQ(old.train_data, "some/where/a.dat");
  EXPECT_EQ(old.test_data, "some/where/sub/b.dat");
  const Training made =
      training("[train_set]\ntype = file\npath = a.dat\nbuffer_size = 9\n[valid_set]\ntype = file\npath = b.dat\n",
               "some/where/net.ini");
  EXPECT_EQ(made.train_data, "a.dat");
  EXPECT_EQ(made.test_data, "b.dat");
  EXPECT_EQ(training("[dataset]\ntraindata = /a.dat\n", "some/net.ini").train_data, "/a.dat");
  EXPECT_THAT(refusal("[train_set]\ntype = file\n"), HasSubstr("the key 'path' is missing"));
  EXPECT_THAT(refusal("[train_set]\ntype = generator\npath = a\n"), HasSubstr("'generator'"));
  EXPECT_THAT(refusal("[dataset]\ntrain_data = a\n"), HasSubstr("did you mean traindata?"));
}

TEST(IniTraining, TensorsOfOtherTypesAreRefused) {
  EXPECT_EQ(refusal("[model]\nmodel_tensor_type = fp32-FP32\nloss_scale = 1\n"), "");
  EXPECT_THAT(refusal("[model]\nmodel_tensor_type = FP16-FP16\n"), HasSubstr("only FP32-FP32"));
  EXPECT_THAT(refusal("[model]\nloss_scale = 128\n"), HasSubstr("a scaled loss"));
  EXPECT_THAT(refusal("[model]\nbatchsize = 3\n"), HasSubstr("did you mean batch_size?"));
  EXPECT_THAT(refusal("[model]\nbatch_size = 0\n"), HasSubstr("net.ini:2"));
  EXPECT_THAT(training("[model]\nbatch_size = 3\n").notes, IsEmpty());
}

}  // namespace
}  // namespace pantoum::ini
