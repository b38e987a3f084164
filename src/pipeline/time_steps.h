// How long the steps of a plan take on this machine, on made-up numbers.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "pipeline/pipeline.h"

namespace pantoum::pipeline {

struct TimingRequest {
  int steps = 20;         // after two that warm up
  std::string page_file;  // as train::TrainerOptions has it
  bool encrypt = true;
  std::stop_token stop = {};                        // fewer steps, but one
  std::function<bool()> next = {};                  // if not empty, asked before each step that counts: false ends them
  std::function<void(problem::Seconds)> done = {};  // if not empty, told of each step that counts
};

struct StepTimes {
  std::vector<problem::Seconds> seconds;  // of every step, in order
  problem::Seconds median_s = 0, least_s = 0;
  problem::Bytes resident_bytes = 0;  // the process's peak while they ran
};

// Runs the first program of a planned model as training would (the same kernels, threads and page file), with the
// model's own contents as parameters, numbers in (0, 1] or zeros (indices, labels) as its inputs, and a learning rate of
// 0, so that every step is alike. E0105 the plan is of another device; E0251, E0410, E090x as train::Trainer::create; E0119
// `next` wanted no step.
[[nodiscard]] Result<StepTimes> time_steps(const Compiled& compiled, const TimingRequest& request);

}  // namespace pantoum::pipeline
