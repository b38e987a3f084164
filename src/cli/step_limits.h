// What a step may take, as users word it: --deadline, --at-most, --finish-within.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "pipeline/pipeline.h"

namespace pantoum::cli {

struct LimitWords {
  std::string deadline, finish_within;
  std::vector<std::string> at_most;  // energy=3.2J, time=450ms
};

void add_limit_options(Verb& verb, LimitWords& words);

// --deadline and --at-most. E0111, E0121 a quantity without its unit; E0115 a limit on something else.
[[nodiscard]] Result<void> set_limits(const LimitWords& words, pipeline::PlanRequest& request);

// How long a training is.
struct TrainingLength {
  int64_t steps = 0;                // 0: from the others
  int64_t epochs = 0, samples = 0;  // an epoch drops its short last batch
};

void add_length_options(Verb& verb, TrainingLength& length);

// --finish-within: an equal part of it is every step's deadline; evaluations come on top. `batch`: samples of a step, 0
// where it is not known. E0122 the number of steps is not known, or 0.
[[nodiscard]] Result<void> set_finish_within(const LimitWords& words, const TrainingLength& length, int64_t batch,
                                             pipeline::PlanRequest& request);

}  // namespace pantoum::cli
