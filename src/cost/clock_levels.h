// Clock levels: a device that may compute fast or thrifty has each of its ways to run an op once per level.
//
// Bits do not depend on a clock: a level is a choice of the same class of numerics, called ALGORITHM@LEVEL, with other
// seconds and joules. Which is best is the planner's question, for energy_j = own joules + idle_w x makespan:
//
//   watts |  fast  ____                 with idle_w > 0, what is done early stops the idle watts of the whole step
//         |       |    |..idle..        sooner (race to idle); with idle_w = 0, or behind a transfer that is waited
//         |       |    |_________       for anyway, the level with the least joules of its own wins
//         +-----------------------> s
//
// What it takes to change the clock is not modelled, nor is the level put into effect by the runtime: a plan names it.
#pragma once

#include <vector>

#include "cost/device.h"
#include "cost/roofline.h"

namespace pantoum::cost {

// The rates at a level. An op's overhead is instructions: it scales as flops do.
[[nodiscard]] Compute at_level(const Compute& compute, const ClockLevel& level);

// `choice` once per level, the fastest first, without the levels that another one dominates (no slower, and no joule
// more). Seconds scale as the model's for `work` do, so that a kernel's slowdown stays. As it is where there are no levels.
[[nodiscard]] std::vector<problem::Choice> at_clock_levels(const problem::Choice& choice, const Work& work,
                                                           const DeviceProfile& device);

}  // namespace pantoum::cost
