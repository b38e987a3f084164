// The learning rate over a training: a factor that depends on the step and the number of steps alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/schedule.h"

namespace pantoum::train {

using Extent = pt_extent;  // a number of steps, or a share of all of them

// Warm-up, then a decay that counts its steps from the warm-up's end, as torch.optim.lr_scheduler.SequentialLR chains
// LinearLR with StepLR, MultiStepLR, ExponentialLR, CosineAnnealingLR, CosineAnnealingWarmRestarts or LinearLR.
struct Schedule {
  enum class Decay : uint8_t {
    kConstant = PT_DECAY_CONSTANT,
    kStep = PT_DECAY_STEP,
    kMultiStep = PT_DECAY_MULTI_STEP,
    kExponential = PT_DECAY_EXPONENTIAL,
    kCosine = PT_DECAY_COSINE,
    kLinear = PT_DECAY_LINEAR
  };
  Decay decay = Decay::kConstant;
  Extent warmup = {};      // the rate rises in equal parts, and is whole at its last step
  double gamma = 0.1;      // step, multi_step, exponential: the factor
  Extent every = {};       // step: number of steps between two changes; cosine: of a wave; linear: of the fall; 0: all
  std::vector<Extent> at;  // multi_step: the steps where the rate changes
  double to = 0;           // cosine, linear: the rate at the end
  std::vector<double> rates;  // multi_step: the rate from each of `at` on; none: gamma times the rate before
};

// "cosine,to=1e-5,warmup=5%": a name and its settings. E0115 a name or setting that is not known, or missing; E0116 a
// number out of range. `where`: the option that the text belongs to.
[[nodiscard]] Result<Schedule> parse_schedule(const std::string& text, const std::string& where);
// The text from which parse_schedule reads the same schedule.
[[nodiscard]] std::string to_text(const Schedule& schedule);

// The schedule as the runtime has it. It points into `schedule`, which outlives it.
[[nodiscard]] pt_schedule runtime_schedule(const Schedule& schedule);

// The rate of step `step` (0 for the first) of `total`. The same bits on every machine.
[[nodiscard]] double rate_at(const Schedule& schedule, double lr, uint64_t step, uint64_t total);

}  // namespace pantoum::train
