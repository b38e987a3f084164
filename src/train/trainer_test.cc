#include "train/trainer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/files.h"
#include "testing/tiny_plan.h"

namespace pantoum::train {
namespace {

using ::testing::HasSubstr;

class TrainerTest : public TrainFolder {};

std::vector<float> floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// One SGD step of the tiny model in double.
struct Reference {
  std::vector<double> w, b, vw = std::vector<double>(18), vb = std::vector<double>(3);
  std::optional<double> lr_b = {};
  double decay_w = 1e-4, decay_b = 1e-4;

  double step(const data::Dataset& data, const std::vector<uint32_t>& indices, double lr) {
    std::vector<double> dw(18), db(3);
    double loss = 0;
    const auto batch = static_cast<double>(indices.size());
    for (const uint32_t index : indices) {
      std::array<std::byte, 6> x{};
      std::byte label{};
      EXPECT_TRUE(data.inputs[0]->read(index, x) && data.labels->read(index, std::span(&label, 1)));
      std::array<double, 3> p{b[0], b[1], b[2]};
      for (size_t f = 0; f < 6; ++f)
        for (size_t c = 0; c < 3; ++c) p[c] += std::to_integer<int>(x[f]) / 255.0 * w[f * 3 + c];
      double sum = 0;
      for (double& logit : p) sum += logit = std::exp(logit);
      for (double& value : p) value /= sum;
      loss -= std::log(p[std::to_integer<size_t>(label)]) / batch;
      p[std::to_integer<size_t>(label)] -= 1;
      for (size_t c = 0; c < 3; ++c) db[c] += p[c] / batch;
      for (size_t f = 0; f < 6; ++f)
        for (size_t c = 0; c < 3; ++c) dw[f * 3 + c] += std::to_integer<int>(x[f]) / 255.0 * p[c] / batch;
    }
    update(w, dw, vw, lr, decay_w);
    update(b, db, vb, lr_b.value_or(lr), decay_b);
    return loss;
  }

  static void update(std::vector<double>& p, const std::vector<double>& g, std::vector<double>& v, double lr,
                     double decay) {
    for (size_t at = 0; at < p.size(); ++at) {
      v[at] = 0.9 * v[at] + g[at] + decay * p[at];
      p[at] -= lr * v[at];
    }
  }
};

TEST_F(TrainerTest, StepsAsTheFormulasSay) {
  const auto data = tiny_data(40);
  Reference reference;
  for (const float value : floats(tensor("weights", "w"))) reference.w.push_back(value);
  for (const float value : floats(tensor("weights", "b"))) reference.b.push_back(value);
  const auto trained = trainer();
  ASSERT_NE(trained, nullptr);
  for (uint32_t step = 1; step <= 5; ++step) {
    const std::vector<uint32_t> indices{step, 39 - step, 7 * step, step};
    const auto stats = trained->step(data, indices);
    ASSERT_TRUE(stats) << to_text(stats.error());
    EXPECT_EQ(stats->step, step);
    EXPECT_NEAR(stats->loss, reference.step(data, indices, 0.05), 1e-5);
  }
  ASSERT_TRUE(trained->save(path("trained")));
  const auto w = floats(tensor("trained", "w")), v = floats(tensor("trained", "optim.momentum.w"));
  ASSERT_EQ(w.size(), 18U);
  for (size_t at = 0; at < w.size(); ++at) {
    EXPECT_NEAR(w[at], reference.w[at], 1e-5);
    EXPECT_NEAR(v[at], reference.vw[at], 1e-5);
  }
}

TEST_F(TrainerTest, RatesAndDecaysOfGroupsAreReadBeforeEveryStep) {
  const auto data = tiny_data(40);
  for (const TinyOptions tiny : {TinyOptions{.groups = true}, TinyOptions{.in_storage = true, .groups = true},
                                 TinyOptions{.batch = 2, .micro_batches = 2, .groups = true}}) {
    Reference reference;
    for (const float value : floats(tensor("weights", "w"))) reference.w.push_back(value);
    for (const float value : floats(tensor("weights", "b"))) reference.b.push_back(value);
    const auto trained = trainer(tiny);
    ASSERT_EQ(trained->groups().size(), 2U) << "told by the plan";
    for (uint32_t step = 1; step <= 6; ++step) {
      if (step == 2) reference.lr_b = 0.2, trained->set_group(1, {.lr = 0.2, .weight_decay = {}});
      if (step == 3) reference.decay_w = 0.5, trained->set_group(0, {.lr = {}, .weight_decay = 0.5});
      if (step == 4) reference.lr_b = 0, trained->set_group(1, {.lr = 0, .weight_decay = 0.25});
      if (step == 4) reference.decay_b = 0.25;
      if (step == 5) reference.lr_b = {}, trained->set_group(1, {.lr = {}, .weight_decay = 0.25});
      const std::vector<uint32_t> indices{step, 39 - step, 6 * step, step};
      EXPECT_NEAR(trained->step(data, indices)->loss, reference.step(data, indices, 0.05), 1e-5);
    }
    ASSERT_TRUE(trained->save(path("trained")));
    const auto w = floats(tensor("trained", "w")), b = floats(tensor("trained", "b"));
    for (size_t at = 0; at < w.size(); ++at) EXPECT_NEAR(w[at], reference.w[at], 1e-5);
    for (size_t at = 0; at < b.size(); ++at) EXPECT_NEAR(b[at], reference.b[at], 1e-5);
  }
}

TEST_F(TrainerTest, TheScheduleHoldsForTheRatesOfGroups) {
  const auto data = tiny_data(40);
  const auto made = [&](double lr, std::vector<GroupRates> groups) {
    auto trained = Trainer::create(TinyPlan({.groups = true}).encoded(), path("weights"),
                                   {.threads = 1,
                                    .lr = lr,
                                    .schedule = parse_schedule("cosine,to=0.01,warmup=2", "").value(),
                                    .groups = std::move(groups)})
                       .value();
    trained->set_total_steps(6);
    for (uint32_t step = 0; step < 6; ++step)
      EXPECT_TRUE(trained->step(data, std::vector<uint32_t>{step, step + 9, step + 20, 39 - step}));
    EXPECT_TRUE(trained->save(path("made")));
    return std::pair(tensor("made", "w"), tensor("made", "b"));
  };
  EXPECT_EQ(made(9, {{0.3, {}}, {0.3, {}}}), made(0.3, {}));
  EXPECT_NE(made(0.3, {{0.1, {}}}), made(0.3, {}));
}

TEST_F(TrainerTest, ResumesTheRatesOfGroups) {
  const auto data = tiny_data(40);
  const std::vector<uint32_t> indices{0, 1, 2, 3};
  const auto whole = trainer({.groups = true}), after = trainer({.groups = true});
  whole->set_group(0, {.lr = 0.1 / 3, .weight_decay = {}});
  whole->set_group(1, {.lr = {}, .weight_decay = 1e-300});
  ASSERT_TRUE(whole->step(data, indices) && whole->save(path("point")));
  const auto resumed = after->resume(path("point"));
  ASSERT_TRUE(resumed) << to_text(resumed.error());
  EXPECT_EQ(after->groups(), whole->groups());
  ASSERT_TRUE(whole->step(data, indices) && after->step(data, indices));
  ASSERT_TRUE(whole->save(path("whole")) && after->save(path("after")));
  EXPECT_EQ(base::read_file(path("whole")).value(), base::read_file(path("after")).value());
  EXPECT_EQ(trainer()->resume(path("point")).error().code, "E0243") << "a plan without groups";
}

TEST_F(TrainerTest, MicroBatchesMakeTheStepOfTheWholeBatch) {
  const auto data = tiny_data(40);
  const auto whole = trainer(), parts = trainer({.batch = 2, .micro_batches = 2}),
             stored = trainer({.batch = 2, .in_storage = true, .micro_batches = 2});
  ASSERT_TRUE(whole && parts && stored);
  EXPECT_EQ(parts->batch(), 4);
  for (uint32_t step = 0; step < 5; ++step) {
    const std::vector<uint32_t> indices{step, step + 9, step + 20, 39 - step};
    const auto loss = parts->step(data, indices);
    ASSERT_TRUE(loss) << to_text(loss.error());
    EXPECT_NEAR(loss->loss, whole->step(data, indices)->loss, 1e-6);
    EXPECT_EQ(loss->loss, stored->step(data, indices)->loss);
  }
  ASSERT_TRUE(whole->save(path("whole")) && parts->save(path("parts")));
  const auto a = floats(tensor("whole", "w")), b = floats(tensor("parts", "w"));
  for (size_t at = 0; at < a.size(); ++at) EXPECT_NEAR(a[at], b[at], 1e-6);
  EXPECT_EQ(weights::open_safetensors(path("parts"))->find("accumulated.w"), nullptr) << "zero between steps";
}

TEST_F(TrainerTest, AStepThatFailsBetweenMicroBatchesLeavesNothingBehind) {
  const auto data = tiny_data(40);
  for (const bool in_storage : {false, true}) {
    const TinyOptions tiny{.batch = 2, .in_storage = in_storage, .micro_batches = 2};
    const auto failed = trainer(tiny), calm = trainer(tiny);
    const auto broken = failed->step(data, std::vector<uint32_t>{1, 2, 3, 99});
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, "E0260");
    const std::vector<uint32_t> indices{4, 5, 6, 7};
    ASSERT_EQ(failed->step(data, indices)->loss, calm->step(data, indices)->loss);
    ASSERT_TRUE(failed->save(path("failed")) && calm->save(path("calm")));
    EXPECT_EQ(base::read_file(path("failed")).value(), base::read_file(path("calm")).value());
  }
}

TEST_F(TrainerTest, RefusesMicroBatchesThatThePlanKnowsNothingOf) {
  const auto made = Trainer::create(TinyPlan({}).encoded(), path("weights"), {.micro_batches = 2});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "E0253");
}

TEST_F(TrainerTest, StorageChangesNoBit) {
  const auto data = tiny_data(40);
  const auto in_ram = trainer(), in_storage = trainer({.in_storage = true});
  ASSERT_TRUE(in_ram && in_storage);
  for (uint32_t step = 0; step < 7; ++step) {
    const std::vector<uint32_t> indices{step, step + 1, step + 20, 39 - step};
    ASSERT_EQ(in_ram->step(data, indices)->loss, in_storage->step(data, indices)->loss);
  }
  EXPECT_EQ(in_ram->evaluate(data)->loss, in_storage->evaluate(data)->loss);
  ASSERT_TRUE(in_ram->save(path("ram")) && in_storage->save(path("storage")));
  EXPECT_EQ(base::read_file(path("ram")).value(), base::read_file(path("storage")).value());
  EXPECT_GT(in_storage->usage().bytes_paged_in, 0U);
  EXPECT_GT(in_storage->usage().bytes_paged_out, 0U);
  EXPECT_NE(in_storage->usage().io_backend, "");
  EXPECT_EQ(in_ram->usage().io_backend, "");
}

TEST_F(TrainerTest, EvaluatesEverySampleOnceWhateverTheBatch) {
  const auto data = tiny_data(11);
  const auto ones = trainer({.batch = 1})->evaluate(data);
  ASSERT_TRUE(ones) << to_text(ones.error());
  EXPECT_TRUE(ones->has_accuracy);
  for (const int64_t batch : {2, 4, 11, 16}) {
    const auto batched = trainer({.batch = batch})->evaluate(data);
    ASSERT_TRUE(batched) << to_text(batched.error());
    EXPECT_EQ(batched->samples, 11);
    EXPECT_NEAR(batched->loss, ones->loss, 1e-6);
    EXPECT_DOUBLE_EQ(batched->accuracy, ones->accuracy);
  }
}

data::Dataset target_data(size_t count) {
  data::Dataset data = tiny_data(count);
  std::vector<float> targets;
  for (size_t at = 0; at < 3 * count; ++at) targets.push_back(static_cast<float>(at % 7) - 3.0F);
  data.labels = samples(base::DType::kF32, {3}, targets);
  return data;
}

TEST_F(TrainerTest, TakesThePaddingOffTheLossOfTargets) {
  const auto data = target_data(11);
  const auto ones = trainer({.batch = 1, .targets = true})->evaluate(data);
  ASSERT_TRUE(ones) << to_text(ones.error());
  EXPECT_FALSE(ones->has_accuracy);
  for (const int64_t batch : {4, 16})
    EXPECT_NEAR(trainer({.batch = batch, .targets = true})->evaluate(data)->loss, ones->loss, 1e-5 * ones->loss);
}

TEST_F(TrainerTest, EvaluationChangesNothing) {
  const auto data = tiny_data(9);
  const auto evaluated = trainer({.in_storage = true});
  const std::vector<uint32_t> indices{0, 1, 2, 3};
  ASSERT_TRUE(evaluated->step(data, indices));
  ASSERT_TRUE(evaluated->save(path("before")));
  ASSERT_TRUE(evaluated->evaluate(data));
  ASSERT_TRUE(evaluated->evaluate(data));
  ASSERT_TRUE(evaluated->save(path("after")));
  EXPECT_EQ(base::read_file(path("before")).value(), base::read_file(path("after")).value());
}

TEST_F(TrainerTest, NormalizesStoredBytes) {
  const auto data = tiny_data(4);
  std::vector<float> normalized;
  for (int64_t sample = 0; sample < 4; ++sample) {
    std::array<std::byte, 6> x{};
    ASSERT_TRUE(data.inputs[0]->read(sample, x));
    for (const std::byte pixel : x)
      normalized.push_back((static_cast<float>(std::to_integer<int>(pixel)) / 255.0F - 0.5F) / 0.25F);
  }
  data::Dataset floats_data = tiny_data(4);
  floats_data.inputs[0] = samples(base::DType::kF32, {1, 2, 3}, normalized);
  const std::vector<uint32_t> indices{3, 1, 0, 2};
  const auto from_bytes = trainer({}, 7, {.normalization = {{0.5F, 0.25F}}}), from_floats = trainer();
  const auto stats = from_floats->step(floats_data, indices);
  ASSERT_TRUE(stats) << to_text(stats.error());
  EXPECT_EQ(from_bytes->step(data, indices)->loss, stats->loss);
}

TEST_F(TrainerTest, TakesLabelsOfEveryIntegerType) {
  const std::vector<uint32_t> indices{0, 1, 2, 3};
  data::Dataset narrow = tiny_data(4), middle = tiny_data(4), wide = tiny_data(4);
  std::vector<int32_t> as_i32;
  std::vector<int64_t> as_i64;
  for (int64_t sample = 0; sample < 4; ++sample) {
    std::byte label{};
    ASSERT_TRUE(narrow.labels->read(sample, std::span(&label, 1)));
    as_i32.push_back(std::to_integer<int32_t>(label));
    as_i64.push_back(std::to_integer<int64_t>(label));
  }
  middle.labels = samples(base::DType::kI32, {}, as_i32);
  wide.labels = samples(base::DType::kI64, {1}, as_i64);
  const double loss = trainer()->step(narrow, indices)->loss;
  EXPECT_EQ(trainer()->step(middle, indices)->loss, loss);
  EXPECT_EQ(trainer()->step(wide, indices)->loss, loss);
}

TEST_F(TrainerTest, RefusesDataThatDoNotFit) {
  const auto trained = trainer();
  const std::vector<uint32_t> indices{0, 1, 2, 3};
  data::Dataset other_shape = tiny_data(4), other_type = tiny_data(4), two_inputs = tiny_data(4),
                fewer_labels = tiny_data(4);
  other_shape.inputs[0] = samples(base::DType::kU8, {3, 2}, std::vector<uint8_t>(24));
  other_type.inputs[0] = samples(base::DType::kI64, {2, 3}, std::vector<int64_t>(24));
  two_inputs.inputs.push_back(samples(base::DType::kU8, {2, 3}, std::vector<uint8_t>(24)));
  fewer_labels.labels = samples(base::DType::kU8, {}, std::vector<uint8_t>(3));
  for (const data::Dataset* data : {&other_shape, &other_type, &two_inputs, &fewer_labels}) {
    const auto stats = trained->step(*data, indices);
    ASSERT_FALSE(stats);
    EXPECT_EQ(stats.error().code, "E0262");
    EXPECT_EQ(trained->evaluate(*data).error().code, "E0262");
  }
  EXPECT_THAT(trained->step(other_shape, indices).error().message, HasSubstr("[3, 2]"));
  EXPECT_EQ(trained->evaluate({}).error().code, "E0262");
  EXPECT_TRUE(trained->step(tiny_data(4), indices));  // no refusal harmed the session
  const std::vector<uint32_t> outside{0, 1, 2, 4};
  EXPECT_EQ(trained->step(tiny_data(4), outside).error().code, "E0260");
}

TEST_F(TrainerTest, RefusesALabelThatIsNoClass) {
  data::Dataset data = tiny_data(4);
  data.labels = samples(base::DType::kU8, {}, std::vector<uint8_t>{0, 1, 2, 3});
  const std::vector<uint32_t> indices{0, 1, 2, 3};
  const auto stats = trainer()->step(data, indices);
  ASSERT_FALSE(stats);
  EXPECT_EQ(stats.error().code, "E0262");
}

TEST_F(TrainerTest, TellsThatTheLossIsNoLongerFinite) {
  data::Dataset data = tiny_data(4);
  std::vector<float> pixels(24, 1.0F);
  pixels[5] = std::numeric_limits<float>::quiet_NaN();
  data.inputs[0] = samples(base::DType::kF32, {2, 3}, pixels);
  const std::vector<uint32_t> indices{0, 1, 2, 3};
  const auto stats = trainer()->step(data, indices);
  ASSERT_FALSE(stats);
  EXPECT_EQ(stats.error().code, "E0701");
  EXPECT_THAT(stats.error().message, HasSubstr("step 1"));
  EXPECT_THAT(stats.error().help, HasSubstr("--lr"));
}

TEST_F(TrainerTest, ListsAllWeightsThatDoNotFit) {
  ASSERT_TRUE(weights::write_safetensors(
      path("weights"), {source("w", {3, 6}, std::vector<float>(18)), source("optim.momentum.b", {1}, {0})}, {}));
  const auto made = Trainer::create(TinyPlan({}).encoded(), path("weights"), {.threads = 1, .inputs = {"x"}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "E0242");
  EXPECT_THAT(made.error().notes,
              ::testing::ElementsAre("'w' is f32 [3, 6], the model has f32 [6, 3]", "'b' f32 [3] is missing",
                                     "'optim.momentum.b' is f32 [1], the model has f32 [3]"));
}

TEST_F(TrainerTest, RefusesPlansThatCannotTrain) {
  const auto create = [&](std::vector<std::byte> plan, std::vector<std::string> inputs = {}) {
    auto made = Trainer::create(std::move(plan), path("weights"), {.threads = 1, .inputs = std::move(inputs)});
    return made ? std::string("made") : made.error().code;
  };
  std::vector<std::byte> damaged = TinyPlan({}).encoded();
  damaged[damaged.size() / 2] ^= std::byte{1};
  EXPECT_EQ(create(damaged), "E0251");
  EXPECT_EQ(create({}), "E0251");
  TinyPlan no_train({}), no_label({}), no_loss({});
  no_train.plan().programs[0].name = "accumulate";
  EXPECT_EQ(create(no_train.encoded()), "E0253");
  for (auto& entry : no_label.plan().tensors) entry.name = entry.name == "label" ? "y" : entry.name;
  EXPECT_EQ(create(no_label.encoded()), "E0253");
  for (auto& entry : no_loss.plan().tensors) entry.name = entry.name == "loss" ? "" : entry.name;
  EXPECT_EQ(create(no_loss.encoded()), "E0253");
  EXPECT_EQ(create(TinyPlan({}).encoded(), {"image"}), "E0253");
  EXPECT_EQ(create(TinyPlan({}).encoded(), {"x"}), "made");
}

TEST_F(TrainerTest, SaysWhenThePlanCannotEvaluate) {
  EXPECT_EQ(trainer({.with_eval = false})->evaluate(tiny_data(4)).error().code, "E0105");
}

TEST_F(TrainerTest, ResumesBitForBit) {
  const auto data = tiny_data(40);
  const std::vector<uint32_t> first{0, 1, 2, 3}, second{4, 5, 6, 7};
  for (const bool in_storage : {false, true}) {
    const auto whole = trainer({.in_storage = in_storage}), before = trainer({.in_storage = in_storage});
    whole->set_lr(0.1 / 3);
    before->set_lr(0.1 / 3);
    ASSERT_TRUE(whole->step(data, first) && before->step(data, first));
    ASSERT_TRUE(before->save(path("point")));
    const auto after = trainer({.in_storage = in_storage}, 99);
    const auto resumed = after->resume(path("point"));
    ASSERT_TRUE(resumed) << to_text(resumed.error());
    EXPECT_EQ(after->steps_done(), 1U);
    EXPECT_EQ(after->seed(), 7U);
    ASSERT_TRUE(whole->step(data, second) && after->step(data, second));
    ASSERT_TRUE(whole->save(path("whole")) && after->save(path("after")));
    EXPECT_EQ(base::read_file(path("whole")).value(), base::read_file(path("after")).value());
  }
}

TEST_F(TrainerTest, RefusesForeignResumePointsAndStaysAsItWas) {
  const auto data = tiny_data(40);
  const auto trained = trainer();
  ASSERT_TRUE(trained->save(path("start")));
  EXPECT_EQ(trained->resume(path("weights")).error().code, "E0243");
  EXPECT_EQ(trained->resume(path("nothing")).error().code, "E0201");
  ASSERT_TRUE(trainer({.batch = 2})->save(path("batch")));
  EXPECT_EQ(trained->resume(path("batch")).error().code, "E0243");
  auto other = Trainer::create(TinyPlan({}).encoded(), path("weights"), {.threads = 1, .plan_hash = "other"});
  ASSERT_TRUE((*other)->save(path("other")));
  EXPECT_EQ(trained->resume(path("other")).error().code, "E0243");
  ASSERT_TRUE(weights::write_safetensors(path("few"), {source("w", {6, 3}, std::vector<float>(18))},
                                         weights::open_safetensors(path("start"))->metadata));
  const auto few = trained->resume(path("few"));
  EXPECT_EQ(few.error().code, "E0243");
  EXPECT_EQ(few.error().message, "the resume point is of another model");
  EXPECT_EQ(few.error().notes.size(), 1U);
  ASSERT_TRUE(trained->save(path("end")));
  EXPECT_EQ(base::read_file(path("start")).value(), base::read_file(path("end")).value());
}

TEST_F(TrainerTest, StartsFromOptimizerStateWhereTheWeightsHoldIt) {
  const auto data = tiny_data(8);
  const auto trained = trainer();
  ASSERT_TRUE(trained->step(data, std::vector<uint32_t>{0, 1, 2, 3}));
  ASSERT_TRUE(trained->save(path("weights")));
  const auto again = trainer();
  ASSERT_TRUE(again->save(path("again")));
  EXPECT_EQ(again->steps_done(), 0U);
  EXPECT_EQ(tensor("again", "optim.momentum.w"), tensor("weights", "optim.momentum.w"));
}

TEST_F(TrainerTest, AnArenaThatTheSystemRefusesIsAnError) {
  TinyPlan huge({});
  huge.plan().arena_bytes = uint64_t{1} << 37;
  const auto made = Trainer::create(huge.encoded(), path("weights"), {.threads = 1});
  if (made) GTEST_SKIP() << "this system promises 128 GiB";
  EXPECT_EQ(made.error().code, "E0906");
}

}  // namespace
}  // namespace pantoum::train
