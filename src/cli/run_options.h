// How a training runs, as users word it: the schedule of the learning rate, early stop, the best weights.
#pragma once

#include <string>

#include "autodiff/autodiff.h"
#include "cli/line/options.h"
#include "train/run_loop.h"
#include "train/schedule.h"

namespace pantoum::cli {

struct ScheduleWords {
  std::string schedule = "constant", warmup;
};

struct RunWords {
  ScheduleWords rate;
  std::string keep_best, judge = "loss";
  int64_t early_stop = 0;  // 0: never
};

void add_schedule_options(Verb& verb, ScheduleWords& words);
void add_run_options(Verb& verb, RunWords& words);

// E0115, E0116 as parse_schedule; E0117 a warm-up that stands twice.
[[nodiscard]] Result<train::Schedule> schedule_of(const ScheduleWords& words);
// E0117 epochs cannot be judged by an accuracy that no output has.
[[nodiscard]] Result<void> check_judge(const RunWords& words, const autodiff::TrainingOptions& training);
[[nodiscard]] train::JudgeOptions judge_of(const RunWords& words);

}  // namespace pantoum::cli
