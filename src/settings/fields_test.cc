#include "settings/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pantoum::settings {
namespace {

const Field& field_of(const Fields& fields, const std::string& name) {
  for (const Field& field : fields)
    if (name == field.setting.name) return field;
  ADD_FAILURE() << "no setting " << name;
  return fields.front();
}

template <class Options>
Result<void> set(Options& options, const std::string& name, const std::string& text) {
  return field_of(fields_of(options), name).set(text, "--" + name);
}

template <class Options>
std::string refusal(const std::string& name, const std::string& text) {
  Options options;
  const Result<void> done = set(options, name, text);
  return done ? "" : done.error().code + ": " + done.error().message;
}

TEST(Fields, AreSetFromWords) {
  ModelOptions model;
  const Field loss = field_of(fields_of(model), "loss");
  loss.clear();
  ASSERT_TRUE(loss.set("boxes=smooth_l1,beta=2,weight=0.5", "--loss"));
  ASSERT_TRUE(loss.set("kind=cross_entropy,classes_last", "--loss"));
  ASSERT_EQ(model.loss.terms().size(), 2U);
  EXPECT_EQ(model.loss.terms()[0].output, "boxes");
  EXPECT_DOUBLE_EQ(model.loss.terms()[0].beta, 2);
  EXPECT_TRUE(model.loss.terms()[1].classes_last);
  ASSERT_TRUE(set(model, "optimizer", "sgd,momentum=0.9,nesterov"));
  EXPECT_TRUE(std::get<Sgd>(model.optimizer).nesterov);
  ASSERT_TRUE(set(model, "groups", "*.bias|norm,weight_decay=0"));
  ASSERT_TRUE(set(model, "groups", "head[,=],a,lr=0.5,weight_decay=0.25"));
  EXPECT_EQ(model.groups.front().names, "*.bias|norm");
  EXPECT_EQ(model.groups.front().lr, std::nullopt);
  EXPECT_EQ(model.groups.front().weight_decay, 0.0);
  EXPECT_EQ(model.groups.back().names, "head[,=],a") << "names may have commas";
  EXPECT_EQ(model.groups.back().lr, 0.5);
  ASSERT_TRUE(set(model, "metrics", "top5"));
  EXPECT_TRUE(model.metrics.top5);
  PlanOptions plan;
  ASSERT_TRUE(set(plan, "ram", "256KiB"));
  EXPECT_EQ(plan.ram, KiB(256));
  ASSERT_TRUE(set(plan, "deadline", "450ms"));
  ASSERT_TRUE(set(plan, "deadline", "1.5x"));
  EXPECT_EQ(plan.deadline.seconds, Seconds(0.45));
  EXPECT_EQ(plan.deadline.relative, 1.5);
  ASSERT_TRUE(set(plan, "paging", ""));
  EXPECT_FALSE(plan.paging);
  ASSERT_TRUE(set(plan, "gap", "1%"));
  EXPECT_DOUBLE_EQ(plan.gap, 0.01);
  TrainerOptions trainer;
  ASSERT_TRUE(set(trainer, "augment", "crop=4"));
  EXPECT_EQ(trainer.augment.crop, 4);
  ASSERT_TRUE(set(trainer, "normalize", "0.5,0.25"));
  EXPECT_FLOAT_EQ(trainer.normalize.front().deviation, 0.25F);
}

TEST(Fields, AreRefusedWithWhatIsWrong) {
  EXPECT_EQ(refusal<ModelOptions>("loss", "hinge"), "E0115: 'hinge' is no loss");
  EXPECT_EQ(refusal<ModelOptions>("loss", "mse,beta=1"), "E0117: the loss mse has no 'beta'");
  EXPECT_EQ(refusal<ModelOptions>("metrics", "f1"), "E0115: 'f1' is none of the metrics");
  EXPECT_EQ(refusal<ModelOptions>("optimizer", "adam,momentum=0.9"), "E0117: the optimizer adam has no 'momentum'");
  EXPECT_EQ(refusal<ModelOptions>("optimizer", "adam,beta1=1"), "E0116: 1 is out of range");
  EXPECT_EQ(refusal<ModelOptions>("optimizer", "sgd,nesterov"), "E0117: Nesterov's step is one with momentum");
  EXPECT_EQ(refusal<ModelOptions>("clip_norm", "0"), "E0116: 0 is out of range");
  EXPECT_EQ(refusal<ModelOptions>("feature_cache", "64").substr(0, 5), "E0110");
  EXPECT_EQ(refusal<PlanOptions>("deadline", "450").substr(0, 5), "E0111");
  EXPECT_EQ(refusal<PlanOptions>("deadline", "0s"), "E0111: no step takes no time");
  EXPECT_EQ(refusal<PlanOptions>("finish_within", "0h").substr(0, 5), "E0111");
  EXPECT_EQ(refusal<PlanOptions>("energy_limit_j", "3").substr(0, 5), "E0121");
  EXPECT_EQ(refusal<PlanOptions>("gap", "1").substr(0, 5), "E0112");
  EXPECT_EQ(refusal<PlanOptions>("kernels", "fast"), "E0115: 'fast' is not known here");
  EXPECT_EQ(refusal<TrainerOptions>("normalize", "0.5").substr(0, 5), "E0120");
  EXPECT_EQ(refusal<TrainerOptions>("augment", "spin"), "E0115: 'spin' is none of the augment");
}

TEST(Fields, TellTheirValuesInTheWordsThatSetThem) {
  ModelOptions model{.loss = {{.name = "mse", .weight = 2}}, .optimizer = Adam{.lr = 0.1, .beta1 = 0.8}};
  const Fields fields = fields_of(model);
  EXPECT_THAT(field_of(fields, "loss").texts(), testing::ElementsAre("mse,weight=2"));
  EXPECT_THAT(field_of(fields, "optimizer").texts(), testing::ElementsAre("adam,beta1=0.8"));
  EXPECT_THAT(field_of(fields, "lr").texts(), testing::ElementsAre("0.1"));
  EXPECT_TRUE(field_of(fields, "weight_decay").is_default());
  PlanOptions plan{.ram = KiB(300), .deadline = Relative(1.5)};
  EXPECT_THAT(field_of(fields_of(plan), "ram").texts(), testing::ElementsAre("300KiB"));
  EXPECT_THAT(field_of(fields_of(plan), "deadline").texts(), testing::ElementsAre("1.5x"));
  EXPECT_THAT(field_of(fields_of(plan), "gap").texts(), testing::ElementsAre("0.01%"));
}

// Every option's own words give the same value again.
template <class Options>
void expect_words_hold(Options options) {
  Options again;
  for (const Field& field : fields_of(options)) {
    if (field.setting.option == nullptr || field.is_default()) continue;
    const Field other = field_of(fields_of(again), field.setting.name);
    other.clear();
    for (const std::string& text : field.texts()) EXPECT_TRUE(other.set(text, field.key)) << field.key << " " << text;
  }
  EXPECT_EQ(record_of(fields_of(again)), record_of(fields_of(options)));
}

TEST(Fields, AreReadAgainFromTheirWords) {
  expect_words_hold(ModelOptions{.batch = 8,
                                 .loss = {{.name = "nll", .output = "y", .ignore_index = 3}},
                                 .optimizer = RmsProp{.alpha = 0.5, .weight_decay = 0.25, .centered = true},
                                 .groups = {{"*.bias", {}, 0}, {"head=*|b", 0.5}, {"a,b", 2, 1e-5}},
                                 .clip_norm = 1.5,
                                 .metrics = {.top5 = true, .mae = true},
                                 .feature_cache = MiB(3),
                                 .params_in = ParamsIn::aux});
  expect_words_hold(PlanOptions{.ram = Bytes(12345),
                                .deadline = std::chrono::milliseconds(450),
                                .energy_limit_j = 0.125,
                                .effort = 3,
                                .paging = false,
                                .compact_activations = true,
                                .page_encryption = false,
                                .disable = {"fusions", "layouts"}});
}

TEST(Check, NamesStructureAndField) {
  PlanOptions options{.threads = 0};
  const Result<void> checked = check(fields_of(options), "PlanOptions");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, "E0116");
  EXPECT_EQ(checked.error().where, "PlanOptions::threads");
  EXPECT_EQ(checked.error().help, "give a number from 1 to 4096");
}

TEST(BesidePlan, RefusesWhatChangesTheStepWithBothValues) {
  const auto refused = [](ModelOptions made, ModelOptions given) {
    const Result<void> checked = check_beside_plan(fields_of(made), fields_of(given));
    return checked ? "" : checked.error().code + ": " + checked.error().message;
  };
  EXPECT_EQ(refused({.batch = 8}, {.batch = 16}), "E0231: --batch is 16 here, and the plan was made with 8");
  EXPECT_EQ(refused({.optimizer = Sgd{.lr = 0.1}}, {.optimizer = Sgd{.lr = 0.2}}), "");
  EXPECT_EQ(refused({.optimizer = Sgd{}}, {.optimizer = Adam{}}),
            "E0231: --optimizer is adam here, and the plan was made with sgd");
  EXPECT_EQ(refused({.optimizer = Sgd{}}, {.optimizer = Sgd{.weight_decay = 0.5}}),
            "E0231: --weight-decay is 0.5 here, and the plan was made with 0");
  const auto of_ram = [](Bytes made, Bytes given) {
    PlanOptions one{.ram = made}, other{.ram = given};
    const Result<void> checked = check_beside_plan(fields_of(one), fields_of(other));
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(of_ram(MiB(4), MiB(8)), "");
  EXPECT_EQ(of_ram(MiB(4), MiB(2)), "--ram is 2MiB here, and the plan was made with 4MiB");
}

TEST(Descriptions, AreWholeAndInOneForm) {
  const Json all = all_descriptions();
  for (const auto& [structure, list] : all.items()) {
    if (!list.is_array() || structure == "losses") continue;
    for (const Json& one : list) {
      const std::string help = one["help"];
      EXPECT_GT(help.size(), 3U) << structure << "." << one["name"];
      EXPECT_NE(help.back(), '.') << help;
      EXPECT_EQ(help.find("without it"), std::string::npos) << help;
    }
  }
}

}  // namespace
}  // namespace pantoum::settings
