// What a step may take, as users word it: --deadline, --at-most, --finish-within.
#pragma once

#include <string>
#include <vector>

#include "cli/line/options.h"
#include "pipeline/request.h"

namespace pantoum::cli {

struct LimitWords {
  std::string deadline, finish_within;
  std::vector<std::string> at_most;  // energy=3.2J, time=450ms
};

void add_limit_options(Verb& verb, LimitWords& words);

// E0111, E0121 a quantity without its unit; E0115 a limit on something else.
[[nodiscard]] Result<void> set_limits(const LimitWords& words, pipeline::PlanRequest& request);

// How long the training is, for --finish-within.
void add_length_options(Verb& verb, pipeline::TrainingLength& length);

}  // namespace pantoum::cli
