#include "cost/op_sample.h"

#include <fmt/format.h>

#include "ir/op_registry.h"
#include "kernels/portable/update_group.h"

namespace pantoum::cost {
namespace {

std::string shapes(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  std::string text;
  for (const ir::ValueId value : values) {
    const ir::TensorType& type = graph.value(value).type;
    text += fmt::format("{}{}[{}]", text.empty() ? "" : " ", ir::name_of(type.dtype), fmt::join(type.shape, ","));
  }
  return text;
}

// Which group a parameter is in changes no time.
std::vector<int64_t> timed_ints(const ir::Op& op) {
  std::vector<int64_t> ints = op.attrs.ints;
  const int place = pt_group_place(static_cast<int64_t>(op.kind));
  if (place >= 0 && ints.size() > static_cast<size_t>(place)) ints.resize(static_cast<size_t>(place));
  return ints;
}

}  // namespace

OpKey op_key(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel, uint32_t threads,
             const std::string& machine) {
  return {.machine = machine,
          .op = ir::name_of(op.kind),
          .algorithm = kernel.algorithm_name,
          .operands = shapes(graph, op.inputs) + "->" + shapes(graph, op.outputs),
          .attributes = fmt::format("{}|{}", fmt::join(timed_ints(op), ","), fmt::join(op.attrs.reals, ",")),
          .threads = static_cast<int>(threads)};
}

std::string text_of(const OpKey& key) {
  return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}", key.machine, key.engine, key.op, key.algorithm,
                     key.operands, key.attributes, key.threads);
}

}  // namespace pantoum::cost
