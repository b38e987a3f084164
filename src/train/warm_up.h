// Everything that kernels make lazily, made before a run is measured.
#pragma once

#include "pantoum/pantoum.h"

namespace pantoum::train {

// Lets every kernel of a fast back end that the plan uses prepare for its shapes, and run once on zeros in memory that
// is given back afterwards (as much as the largest op's operands and workspace), so that its code, threads and tables
// are in RAM. Portable kernels need none of it. PT_E_KERNEL a kernel is missing, or does not compute its shapes;
// PT_E_PLAN a workspace is too small; PT_E_FULL the system gives no memory.
[[nodiscard]] pt_status warm_up(const pt_plan& plan, const pt_kernel_table& kernels, const pt_pool* pool);

}  // namespace pantoum::train
