#include "cli/run_options.h"

#include <algorithm>

namespace pantoum::cli {

void add_schedule_options(Verb& verb, ScheduleWords& words) {
  verb.add_option("--schedule", words.schedule,
                  "of the learning rate: constant; step,every=N[,gamma=G]; multi_step,at=N:N..[,gamma=G]; "
                  "exponential,gamma=G; cosine[,to=LR]; linear[,to=LR]; N is a number of steps, or 30% of all");
  verb.add_option("--warmup", words.warmup, "steps (or 5% of all) in which the learning rate rises before that");
}

void add_run_options(Verb& verb, RunWords& words) {
  add_schedule_options(verb, words.rate);
  verb.add_option("--early-stop", words.early_stop, "end after so many epochs without a better evaluation").steps();
  verb.add_option("--keep-best", words.keep_best, "keep a checkpoint of the best evaluation so far here");
  verb.add_option("--judge", words.judge, "what is better: a lower loss or a higher accuracy")
      .one_of({"loss", "accuracy"});
}

Result<train::Schedule> schedule_of(const ScheduleWords& words) {
  if (words.warmup.empty()) return train::parse_schedule(words.schedule, "--schedule");
  if (words.schedule.find(",warmup=") != std::string::npos)
    return fail("E0117", "the warm-up stands twice", "--warmup", "leave it out of --schedule");
  PANTOUM_TRY(train::parse_schedule(words.schedule, "--schedule"));
  return train::parse_schedule(words.schedule + ",warmup=" + words.warmup, "--warmup");
}

Result<void> check_judge(const RunWords& words, const autodiff::TrainingOptions& training) {
  const auto labelled = [](const autodiff::LossTerm& term) { return autodiff::has_labels(term.loss); };
  if (words.judge != "accuracy" || std::any_of(training.losses.begin(), training.losses.end(), labelled)) return {};
  return fail("E0117", "no output has classes as labels, so that there is no accuracy", "--judge", "judge by the loss");
}

train::JudgeOptions judge_of(const RunWords& words) {
  return {.by_accuracy = words.judge == "accuracy",
          .patience = static_cast<uint64_t>(words.early_stop),
          .best = words.keep_best};
}

}  // namespace pantoum::cli
