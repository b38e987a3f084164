// The analytic cost model: seconds and joules of an op from its flops and bytes, and the device's rates.
//
//   compute = flops / (flops_per_s x filled)      filled: the share of its vectors' lanes that the op fills
//   memory  = bytes / rate                        rate: of the smallest cache that holds all operands, else of RAM
//   seconds = (sum: compute + memory | max: the larger of them) + op_overhead_s
//
// `sum` is right where a core waits for its loads (microcontrollers), `max` where loads run ahead. docs/costs.md has it for users.
#pragma once

#include "cost/device.h"
#include "ir/graph.h"
#include "pantoum/pantoum.h"

namespace pantoum::cost {

// What an op does, whatever the device.
struct Work {
  double flops = 0;
  double bytes = 0;       // read and written
  double footprint = 0;   // bytes of operands and workspace, which must fit into a cache together
  double elements = 0;    // of the largest operand; 0: not known, and all lanes count as filled
  int element_bytes = 4;  // of the type in which it computes
};

// The work of `op` as `kernel` does it (algorithm_cost.h); null: as the op's definition says.
[[nodiscard]] Work work_of(const ir::Graph& graph, const ir::Op& op, Bytes workspace,
                           const pt_kernel* kernel = nullptr);
[[nodiscard]] Seconds modelled_seconds(const Compute& compute, const Work& work);
// The joules of an op that takes `seconds`, which may be measured, or those of a slower kernel.
[[nodiscard]] double modelled_joules(const Compute& compute, const Work& work, Seconds seconds);

}  // namespace pantoum::cost
