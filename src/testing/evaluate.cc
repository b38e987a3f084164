#include "testing/evaluate.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/op_registry.h"

namespace pantoum::ir {
namespace {

using Contents = std::vector<std::byte>;

Result<Contents> initial_value(const Value& value, const Feeds& feeds, ValueId id) {
  const auto wanted = static_cast<size_t>(value.type.bytes());
  const auto fed = feeds.find(id);
  if (fed != feeds.end() || value.data) {
    Contents given = fed != feeds.end() ? fed->second : value.data.copy();
    if (given.size() == wanted) return given;
    return fail("E0212", fmt::format("{} bytes given for {}", given.size(), to_text(value.type)), value.name);
  }
  if (value.role == Role::kInput || value.role == Role::kLabel)
    return fail("E0212", "an input has no contents", value.name);
  return Contents(wanted, std::byte{0});
}

struct Operands {
  std::vector<pt_tensor> inputs, outputs;
};

// Copies the overwritten inputs into their outputs and lets the kernel see the same bytes twice.
void share_in_place(const Graph& graph, const Op& op, const Evaluated& state, int first, Operands& operands) {
  std::vector<std::pair<int, int>> pairs = in_place_pairs(graph, op);
  if (pairs.empty()) return;
  std::rotate(pairs.begin(), pairs.begin() + first % static_cast<int>(pairs.size()), pairs.end());
  std::vector<char> written(op.outputs.size(), 0), overwritten(op.inputs.size(), 0);
  for (const auto& [output, input] : pairs) {
    const auto to = static_cast<size_t>(output), from = static_cast<size_t>(input);
    if (written[to] || overwritten[from]) continue;
    written[to] = overwritten[from] = 1;
    const Contents& bytes = state.bytes[static_cast<size_t>(op.inputs[from])];
    if (!bytes.empty()) std::memcpy(operands.outputs[to].data, bytes.data(), bytes.size());
    for (size_t position = 0; position < op.inputs.size(); ++position)  // the tensor may stand at several
      if (op.inputs[position] == op.inputs[from]) operands.inputs[position].data = operands.outputs[to].data;
  }
}

Operands operands_of(const Graph& graph, const Op& op, Evaluated& state, int in_place) {
  Operands operands;
  for (const ValueId input : op.inputs) {
    operands.inputs.push_back(tensor_of(graph.value(input).type, state.bytes[static_cast<size_t>(input)].data()));
  }
  for (const ValueId output : op.outputs) {
    Contents& bytes = state.bytes[static_cast<size_t>(output)];
    bytes.assign(static_cast<size_t>(graph.value(output).type.bytes()), std::byte{0});
    operands.outputs.push_back(tensor_of(graph.value(output).type, bytes.data()));
  }
  if (in_place != kNone) share_in_place(graph, op, state, in_place, operands);
  return operands;
}

pt_call call_of(const Op& op, const Operands& operands, const pt_scalars& scalars) {
  pt_call call{};
  call.inputs = operands.inputs.data();
  call.outputs = operands.outputs.data();
  call.input_count = static_cast<uint16_t>(operands.inputs.size());
  call.output_count = static_cast<uint16_t>(operands.outputs.size());
  call.ints = op.attrs.ints.data();
  call.reals = op.attrs.reals.data();
  call.int_count = static_cast<uint16_t>(op.attrs.ints.size());
  call.real_count = static_cast<uint16_t>(op.attrs.reals.size());
  call.scalars = &scalars;
  return call;
}

Result<void> run_kernel(const Op& op, const pt_kernel& kernel, const Operands& operands, const pt_scalars& scalars) {
  pt_call call = call_of(op, operands, scalars);
  std::vector<std::max_align_t> workspace;
  if (kernel.workspace_bytes != nullptr) {
    workspace.resize(kernel.workspace_bytes(&call) / sizeof(std::max_align_t) + 1);
    call.workspace = workspace.data();
  }
  pt_status status = kernel.submit(&call);
  if (status == PT_OK && kernel.wait != nullptr) status = kernel.wait(&call);
  if (status == PT_OK) return {};
  return fail("E0905", fmt::format("the kernel of {} failed with status {}", name_of(op.kind), int{status}), op.name);
}

}  // namespace

pt_tensor tensor_of(const TensorType& type, void* data) {
  pt_tensor tensor{};
  tensor.data = data;
  tensor.rank = static_cast<uint8_t>(type.shape.size());
  tensor.dtype = static_cast<uint8_t>(type.dtype);
  for (size_t d = 0; d < type.shape.size() && d < PT_MAX_RANK; ++d)
    tensor.dims[d] = static_cast<uint32_t>(type.shape[d]);
  return tensor;
}

const pt_kernel* kernel_of(const Graph& graph, const Op& op, const pt_kernel_table& kernels, uint16_t algorithm) {
  const ValueId key = op.kind == Kind::k_count_correct ? op.inputs[0] : op.outputs[0];
  return pt_kernel_find(&kernels, static_cast<uint16_t>(op.kind), static_cast<uint8_t>(graph.value(key).type.dtype),
                        algorithm, 0);
}

Result<Evaluated> evaluate(const Graph& graph, const pt_kernel_table& kernels, const Feeds& feeds,
                           const EvaluateOptions& options) {
  Evaluated state;
  state.bytes.resize(graph.values.size());
  for (size_t id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    if (value.role == Role::kActivation) continue;
    PANTOUM_ASSIGN(state.bytes[id], initial_value(value, feeds, static_cast<ValueId>(id)));
  }
  for (size_t id = 0; id < graph.ops.size(); ++id) {
    const Op& op = graph.ops[id];
    if (op.kind == Kind::k_alias) {
      state.bytes[static_cast<size_t>(op.outputs[0])] = state.bytes[static_cast<size_t>(op.inputs[0])];
      continue;
    }
    const uint16_t algorithm = id < options.algorithms.size() ? options.algorithms[id] : uint16_t{0};
    const pt_kernel* kernel = kernel_of(graph, op, kernels, algorithm);
    if (kernel == nullptr) return fail("E0404", fmt::format("no kernel computes {}", name_of(op.kind)), op.name);
    const Operands operands = operands_of(graph, op, state, options.in_place);
    PANTOUM_TRY(run_kernel(op, *kernel, operands, options.scalars));
  }
  return state;
}

}  // namespace pantoum::ir
