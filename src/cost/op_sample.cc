#include "cost/op_sample.h"

#include <fmt/format.h>

#include "ir/op_registry.h"

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

}  // namespace

OpKey op_key(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel, uint32_t threads,
             const std::string& machine) {
  return {.machine = machine,
          .op = ir::name_of(op.kind),
          .algorithm = kernel.algorithm_name,
          .operands = shapes(graph, op.inputs) + "->" + shapes(graph, op.outputs),
          .attributes = fmt::format("{}|{}", fmt::join(op.attrs.ints, ","), fmt::join(op.attrs.reals, ",")),
          .threads = static_cast<int>(threads)};
}

std::string text_of(const OpKey& key) {
  return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}", key.machine, key.engine, key.op, key.algorithm,
                     key.operands, key.attributes, key.threads);
}

}  // namespace pantoum::cost
