// The C library through its header, on the tiny plan.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "capi/handle.h"
#include "pantoum/train.h"
#include "testing/tiny_plan.h"

namespace pantoum::capi {
namespace {

using ::testing::HasSubstr;
using train::TinyOptions;
using train::TinyPlan;

struct Batch {
  std::vector<float> x;
  std::vector<int64_t> labels;
  [[nodiscard]] std::array<pt_train_data, 2> data() const {
    return {{{x.data(), x.size() * sizeof(float)}, {labels.data(), labels.size() * sizeof(int64_t)}}};
  }
};

Batch batch_of(size_t samples, uint32_t seed = 1) {
  Batch made;
  for (size_t sample = 0; sample < samples; ++sample) {
    float sums[3] = {};
    for (int at = 0; at < 6; ++at) {
      seed = seed * 1664525U + 1013904223U;
      made.x.push_back(static_cast<float>(seed >> 24) / 255.0F);
      sums[at % 3] += made.x.back();
    }
    made.labels.push_back(std::max_element(sums, sums + 3) - sums);
  }
  return made;
}

class TrainC : public train::TrainFolder {
 protected:
  void TearDown() override {
    for (pt_trainer* const trainer : opened_) pt_train_close(trainer);
    TrainFolder::TearDown();
  }

  pt_trainer* open(const TinyOptions& tiny = {}, pt_train_options options = {}) {
    const auto plan = TinyPlan(tiny).encoded();
    options.size = sizeof options;
    if (options.learning_rate == 0) options.learning_rate = 0.5;
    options.threads = 2;
    options.accumulate = static_cast<uint32_t>(tiny.micro_batches);
    options.page_file = folder_.c_str();
    pt_trainer* made = nullptr;
    EXPECT_EQ(pt_train_open_plan(&made, plan.data(), plan.size(), path("weights").c_str(), &options), 0)
        << pt_train_last_error(made)->text;
    opened_.push_back(made);
    return made;
  }

  double step(pt_trainer* trainer, const Batch& batch) {
    const auto data = batch.data();
    pt_train_result result = {.size = sizeof result};
    EXPECT_EQ(pt_train_step(trainer, data.data(), data.size(), &result), 0) << pt_train_last_error(trainer)->text;
    return result.loss;
  }

  static std::vector<float> weight(pt_trainer* trainer, const char* name, size_t count) {
    std::vector<float> values(count);
    EXPECT_EQ(pt_train_get(trainer, name, values.data(), count * sizeof(float)), 0)
        << pt_train_last_error(trainer)->text;
    return values;
  }

  std::vector<pt_trainer*> opened_;
};

TEST_F(TrainC, LearnsAndTellsWhereItIs) {
  pt_trainer* const trainer = open();
  const Batch batch = batch_of(4);
  const double first = step(trainer, batch);
  double last = first;
  for (int at = 0; at < 30; ++at) last = step(trainer, batch);
  EXPECT_LT(last, first / 2);
  pt_train_usage usage = {.size = sizeof usage};
  ASSERT_EQ(pt_train_get_usage(trainer, &usage), 0);
  EXPECT_EQ(usage.steps, 31U);
  EXPECT_EQ(usage.batch, 4U);
  EXPECT_GT(usage.arena_bytes, 0U);
  EXPECT_EQ(usage.page_file_bytes, 0U);
  EXPECT_STREQ(usage.kernels, "portable");
}

TEST_F(TrainC, SavesOntoNoFileThatItWasOpenedFrom) {
  const auto plan = TinyPlan(TinyOptions{}).encoded();
  std::ofstream(path("plan"), std::ios::binary)
      .write(reinterpret_cast<const char*>(plan.data()), static_cast<std::streamsize>(plan.size()));
  pt_train_options options = {.size = sizeof options, .learning_rate = 0.5, .page_file = folder_.c_str()};
  for (const char* name : {"plan", "weights"}) {
    const std::string input = path(name), hard = input + ".hard", soft = input + ".soft";
    std::filesystem::create_hard_link(input, hard);
    std::filesystem::create_symlink(input, soft);
    const auto bytes = std::filesystem::file_size(input);
    pt_trainer* trainer = nullptr;
    ASSERT_EQ(pt_train_open(&trainer, path("plan").c_str(), path("weights").c_str(), &options), 0);
    for (const std::string& alias : {input, hard, soft}) EXPECT_EQ(pt_train_save(trainer, alias.c_str()), 125) << alias;
    EXPECT_EQ(std::filesystem::file_size(input), bytes);
    EXPECT_EQ(std::filesystem::hard_link_count(input), 2U);
    EXPECT_TRUE(std::filesystem::is_symlink(soft));
    pt_train_close(trainer);
  }
}

TEST_F(TrainC, GivesTheBitsOfTheCppTrainer) {
  const auto reference = TrainFolder::trainer();
  pt_trainer* const trainer = open({}, {.learning_rate = 0.05, .seed = 7});
  const data::Dataset data = train::tiny_data(4);
  Batch batch;
  for (uint32_t sample = 0; sample < 4; ++sample) {
    std::array<std::byte, 6> pixels{};
    std::byte label{};
    ASSERT_TRUE(data.inputs[0]->read(sample, pixels) && data.labels->read(sample, std::span(&label, 1)));
    for (const std::byte pixel : pixels) batch.x.push_back(static_cast<float>(std::to_integer<int>(pixel)) / 255.0F);
    batch.labels.push_back(std::to_integer<int64_t>(label));
  }
  const std::vector<uint32_t> indices = {0, 1, 2, 3};
  for (int at = 0; at < 3; ++at) {
    const auto stats = reference->step(data, indices);
    ASSERT_TRUE(stats);
    EXPECT_EQ(step(trainer, batch), stats->loss);
  }
}

TEST_F(TrainC, ListsTensorsByKind) {
  pt_trainer* const trainer = open();
  const std::vector<std::vector<std::string>> names = {
      {"x"}, {"label"}, {"w", "b"}, {"optim.momentum.w", "optim.momentum.b"}};
  for (int kind = PT_TRAIN_INPUT; kind <= PT_TRAIN_STATE; ++kind) {
    size_t count = 0;
    ASSERT_EQ(pt_train_count(trainer, kind, &count), 0);
    ASSERT_EQ(count, names[static_cast<size_t>(kind)].size());
    for (size_t at = 0; at < count; ++at) {
      pt_train_tensor tensor = {.size = sizeof tensor};
      ASSERT_EQ(pt_train_tensor_at(trainer, kind, at, &tensor), 0);
      EXPECT_EQ(tensor.name, names[static_cast<size_t>(kind)][at]);
      EXPECT_EQ(tensor.kind, kind);
    }
  }
  pt_train_tensor w = {.size = sizeof w};
  ASSERT_EQ(pt_train_find(trainer, "w", &w), 0);
  EXPECT_EQ(w.rank, 2);
  EXPECT_EQ(w.dims[0], 6);
  EXPECT_EQ(w.dims[1], 3);
  EXPECT_EQ(w.bytes, 72U);
  EXPECT_EQ(w.dtype, PT_F32);
}

TEST_F(TrainC, TensorsGoOutAndInWhereverTheyLive) {
  for (const bool in_storage : {false, true}) {
    pt_trainer* const trainer = open({.in_storage = in_storage});
    step(trainer, batch_of(4));
    std::vector<float> w = weight(trainer, "w", 18);
    for (float& value : w) value += 1;
    ASSERT_EQ(pt_train_set(trainer, "w", w.data(), 72), 0) << pt_train_last_error(trainer)->text;
    EXPECT_EQ(weight(trainer, "w", 18), w);
    EXPECT_EQ(weight(trainer, "optim.momentum.b", 3).size(), 3U);
    pt_train_usage usage = {.size = sizeof usage};
    ASSERT_EQ(pt_train_get_usage(trainer, &usage), 0);
    EXPECT_EQ(usage.page_file_bytes > 0, in_storage);
  }
}

TEST_F(TrainC, ResumesBitForBit) {
  for (const bool in_storage : {false, true}) {
    pt_trainer* const whole = open({.in_storage = in_storage});
    for (uint32_t at = 0; at < 3; ++at) step(whole, batch_of(4, at));
    ASSERT_EQ(pt_train_save(whole, path("point").c_str()), 0);
    step(whole, batch_of(4, 3));
    pt_trainer* const resumed = open({.in_storage = in_storage});
    ASSERT_EQ(pt_train_resume(resumed, path("point").c_str()), 0) << pt_train_last_error(resumed)->text;
    step(resumed, batch_of(4, 3));
    EXPECT_EQ(weight(resumed, "w", 18), weight(whole, "w", 18));
    EXPECT_EQ(weight(resumed, "optim.momentum.w", 18), weight(whole, "optim.momentum.w", 18));
  }
}

TEST_F(TrainC, LoadsWeightsAndBeginsAgain) {
  pt_trainer* const trainer = open();
  const double first = step(trainer, batch_of(4));
  step(trainer, batch_of(4));
  ASSERT_EQ(pt_train_load(trainer, path("weights").c_str()), 0);
  EXPECT_EQ(step(trainer, batch_of(4)), first);
  EXPECT_EQ(pt_train_load(trainer, path("none").c_str()), 201);
  std::vector<weights::SafetensorSource> more = {source("w", {6, 3}, std::vector<float>(18)),
                                                 source("b", {3}, {1, 1, 1})};
  ASSERT_TRUE(weights::write_safetensors(path("others"), more, {}));
  more.push_back(source("table", {1}, {1}));  // the plan may have been made with another
  ASSERT_TRUE(weights::write_safetensors(path("more"), more, {}));
  EXPECT_EQ(pt_train_load(trainer, path("more").c_str()), 242);
  const std::vector<float> before = weight(trainer, "w", 18);
  std::ofstream(path("damaged")) << "no weights";
  EXPECT_EQ(pt_train_load(trainer, path("damaged").c_str()), 240);
  EXPECT_EQ(weight(trainer, "w", 18), before);
}

TEST_F(TrainC, StepsOfSeveralBatches) {
  pt_trainer* const whole = open({.batch = 4});
  pt_trainer* const parts = open({.batch = 2, .micro_batches = 2});
  const Batch batch = batch_of(4);
  const pt_train_data halves[] = {
      {batch.x.data(), 48}, {batch.labels.data(), 16}, {batch.x.data() + 12, 48}, {batch.labels.data() + 2, 16}};
  pt_train_result result = {.size = sizeof result};
  ASSERT_EQ(pt_train_step(parts, halves, 4, &result), 0) << pt_train_last_error(parts)->text;
  EXPECT_NEAR(result.loss, step(whole, batch), 1e-6);
  EXPECT_EQ(pt_train_step(parts, halves, 2, nullptr), 152);
}

TEST_F(TrainC, EvaluatesAnyNumberOfSamples) {
  pt_trainer* const ones = open({.batch = 1});
  const Batch samples = batch_of(7);
  const auto data = samples.data();
  pt_train_evaluation expected = {.size = sizeof expected};
  ASSERT_EQ(pt_train_evaluate(ones, data.data(), 2, 7, &expected), 0) << pt_train_last_error(ones)->text;
  EXPECT_EQ(expected.samples, 7U);
  EXPECT_EQ(expected.term_count, 1U);
  EXPECT_TRUE(std::isfinite(expected.accuracy));
  EXPECT_TRUE(std::isnan(expected.terms[0].mean_absolute_error));
  pt_train_evaluation found = {.size = sizeof found};
  ASSERT_EQ(pt_train_evaluate(open(), data.data(), 2, 7, &found), 0);
  EXPECT_NEAR(found.loss, expected.loss, 1e-6);
  EXPECT_EQ(found.accuracy, expected.accuracy);
  EXPECT_EQ(pt_train_evaluate(ones, data.data(), 2, 0, &found), 262);
  EXPECT_EQ(pt_train_evaluate(ones, data.data(), 2, 8, &found), 152);
  EXPECT_EQ(pt_train_evaluate(ones, data.data(), 2, UINT64_MAX / 8, &found), 152);
  EXPECT_EQ(pt_train_evaluate(open({.with_eval = false}), data.data(), 2, 7, &found), 105);
}

TEST_F(TrainC, PredictsAnyNumberOfSamples) {
  for (const bool in_storage : {false, true}) {
    pt_trainer* const trainer = open({.in_storage = in_storage, .with_outputs = true});
    step(trainer, batch_of(4));
    size_t asked = 0, outputs = 0;
    ASSERT_EQ(pt_train_count(trainer, PT_TRAIN_ASKED, &asked), 0);
    ASSERT_EQ(pt_train_count(trainer, PT_TRAIN_OUTPUT, &outputs), 0);
    EXPECT_EQ(asked, 1U) << "the label is not asked for";
    ASSERT_EQ(outputs, 1U);
    pt_train_tensor output = {.size = sizeof output};
    ASSERT_EQ(pt_train_tensor_at(trainer, PT_TRAIN_OUTPUT, 0, &output), 0);
    EXPECT_STREQ(output.name, "logits");
    const Batch samples = batch_of(7);
    const std::vector<float> w = weight(trainer, "w", 18), b = weight(trainer, "b", 3);
    std::vector<float> made(21, -1);
    const pt_train_data data = {samples.x.data(), samples.x.size() * sizeof(float)};
    const pt_train_room room = {made.data(), made.size() * sizeof(float)};
    ASSERT_EQ(pt_train_predict(trainer, &data, 1, 7, &room, 1), 0) << pt_train_last_error(trainer)->text;
    for (size_t sample = 0; sample < 7; ++sample)
      for (size_t logit = 0; logit < 3; ++logit) {
        double sum = static_cast<double>(b[logit]);
        for (size_t at = 0; at < 6; ++at)
          sum += static_cast<double>(samples.x[sample * 6 + at]) * static_cast<double>(w[at * 3 + logit]);
        EXPECT_NEAR(static_cast<double>(made[sample * 3 + logit]), sum, 1e-5);
      }
    EXPECT_EQ(pt_train_predict(trainer, &data, 1, 0, &room, 1), 262);
    EXPECT_EQ(pt_train_predict(trainer, &data, 1, 8, &room, 1), 152);
    EXPECT_EQ(pt_train_predict(trainer, &data, 1, UINT64_MAX / 8, &room, 1), 152);
    EXPECT_EQ(pt_train_predict(trainer, &data, 2, 7, &room, 1), 152);
    EXPECT_EQ(pt_train_predict(trainer, &data, 1, 7, &room, 0), 152);
    EXPECT_EQ(pt_train_predict(trainer, nullptr, 1, 7, &room, 1), 150);
    EXPECT_EQ(pt_train_predict(trainer, &data, 1, 7, nullptr, 1), 150);
    const pt_train_room none = {nullptr, room.bytes};
    EXPECT_EQ(pt_train_predict(trainer, &data, 1, 7, &none, 1), 150);
  }
  const Batch samples = batch_of(4);
  const pt_train_data data = {samples.x.data(), samples.x.size() * sizeof(float)};
  const pt_train_room room = {nullptr, 48};
  EXPECT_EQ(pt_train_predict(open(), &data, 1, 4, &room, 1), 105) << "a plan of before has no such program";
}

TEST_F(TrainC, TheRateIsTheCallers) {
  pt_trainer* const trainer = open({}, {.learning_rate = 0.25, .schedule = "linear,to=0", .total_steps = 4});
  const auto data = batch_of(4);
  const auto batch = data.data();
  pt_train_result result = {.size = sizeof result};
  ASSERT_EQ(pt_train_step(trainer, batch.data(), 2, &result), 0);
  EXPECT_EQ(result.learning_rate, 0.25);
  ASSERT_EQ(pt_train_step(trainer, batch.data(), 2, &result), 0);
  EXPECT_LT(result.learning_rate, 0.25);
  EXPECT_EQ(pt_train_set_learning_rate(trainer, -1), 150);
  EXPECT_EQ(pt_train_set_learning_rate(trainer, NAN), 150);
  EXPECT_EQ(pt_train_set_learning_rate(trainer, 0), 0);
}

TEST_F(TrainC, RatesAndDecaysOfGroupsAreTheCallers) {
  pt_trainer *const groups = open({.groups = true}), *const plain = open();
  size_t count = 9;
  EXPECT_EQ(pt_train_group_count(plain, &count), 0);
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(pt_train_group_count(groups, &count), 0);
  EXPECT_EQ(count, 2U);
  const Batch batch = batch_of(4);
  step(groups, batch), step(plain, batch);
  EXPECT_EQ(weight(groups, "b", 3), weight(plain, "b", 3)) << "the rate of all until one is set";
  ASSERT_EQ(pt_train_set_group_rate(groups, 1, 0), 0);
  ASSERT_EQ(pt_train_set_group_decay(groups, 0, 0.5), 0);
  const std::vector<float> still = weight(groups, "b", 3);
  step(groups, batch), step(plain, batch);
  EXPECT_EQ(weight(groups, "b", 3), still);
  EXPECT_NE(weight(groups, "w", 18), weight(plain, "w", 18));
  EXPECT_EQ(pt_train_set_group_rate(groups, 2, 0.1), 150);
  EXPECT_EQ(pt_train_set_group_rate(groups, 0, -1), 150);
  EXPECT_EQ(pt_train_set_group_decay(groups, 0, NAN), 150);
  EXPECT_EQ(pt_train_set_group_decay(plain, 0, 0), 150);
  EXPECT_EQ(pt_train_group_count(groups, nullptr), 150);
}

TEST_F(TrainC, WhatIsNoTrainerIsAnError) {
  pt_trainer* const closed = open();
  pt_train_close(closed);
  pt_train_close(closed);
  pt_train_close(nullptr);
  int stranger = 0;
  size_t count = 0;
  for (pt_trainer* const none : {static_cast<pt_trainer*>(nullptr), closed, reinterpret_cast<pt_trainer*>(&stranger)}) {
    EXPECT_EQ(pt_train_count(none, PT_TRAIN_INPUT, &count), 150);
    EXPECT_EQ(pt_train_step(none, nullptr, 0, nullptr), 150);
    EXPECT_EQ(pt_train_save(none, "x"), 150);
    EXPECT_STREQ(pt_train_last_error(none)->code, "E0150");
    EXPECT_THAT(pt_train_last_error(none)->text, HasSubstr("pt_train_save"));
  }
}

TEST_F(TrainC, NullPointersAndWrongSizesAreErrors) {
  pt_trainer* const trainer = open();
  const Batch batch = batch_of(4);
  auto data = batch.data();
  EXPECT_EQ(pt_train_step(trainer, nullptr, 2, nullptr), 150);
  EXPECT_EQ(pt_train_step(trainer, data.data(), 1, nullptr), 152);
  data[0].bytes -= 4;
  EXPECT_EQ(pt_train_step(trainer, data.data(), 2, nullptr), 152);
  EXPECT_THAT(pt_train_last_error(trainer)->text, HasSubstr("'x' takes 96 bytes, 92 were given"));
  data[0] = {nullptr, 96};
  EXPECT_EQ(pt_train_step(trainer, data.data(), 2, nullptr), 150);
  pt_train_result unsized = {};
  EXPECT_EQ(pt_train_step(trainer, batch.data().data(), 2, &unsized), 150);
  std::vector<float> w(18);
  EXPECT_EQ(pt_train_get(trainer, "w", w.data(), 71), 152);
  EXPECT_EQ(pt_train_get(trainer, "v", w.data(), 72), 151);
  EXPECT_EQ(pt_train_get(trainer, nullptr, w.data(), 72), 150);
  EXPECT_EQ(pt_train_set(trainer, "w", nullptr, 72), 150);
  EXPECT_EQ(pt_train_count(trainer, 4, nullptr), 150);
  EXPECT_EQ(pt_train_tensor_at(trainer, PT_TRAIN_INPUT, 1, nullptr), 150);
  EXPECT_EQ(pt_train_get_usage(trainer, nullptr), 150);
  EXPECT_EQ(pt_train_save(trainer, nullptr), 150);
  pt_train_usage usage = {.size = sizeof usage};
  ASSERT_EQ(pt_train_get_usage(trainer, &usage), 0);
  EXPECT_EQ(usage.steps, 0U);  // nothing of that was a step
}

TEST_F(TrainC, AFailedOpeningCanBeAskedWhy) {
  pt_trainer* made = nullptr;
  EXPECT_EQ(pt_train_open(&made, path("none").c_str(), path("weights").c_str(), nullptr), 201);
  EXPECT_THAT(pt_train_last_error(made)->text, HasSubstr("E0201"));
  EXPECT_EQ(pt_train_save(made, "x"), 150);
  pt_train_close(made);
  EXPECT_EQ(pt_train_open_plan(&made, "no plan", 7, path("weights").c_str(), nullptr), 251);
  pt_train_close(made);
  EXPECT_EQ(pt_train_open_plan(nullptr, "no plan", 7, path("weights").c_str(), nullptr), 150);
  const auto plan = TinyPlan(TinyOptions{}).encoded();
  EXPECT_EQ(pt_train_open_plan(&made, plan.data(), plan.size(), nullptr, nullptr), 150);
  pt_train_close(made);
  for (const pt_train_options& wrong : {pt_train_options{},
                                        {.size = sizeof(pt_train_options), .learning_rate = -1},
                                        {.size = sizeof(pt_train_options), .threads = 5000},
                                        {.size = sizeof(pt_train_options), .plain_pages = 2}}) {
    EXPECT_EQ(pt_train_open_plan(&made, plan.data(), plan.size(), path("weights").c_str(), &wrong), 150);
    pt_train_close(made);
  }
  const pt_train_options schedule = {.size = sizeof schedule, .schedule = "no such thing"};
  EXPECT_EQ(pt_train_open_plan(&made, plan.data(), plan.size(), path("weights").c_str(), &schedule), 115);
  pt_train_close(made);
  const pt_train_options parts = {.size = sizeof parts, .accumulate = 2};
  EXPECT_EQ(pt_train_open_plan(&made, plan.data(), plan.size(), path("weights").c_str(), &parts), 253);
  pt_train_close(made);
}

TEST_F(TrainC, StructsOfOlderVersionsAreUnderstood) {
  pt_trainer* const trainer = open();
  struct OldUsage {
    size_t size;
    uint64_t steps, beyond;
  } old = {sizeof old - 8, 7, 42};
  ASSERT_EQ(pt_train_get_usage(trainer, reinterpret_cast<pt_train_usage*>(&old)), 0);
  EXPECT_EQ(old.steps, 0U);
  EXPECT_EQ(old.beyond, 42U);
}

// Every size up to 64 KiB, in memory that is as large: one that no header has is refused, and no byte is written.
template <class Struct, class Ask>
void expect_only_sizes_of(pt_trainer* trainer, const Ask& ask) {
  std::vector<std::byte> room(size_t{1} << 17);
  auto* const asked = new (room.data()) Struct{};
  for (size_t size = 0; size <= size_t{1} << 16; size += size <= sizeof(Struct) + 16 ? 1 : 97) {
    std::fill(room.begin() + sizeof(Struct), room.end(), std::byte{0xa5});
    *asked = {};
    asked->size = size;
    const bool fits = size >= sizeof(size_t) && size <= sizeof(Struct) && size % alignof(Struct) == 0;
    EXPECT_EQ(ask(asked), fits ? 0 : 150) << size;
    if (!fits) {
      EXPECT_THAT(pt_train_last_error(trainer)->message, HasSubstr(size > sizeof(Struct) ? "larger" : "size")) << size;
    }
    EXPECT_EQ(asked->size, size);
    EXPECT_TRUE(std::all_of(room.begin() + static_cast<std::ptrdiff_t>(std::min(size, sizeof(Struct))),
                            room.begin() + sizeof(Struct), [](std::byte byte) { return byte == std::byte{}; }));
    EXPECT_TRUE(
        std::all_of(room.begin() + sizeof(Struct), room.end(), [](std::byte byte) { return byte == std::byte{0xa5}; }));
  }
}

TEST_F(TrainC, SizesThatNoHeaderHasAreRefused) {
  pt_trainer* const trainer = open();
  const Batch batch = batch_of(4);
  const auto data = batch.data();
  expect_only_sizes_of<pt_train_result>(trainer, [&](auto* to) { return pt_train_step(trainer, data.data(), 2, to); });
  expect_only_sizes_of<pt_train_usage>(trainer, [&](auto* to) { return pt_train_get_usage(trainer, to); });
  expect_only_sizes_of<pt_train_tensor>(trainer, [&](auto* to) { return pt_train_find(trainer, "w", to); });
  expect_only_sizes_of<pt_train_tensor>(trainer,
                                        [&](auto* to) { return pt_train_tensor_at(trainer, PT_TRAIN_INPUT, 0, to); });
  expect_only_sizes_of<pt_train_evaluation>(
      trainer, [&](auto* to) { return pt_train_evaluate(trainer, data.data(), 2, 4, to); });
  const auto plan = TinyPlan(TinyOptions{}).encoded();
  pt_train_options options{};
  for (const size_t wrong :
       {size_t{0}, size_t{7}, size_t{12}, sizeof options + 1, sizeof options + 8, size_t{1} << 16}) {
    options.size = wrong;
    pt_trainer* made = nullptr;
    EXPECT_EQ(pt_train_open_plan(&made, plan.data(), plan.size(), path("weights").c_str(), &options), 150) << wrong;
    pt_train_close(made);
  }
}

TEST_F(TrainC, NoFunctionIsCalledFromInsideACall) {
  pt_trainer* const trainer = open();
  const Batch batch = batch_of(4);
  const auto data = batch.data();
  std::vector<float> w(18);
  size_t count = 0;
  pt_train_tensor tensor = {.size = sizeof tensor};
  pt_train_usage usage = {.size = sizeof usage};
  pt_train_evaluation evaluation = {.size = sizeof evaluation};
  const std::string file = path("inside");
  const std::vector<std::function<int()>> functions = {
      [&] { return pt_train_step(trainer, data.data(), 2, nullptr); },
      [&] { return pt_train_evaluate(trainer, data.data(), 2, 4, &evaluation); },
      [&] { return pt_train_predict(trainer, data.data(), 1, 4, nullptr, 0); },
      [&] { return pt_train_count(trainer, PT_TRAIN_INPUT, &count); },
      [&] { return pt_train_tensor_at(trainer, PT_TRAIN_INPUT, 0, &tensor); },
      [&] { return pt_train_find(trainer, "w", &tensor); },
      [&] { return pt_train_get(trainer, "w", w.data(), 72); },
      [&] { return pt_train_set(trainer, "w", w.data(), 72); },
      [&] { return pt_train_set_learning_rate(trainer, 1); },
      [&] { return pt_train_group_count(trainer, &count); },
      [&] { return pt_train_set_group_rate(trainer, 0, 1); },
      [&] { return pt_train_set_group_decay(trainer, 0, 1); },
      [&] { return pt_train_save(trainer, file.c_str()); },
      [&] { return pt_train_resume(trainer, file.c_str()); },
      [&] { return pt_train_load(trainer, file.c_str()); },
      [&] { return pt_train_get_usage(trainer, &usage); }};
  pt_trainer* const other = open();
  const std::vector<float> before = weight(trainer, "w", 18);
  for (const auto& function : functions) {
    EXPECT_EQ(call(trainer, "outer",
                   [&](Handle&) -> Result<void> {
                     EXPECT_EQ(function(), 150);
                     EXPECT_THAT(pt_train_last_error(trainer)->message, HasSubstr("from inside a call"));
                     pt_train_close(trainer);  // ignored
                     step(other, batch);       // another trainer may be called
                     return {};
                   }),
              0);
    EXPECT_FALSE(std::filesystem::exists(file));
  }
  EXPECT_EQ(weight(trainer, "w", 18), before);
  EXPECT_EQ(call(trainer, "outer", [&](Handle&) -> Result<void> { throw std::runtime_error("thrown"); }), 1);
  step(trainer, batch);
}

TEST_F(TrainC, AfterALabelOutOfRangeEveryStepIsAnError) {
  pt_trainer* const trainer = open();
  Batch batch = batch_of(4);
  batch.labels[2] = 3;
  const auto data = batch.data();
  EXPECT_EQ(pt_train_step(trainer, data.data(), 2, nullptr), 262);
  const Batch whole = batch_of(4);
  EXPECT_NE(pt_train_step(trainer, whole.data().data(), 2, nullptr), 0);
  EXPECT_NE(pt_train_last_error(trainer)->status, 0);
}

TEST_F(TrainC, TrainersInSeveralThreadsDoNotDisturbEachOther) {
  pt_trainer* const alone = open();
  for (uint32_t at = 0; at < 40; ++at) step(alone, batch_of(4, at));
  std::array<pt_trainer*, 4> trainers{};
  for (pt_trainer*& trainer : trainers) trainer = open();
  std::vector<std::thread> threads;
  for (pt_trainer* const trainer : trainers)
    threads.emplace_back([this, trainer] {
      for (uint32_t at = 0; at < 40; ++at) step(trainer, batch_of(4, at));
    });
  for (std::thread& thread : threads) thread.join();
  for (pt_trainer* const trainer : trainers) EXPECT_EQ(weight(trainer, "w", 18), weight(alone, "w", 18));
}

TEST_F(TrainC, CallsOnOneTrainerWaitForEachOther) {
  pt_trainer* const trainer = open();
  const Batch batch = batch_of(4);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int at = 0; at < 25; ++at) {
        step(trainer, batch);
        EXPECT_EQ(pt_train_get(trainer, "none", nullptr, 0), 151);
        EXPECT_NE(pt_train_last_error(trainer)->status, 0);
      }
    });
  for (std::thread& thread : threads) thread.join();
  pt_train_usage usage = {.size = sizeof usage};
  ASSERT_EQ(pt_train_get_usage(trainer, &usage), 0);
  EXPECT_EQ(usage.steps, 100U);
}

TEST_F(TrainC, AForkedProcessIsRefusedAndTheParentGoesOn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer does not follow the fork of a process that has threads";
#endif
  pt_trainer* const trainer = open();
  const Batch batch = batch_of(4);
  const auto data = batch.data();
  const double first = step(trainer, batch);
  const std::string file = path("forked");
  for (int call = 0; call < 5; ++call) {
    const ::pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      pt_train_result result = {.size = sizeof result};
      float values[3] = {};
      int code = 108;
      if (call == 0) code = pt_train_step(trainer, data.data(), data.size(), &result);
      if (call == 1) code = pt_train_save(trainer, file.c_str());
      if (call == 2) code = pt_train_resume(trainer, file.c_str());
      if (call == 3) code = pt_train_get(trainer, "b", values, sizeof values);
      if (code != 108) ::_exit(1);
      pt_train_close(trainer);
      ::_exit(0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << call;
  }
  EXPECT_LT(step(trainer, batch), first);
}

}  // namespace
}  // namespace pantoum::capi
