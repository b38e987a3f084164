// Clock levels: a device that can compute fast or with little power offers each way to run an op once for each level.
//
// Bits do not depend on the clock: a level is a choice ALGORITHM@LEVEL of the same class of numerics, with other seconds and
// joules. The planner chooses among the levels, by energy_j = own joules + idle_w x makespan:
//
//   watts |  fast  ____                 with idle_w > 0, what is done early stops the idle watts of the whole step
//         |       |    |..idle..        sooner (race to idle); with idle_w = 0, or behind a transfer that is waited
//         |       |    |_________       for anyway, the level with the least joules of its own wins
//         +-----------------------> s
//
// The cost of changing the clock is not modelled. The plan names the level; the runtime does not set it.
#pragma once

#include <vector>

#include "cost/device.h"
#include "cost/roofline.h"

namespace pantoum::cost {

// The rates at a level. The overhead of an op consists of instructions, so it scales as flops do.
[[nodiscard]] Compute at_level(const Compute& compute, const ClockLevel& level);

// The choice once for each level, the fastest first, without levels that another one dominates (no slower, no more joules). Seconds
// scale as the model's for `work` do, so that a kernel's slowdown stays. Without levels: the choice alone, unchanged.
[[nodiscard]] std::vector<problem::Choice> at_clock_levels(const problem::Choice& choice, const Work& work,
                                                           const DeviceProfile& device);

}  // namespace pantoum::cost
