#include "cost/roofline.h"

#include <algorithm>
#include <cmath>

#include "cost/algorithm_cost.h"
#include "ir/op_registry.h"

namespace pantoum::cost {
namespace {

// Lanes are those of 4-byte numbers: wider ones have fewer, narrower ones are computed as wide as those.
double filled_share(const Compute& compute, const Work& work) {
  if (compute.vector_lanes <= 1 || work.elements <= 0) return 1;
  const double all = compute.vector_lanes;
  const double lanes = std::max(1.0, all * 4 / std::max(4, work.element_bytes));
  return work.elements / (std::ceil(work.elements / lanes) * all);
}

double stream_rate(const Compute& compute, double footprint) {
  for (const CacheLevel& cache : compute.caches)
    if (footprint <= static_cast<double>(cache.bytes)) return cache.bytes_per_s;
  return compute.bytes_per_s;
}

}  // namespace

Work work_of(const ir::Graph& graph, const ir::Op& op, Bytes workspace, const pt_kernel* kernel) {
  const ir::OpCost cost = kernel != nullptr ? algorithm_cost(graph, op, *kernel) : ir::cost_of(graph, op);
  Work work{.flops = cost.flops, .bytes = static_cast<double>(cost.bytes_read + cost.bytes_written)};
  double operands = static_cast<double>(workspace);
  const auto add = [&](ir::ValueId id) {
    const ir::TensorType& type = graph.value(id).type;
    operands += static_cast<double>(type.bytes());
    work.elements = std::max(work.elements, static_cast<double>(type.elements()));
  };
  std::for_each(op.inputs.begin(), op.inputs.end(), add);
  std::for_each(op.outputs.begin(), op.outputs.end(), add);
  work.footprint = operands;
  if (!op.outputs.empty()) work.element_bytes = static_cast<int>(size_of(graph.value(op.outputs[0]).type.dtype));
  return work;
}

Seconds modelled_seconds(const Compute& compute, const Work& work) {
  const Seconds computing = work.flops / compute.flops_per_s / filled_share(compute, work);
  const double rate = stream_rate(compute, work.footprint);
  if (rate <= 0) return computing + compute.op_overhead_s;
  const Seconds moving = work.bytes / rate;
  if (compute.roofline == Roofline::kMax) return std::max(computing, moving) + compute.op_overhead_s;
  return computing + compute.op_overhead_s + moving;
}

double modelled_joules(const Compute& compute, const Work& work, Seconds seconds) {
  if (compute.active_w > 0) return seconds * compute.active_w;
  return work.flops * compute.joules_per_flop + work.bytes * compute.joules_per_byte;
}

}  // namespace pantoum::cost
