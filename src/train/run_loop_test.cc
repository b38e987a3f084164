#include "train/run_loop.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cmath>
#include <csignal>
#include <ctime>

#include "base/files.h"
#include "testing/tiny_plan.h"

namespace pantoum::train {
namespace {

using ::testing::HasSubstr;

class RunTraining : public TrainFolder {
 protected:
  static data::TrainTest data(size_t train = 30, size_t test = 10) { return {tiny_data(train, 1), tiny_data(test, 2)}; }
};

TEST_F(RunTraining, RunsEveryEpochAndLearns) {
  const auto trained = trainer();
  std::vector<uint64_t> steps;
  std::vector<double> losses;
  const auto summary = run_training(*trained, data(300, 100),
                                    {.epochs = 12,
                                     .progress =
                                         [&](const FitProgress& at) {
                                           EXPECT_EQ(at.total_steps, 900U);
                                           steps.push_back(at.step);
                                         },
                                     .log =
                                         [&](const RunEvent& event) {
                                           EXPECT_TRUE(event.evaluation);
                                           losses.push_back(event.mean_loss);
                                         }});
  ASSERT_TRUE(summary) << to_text(summary.error());
  EXPECT_EQ(summary->steps, 900U);
  EXPECT_EQ(steps.size(), 900U);
  EXPECT_EQ(losses.size(), 12U);
  EXPECT_LT(losses.back(), losses.front());
  ASSERT_TRUE(summary->evaluation);
  EXPECT_EQ(summary->evaluation->samples, 100);
  EXPECT_GT(summary->evaluation->accuracy, 0.8);
}

TEST_F(RunTraining, TellsWhenStepsBeginAndWhenSomethingElseDoes) {
  const auto trained = trainer();
  std::string told;
  ASSERT_TRUE(run_training(*trained, data(12, 10),
                           {.epochs = 2,
                            .checkpoint_every = 2,
                            .checkpoint = path("point"),
                            .progress = [&](const FitProgress&) { told += 's'; },
                            .log = [&](const RunEvent& event) { told += event.evaluation ? 'e' : 'c'; },
                            .on_evaluated = [&] { told += '.'; },
                            .on_steps = [&](bool steps) { told += steps ? '(' : ')'; }}));
  // Three steps an epoch, ten samples to test with in batches of four, a checkpoint after every other step.
  EXPECT_EQ(told, "(ss)c(s)...e(s)c(ss)c...e");
}

TEST_F(RunTraining, DropsTheShortLastBatchAndNeedsOneWholeBatch) {
  EXPECT_EQ(run_training(*trainer(), data(7, 0), {.epochs = 2})->steps, 2U);
  const auto few = run_training(*trainer(), data(3, 0), {});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, "E0262");
}

TEST_F(RunTraining, TheCallersIndexBufferChangesNothing) {
  std::vector<uint32_t> indices(30);
  const auto a = trainer(), b = trainer();
  ASSERT_TRUE(run_training(*a, data(), {.epochs = 2, .indices = indices}) && run_training(*b, data(), {.epochs = 2}));
  ASSERT_TRUE(a->save(path("a")) && b->save(path("b")));
  EXPECT_EQ(base::read_file(path("a")).value(), base::read_file(path("b")).value());
}

TEST_F(RunTraining, BatchesMadeAheadChangeNothing) {
  const auto whole = trainer();
  ASSERT_TRUE(run_training(*whole, data(), {.epochs = 3}));
  ASSERT_TRUE(whole->save(path("whole")));
  for (const int64_t prefetch : {1, 2, 7, 50}) {
    for (const uint64_t at : {3U, 7U, 20U}) {  // interrupted and resumed
      std::stop_source stop;
      const auto first = run_training(*trainer({}, 7, {}, prefetch), data(),
                                      {.epochs = 3,
                                       .checkpoint = path("point"),
                                       .progress =
                                           [&](const FitProgress& progress) {
                                             if (progress.step == at) stop.request_stop();
                                           },
                                       .stop = stop.get_token()});
      ASSERT_TRUE(first && first->interrupted);
      const auto second = trainer({}, 1234, {}, prefetch);
      ASSERT_TRUE(second->resume(path("point")));
      ASSERT_TRUE(run_training(*second, data(), {.epochs = 3}));
      ASSERT_TRUE(second->save(path("resumed")));
      EXPECT_EQ(base::read_file(path("whole")).value(), base::read_file(path("resumed")).value()) << prefetch;
    }
  }
}

TEST_F(RunTraining, AFunctionMayMakeTheBatches) {
  const data::TrainTest all = data();
  std::vector<uint32_t> indices(30);
  for (const int64_t prefetch : {0, 2}) {
    const auto by_data = trainer(), by_function = trainer({}, 7, {}, prefetch);
    ASSERT_TRUE(run_training(*by_data, all, {.epochs = 2}));
    const data::BatchProducer batches = *by_data->epochs_of(all.train, indices);
    const data::BatchProducer produce = [&](uint64_t step, std::span<const data::BatchView> batch) -> Result<void> {
      EXPECT_EQ(batch.size(), 2U);
      EXPECT_EQ(batch[0].name, "x");
      EXPECT_EQ(batch[0].data.size(), 4U * 2 * 3 * sizeof(float));
      EXPECT_EQ(batch[1].name, "label");
      return batches(step, batch);
    };
    const auto summary = run_training(
        *by_function, {.produce = produce, .steps_per_epoch = 7, .test = &all.test, .samples = 30}, {.epochs = 2});
    ASSERT_TRUE(summary) << to_text(summary.error());
    EXPECT_EQ(summary->steps, 14U);
    EXPECT_TRUE(summary->evaluation);
    ASSERT_TRUE(by_data->save(path("a")) && by_function->save(path("b")));
    EXPECT_EQ(base::read_file(path("a")).value(), base::read_file(path("b")).value());
  }
  EXPECT_EQ(run_training(*trainer(), ProducedData{}, {}).error().code, "E0120");
}

TEST_F(RunTraining, AProducersErrorEndsTheRunAtItsStep) {
  for (const int64_t prefetch : {0, 3}) {
    const auto trained = trainer({}, 7, {}, prefetch);
    const data::BatchProducer produce = [](uint64_t step, std::span<const data::BatchView> batch) -> Result<void> {
      for (const data::BatchView& tensor : batch) std::memset(tensor.data.data(), 0, tensor.data.size());
      return step < 5 ? Result<void>() : fail("E0260", "no more");
    };
    const auto summary = run_training(*trained, {.produce = produce, .steps_per_epoch = 9}, {});
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code, "E0260");
    EXPECT_EQ(trained->steps_done(), 4U);
  }
}

TEST_F(RunTraining, InterruptedAtAnyStepItWritesACheckpointThatEndsTheSame) {
  const auto whole = trainer();
  ASSERT_TRUE(run_training(*whole, data(), {.epochs = 3}));
  ASSERT_TRUE(whole->save(path("whole")));
  for (uint64_t at = 1; at <= 21; at += 2) {
    std::stop_source stop;
    const auto first = run_training(*trainer(), data(),
                                    {.epochs = 3,
                                     .checkpoint = path("point"),
                                     .progress =
                                         [&](const FitProgress& progress) {
                                           if (progress.step == at) stop.request_stop();
                                         },
                                     .stop = stop.get_token()});
    ASSERT_TRUE(first) << to_text(first.error());
    EXPECT_TRUE(first->interrupted);
    EXPECT_FALSE(first->evaluation) << "of the parameters as they are now";
    EXPECT_EQ(first->steps, at);
    EXPECT_EQ(first->checkpoint, path("point"));
    const auto second = trainer({}, 1234);
    ASSERT_TRUE(second->resume(path("point")));
    const auto rest = run_training(*second, data(), {.epochs = 3});
    ASSERT_TRUE(rest);
    EXPECT_EQ(rest->ran, 21 - at);
    ASSERT_TRUE(second->save(path("resumed")));
    EXPECT_EQ(base::read_file(path("whole")).value(), base::read_file(path("resumed")).value()) << at;
  }
}

TEST_F(RunTraining, InterruptedInAnyEvaluationItEndsTheSame) {
  const JudgeOptions judge = {.patience = 9, .best = path("best")};
  const auto whole = trainer();
  int batches = 0;
  const auto all = run_training(*whole, data(), {.epochs = 3, .judge = judge, .on_evaluated = [&] { ++batches; }});
  ASSERT_TRUE(all && all->evaluation);
  ASSERT_TRUE(whole->save(path("whole")));
  ASSERT_GE(batches, 3);
  for (int at = 1; at <= batches; ++at) {
    std::stop_source stop;
    int seen = 0;
    const auto first = run_training(*trainer(), data(),
                                    {.epochs = 3,
                                     .checkpoint = path("point"),
                                     .judge = judge,
                                     .on_evaluated =
                                         [&] {
                                           if (++seen == at) stop.request_stop();
                                         },
                                     .stop = stop.get_token()});
    ASSERT_TRUE(first && first->interrupted);
    EXPECT_EQ(seen, at) << "no batch was evaluated after that";
    EXPECT_FALSE(first->evaluation);
    const auto second = trainer({}, 1234);
    ASSERT_TRUE(second->resume(path("point")));
    const auto rest = run_training(*second, data(), {.epochs = 3, .judge = judge});
    ASSERT_TRUE(rest && rest->evaluation);
    EXPECT_EQ(rest->evaluation->loss, all->evaluation->loss);
    EXPECT_EQ(second->best_so_far().best, whole->best_so_far().best);
    ASSERT_TRUE(second->save(path("resumed")));
    EXPECT_EQ(base::read_file(path("whole")).value(), base::read_file(path("resumed")).value()) << at;
  }
}

TEST_F(RunTraining, KeepsTheBestAndEndsWhenNothingBecomesBetter) {
  for (const bool by_accuracy : {false, true}) {
    const auto trained = trainer();
    trained->set_lr(0);
    const auto summary = run_training(
        *trained, data(), {.epochs = 9, .judge = {.by_accuracy = by_accuracy, .patience = 3, .best = path("best")}});
    ASSERT_TRUE(summary) << to_text(summary.error());
    EXPECT_TRUE(summary->stopped_early);
    EXPECT_EQ(summary->steps, 4 * 7U) << "the first epoch and three that are not better";
    EXPECT_EQ(weights::open_safetensors(path("best"))->metadata.at("step"), "7");
    EXPECT_EQ(trained->best_so_far().stale, 3U);
  }
}

TEST_F(RunTraining, KeepsEveryEpochThatIsBetter) {
  const auto trained = trainer();
  uint64_t best = 0;
  double least = HUGE_VAL;
  ASSERT_TRUE(run_training(*trained, data(300, 100),
                           {.epochs = 6, .judge = {.best = path("best")}, .log = [&](const RunEvent& event) {
                              const bool better = event.evaluation->loss < least;
                              EXPECT_EQ(event.best, better);
                              if (better) least = event.evaluation->loss, best = event.step;
                            }}));
  EXPECT_EQ(weights::open_safetensors(path("best"))->metadata.at("step"), std::to_string(best));
  EXPECT_EQ(trained->best_so_far().best, least);
}

TEST_F(RunTraining, NeedsATestSetToJudgeBy) {
  const auto summary = run_training(*trainer(), data(30, 0), {.judge = {.patience = 1}});
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().code, "E0262");
}

TEST_F(RunTraining, OutOfTimeItEvaluatesAndKeepsACheckpoint) {
  const auto summary =
      run_training(*trainer(), data(), {.epochs = 1'000'000'000, .checkpoint = path("point"), .max_seconds = 0.05});
  ASSERT_TRUE(summary);
  EXPECT_TRUE(summary->out_of_time);
  EXPECT_TRUE(summary->evaluation);
  EXPECT_EQ(summary->checkpoint, path("point"));
}

TEST_F(RunTraining, AnErrorNamesTheLastCheckpointAndLeavesItAlone) {
  data::TrainTest bad = data(8, 0);
  std::vector<float> pixels(48, 1.0F);
  pixels[47] = std::nanf("");
  bad.train.inputs[0] = samples(base::DType::kF32, {2, 3}, pixels);
  bool seen = false;
  for (uint64_t seed = 0; seed < 40 && !seen; ++seed) {  // until the bad sample is in the second batch
    const auto summary = run_training(*trainer({}, seed), bad, {.checkpoint_every = 1, .checkpoint = path("point")});
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code, "E0701");
    if (!std::filesystem::exists(path("point"))) continue;
    seen = true;
    EXPECT_THAT(to_text(summary.error()), HasSubstr("last checkpoint: " + path("point")));
    EXPECT_EQ(weights::open_safetensors(path("point"))->metadata.at("step"), "1");
  }
  EXPECT_TRUE(seen);
}

TEST_F(RunTraining, ACheckpointThatCannotBeWrittenIsAnError) {
  const auto summary = run_training(*trainer(), data(), {.checkpoint_every = 2, .checkpoint = path("no/point")});
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().code, "E0901");
}

// In a child: trains from the last checkpoint on, if there is one, and saves the end.
void train_in_child(Trainer& trainer, const data::TrainTest& data, const std::string& point, const std::string& end) {
  if (std::filesystem::exists(point) && !trainer.resume(point)) ::_exit(2);
  const timespec nap{0, 200'000};  // so that the run lasts long enough to be killed in its midst
  const auto slow = [&nap](const FitProgress&) { ::nanosleep(&nap, nullptr); };
  if (!run_training(
          trainer, data,
          {.epochs = 20, .checkpoint_every = 3, .checkpoint = point, .progress = slow}))
    ::_exit(3);
  ::_exit(trainer.save(end) ? 0 : 4);
}

TEST_F(RunTraining, KilledAtAnyTimeAndResumedItEndsTheSame) {
  const data::TrainTest all = data(30, 0);
  auto whole = trainer();
  ASSERT_TRUE(run_training(*whole, all, {.epochs = 20}));
  ASSERT_TRUE(whole->save(path("whole")));
  whole.reset();  // and its threads: a process with threads should not fork
  uint32_t random = 12345;
  long window = 20'000'000;  // ns; longer where a slow machine comes to no checkpoint in it
  int kills = 0, resumed = 0, status = 0;
  for (int round = 0; round < 2; ++round) {
    std::filesystem::remove(path("point"));
    for (bool ended = false; !ended;) {
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        const auto made = trainer({.in_storage = round == 1});
        train_in_child(*made, all, path("point"), path("end"));
      }
      random = random * 1664525U + 1013904223U;
      const timespec nap{0, static_cast<long>(random) % window};
      if (kills < 25 * (round + 1)) {
        ::nanosleep(&nap, nullptr);
        ::kill(child, SIGKILL);
        ++kills;
        const bool saved = std::filesystem::exists(path("point"));
        resumed += saved ? 1 : 0;
        if (!saved) window = std::min(window + window / 4, 900'000'000L);
      }
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      ended = WIFEXITED(status);
    }
    ASSERT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(base::read_file(path("whole")).value(), base::read_file(path("end")).value());
  }
  EXPECT_GT(resumed, 0) << "of " << kills;  // some kill came between two checkpoints
}

}  // namespace
}  // namespace pantoum::train
