// Everything that kernels need beside their operands, in RAM before a run is measured.
#pragma once

#include "pantoum/pantoum.h"

namespace pantoum::host {

// Runs every op of the plan once on zeros, in memory that is given back afterwards (as much as the largest op's
// operands and workspace): what a back end makes for an op's shapes, the kernels' code and the threads' stacks are in
// RAM then. Costs about the time of a step of each program. PT_E_KERNEL a kernel is missing, or does not compute its
// shapes; PT_E_PLAN a workspace is too small; PT_E_FULL the system gives no memory.
[[nodiscard]] pt_status preload(const pt_plan& plan, const pt_kernel_table& kernels, const pt_pool* pool);

}  // namespace pantoum::host
