#include "cli/model_options.h"

#include <gtest/gtest.h>

#include "cli/data_options.h"
#include "cli/run_options.h"
#include "plan/simulate/switches.h"

namespace pantoum::cli {
namespace {

// The words of a `plan` as they become values.
struct Asked {
  ModelWords model;
  PlanWords plan;
  DataWords data;
  ScheduleWords rate;

  explicit Asked(std::vector<const char*> words) {
    CommandLine line("pantoum", "", "");
    Verb verb = line.add_verb("plan", "");
    add_model_options(verb, model);
    add_plan_options(verb, plan);
    add_data_options(verb, data, model.feature_cache);
    add_schedule_options(verb, rate);
    verb.does([]() -> Result<int> { return 0; });
    words.insert(words.begin(), {"pantoum", "plan", "--data", "digits"});
    const auto parsed = line.parse(static_cast<int>(words.size()), words.data());
    EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
  }
};

template <class T>
std::string refusal(const Result<T>& result) {
  return result ? "" : result.error().code + " " + result.error().where;
}

pipeline::ModelOptions model_of(const std::vector<const char*>& words) {
  return model_options(Asked(words).model).value();
}
pipeline::PlanRequest request_of(const std::vector<const char*>& words) {
  return plan_request(Asked(words).plan).value();
}

TEST(ModelOptions, BecomeValues) {
  const pipeline::ModelOptions model = model_of({"--batch",
                                                 "8",
                                                 "--loss",
                                                 "boxes=smooth_l1,beta=2,weight=0.5",
                                                 "--metrics",
                                                 "top5",
                                                 "--optimizer",
                                                 "sgd",
                                                 "--momentum",
                                                 "0.9",
                                                 "--nesterov",
                                                 "--lr",
                                                 "0.05",
                                                 "--seed",
                                                 "7",
                                                 "--freeze",
                                                 "body.*",
                                                 "--accept-folded",
                                                 "--train",
                                                 "table*",
                                                 "--params-in",
                                                 "aux",
                                                 "--feature-cache",
                                                 "1MiB",
                                                 "--weights",
                                                 "w.safetensors",
                                                 "--keep-init",
                                                 "head.*"});
  EXPECT_EQ(model.batch, 8);
  ASSERT_EQ(model.training.losses.size(), 1U);
  EXPECT_EQ(model.training.losses[0].output, "boxes");
  EXPECT_DOUBLE_EQ(model.training.losses[0].beta, 2);
  EXPECT_TRUE(model.training.metrics.top5);
  EXPECT_TRUE(std::get<autodiff::Sgd>(model.training.optimizer).nesterov);
  EXPECT_DOUBLE_EQ(model.lr, 0.05);
  EXPECT_EQ(model.seed, 7U);
  EXPECT_TRUE(model.accept_folded);
  EXPECT_EQ(model.train, std::vector<std::string>{"table*"});
  EXPECT_EQ(model.params_in, cost::ParamsIn::kAux);
  EXPECT_EQ(model.feature_cache, 1 << 20);
  EXPECT_EQ(model.weights.keep_init, std::vector<std::string>{"head.*"});
}

TEST(ModelOptions, AreRefusedByTheirNames) {
  const auto refused = [](const std::vector<const char*>& words) { return refusal(model_options(Asked(words).model)); };
  EXPECT_EQ(refused({"--loss", "hinge"}), "E0115 --loss");
  EXPECT_EQ(refused({"--loss", "mse,beta=1"}), "E0117 --loss");
  EXPECT_EQ(refused({"--metrics", "f1"}), "E0115 --metrics");
  EXPECT_EQ(refused({"--optimizer", "adam", "--momentum", "0.9"}), "E0117 --momentum");
  EXPECT_EQ(refused({"--lr", "-1"}), "E0116 --lr");
  EXPECT_EQ(refused({"--feature-cache", "64"}), "E0110 --feature-cache");
}

TEST(PlanOptions, BecomeValues) {
  const pipeline::PlanRequest request =
      request_of({"--ram",           "256KiB",    "--reserve",    "8KiB",      "--rom",     "0B",
                  "--device",        "m4",        "--deadline",   "1.5x",      "--at-most", "energy=3J",
                  "--finish-within", "2h",        "--objective",  "edp",       "--gap",     "1%",
                  "--effort",        "2",         "--no-paging",  "--threads", "3",         "--kernels",
                  "portable",        "--without", "hoist,landing"});
  const problem::Question& question = request.options.question;
  EXPECT_EQ(question.budget, 256 << 10);
  EXPECT_EQ(request.reserve, 8 << 10);
  EXPECT_EQ(request.rom, 0);
  EXPECT_EQ(question.energy_limit, 3);
  EXPECT_EQ(request.deadline.training, 7200);
  EXPECT_EQ(question.objective, problem::Objective::kEdp);
  EXPECT_FALSE(question.freedoms.paging);
  EXPECT_TRUE(question.freedoms.recomputing);
  EXPECT_EQ(request.kernel_threads, 3);
  EXPECT_EQ(request.kernels, host::KernelSet::Choice::kPortable);
  EXPECT_TRUE(request.options.without.has(plan::Switch::kPrefetch));
}

TEST(PlanOptions, KnowOldSpellings) {
  EXPECT_TRUE(request_of({"--small-saves"}).compact_activations);
  EXPECT_TRUE(request_of({"--compact-activations"}).compact_activations);
  for (const char* name : {"remat", "rematerialization"})
    EXPECT_FALSE(request_of({"--disable", name}).options.question.freedoms.recomputing) << name;
  for (const char* name : {"inplace", "in-place"})
    EXPECT_FALSE(request_of({"--disable", name}).options.question.freedoms.in_place) << name;
}

TEST(PlanOptions, SwitchPassesOff) {
  EXPECT_FALSE(request_of({"--disable", "layouts"}).layouts);
  EXPECT_FALSE(request_of({"--disable", "updates"}).fuse_updates);
  const pipeline::PlanRequest plain = request_of({"--disable", "fusions"});
  EXPECT_FALSE(plain.fuse);
  EXPECT_FALSE(plain.fuse_updates);
}

TEST(PlanOptions, AreRefusedByTheirNames) {
  const auto refused = [](const std::vector<const char*>& words) { return refusal(plan_request(Asked(words).plan)); };
  EXPECT_EQ(refused({"--ram", "256"}), "E0110 --ram");
  EXPECT_EQ(refused({"--ram", "0B"}), "E0300 --ram");
  EXPECT_EQ(refused({"--gap", "1"}), "E0112 --gap");
  EXPECT_EQ(refused({"--disable", "gravity"}), "E0115 --disable");
  EXPECT_EQ(refused({"--without", "gravity"}), "E0115 --without");
  EXPECT_EQ(refusal(dump_of(Asked({"--dump-after", "lunch"}).plan)), "E0115 --dump-after");
}

TEST(StepLimits, AreTheTightestOfThoseGiven) {
  const pipeline::PlanRequest request = request_of({"--deadline", "450ms", "--at-most", "time=400ms", "--at-most",
                                                    "time=1.2x", "--at-most", "energy=2J", "--at-most", "energy=1J"});
  EXPECT_EQ(request.deadline.seconds, 0.4);
  EXPECT_EQ(request.deadline.relative, 1.2);
  EXPECT_EQ(request.options.question.energy_limit, 1);
}

TEST(StepLimits, AreRefusedByTheirNames) {
  const auto refused = [](const std::vector<const char*>& words) { return refusal(plan_request(Asked(words).plan)); };
  EXPECT_EQ(refused({"--deadline", "450"}), "E0111 --deadline");
  EXPECT_EQ(refused({"--deadline", "0s"}), "E0111 --deadline");
  EXPECT_EQ(refused({"--at-most", "ram=3KiB"}), "E0115 --at-most");
  EXPECT_EQ(refused({"--at-most", "energy=3"}), "E0121 --at-most energy");
  EXPECT_EQ(refused({"--finish-within", "0h"}), "E0111 --finish-within");
}

TEST(DataOptions, BecomeARequest) {
  const Asked asked(
      {"--normalize", "0.5,0.25", "--augment", "flip,crop:4", "--label-column", "a,b", "--prefetch", "3"});
  const Result<pipeline::DataRequest> request = data_request(asked.data, "out/weights.safetensors");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->path, "digits");
  EXPECT_EQ(request->cache_folder, "out/.cache");
  EXPECT_EQ(request->label_columns, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request->prefetch, 3);
  EXPECT_FLOAT_EQ(request->preparation.normalization.front().deviation, 0.25F);
  EXPECT_EQ(request->preparation.augmentation.crop, 4);
  EXPECT_EQ(refusal(data_request(Asked({"--normalize", "0.5"}).data, "out")), "E0120 --normalize");
  EXPECT_EQ(refusal(data_request(Asked({"--augment", "spin"}).data, "out")), "E0120 --augment");
}

TEST(ScheduleOptions, RefuseAWarmUpThatStandsTwice) {
  EXPECT_EQ(refusal(schedule_of(Asked({"--schedule", "cosine", "--warmup", "5%"}).rate)), "");
  EXPECT_EQ(refusal(schedule_of(Asked({"--schedule", "cosine,warmup=5", "--warmup", "5"}).rate)), "E0117 --warmup");
}

}  // namespace
}  // namespace pantoum::cli
