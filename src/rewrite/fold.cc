#include "rewrite/fold.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "pantoum/pantoum.h"
#include "rewrite/edit.h"

namespace pantoum::rewrite {
namespace {

using ir::Graph;
using ir::Kind;
using ir::kNone;
using ir::Op;
using ir::OpId;
using ir::ValueId;
using Contents = std::vector<std::byte>;

constexpr ir::Bytes kMostBytes = ir::Bytes{1} << 30;  // of one constant

pt_tensor seen_by_kernel(const ir::TensorType& type, void* data) {
  pt_tensor tensor{};
  tensor.data = data;
  tensor.rank = static_cast<uint8_t>(type.shape.size());
  tensor.dtype = static_cast<uint8_t>(type.dtype);
  for (size_t d = 0; d < type.shape.size() && d < PT_MAX_RANK; ++d)
    tensor.dims[d] = static_cast<uint32_t>(type.shape[d]);
  return tensor;
}

Contents contents_of(const ir::Value& value) {
  if (value.data) return *value.data;
  return Contents(static_cast<size_t>(value.type.bytes()), std::byte{0});
}

// Runs the reference kernel; false: there is none, or it failed.
bool run(const Graph& graph, const Op& op, std::vector<Contents>& inputs, std::vector<Contents>& outputs) {
  const auto dtype = static_cast<uint8_t>(graph.value(op.outputs[0]).type.dtype);
  const pt_kernel* kernel = pt_kernel_find(pt_portable_kernels(), static_cast<uint16_t>(op.kind), dtype, 0, 0);
  if (kernel == nullptr) return false;
  std::vector<pt_tensor> in, out;
  for (size_t input = 0; input < inputs.size(); ++input)
    in.push_back(seen_by_kernel(graph.value(op.inputs[input]).type, inputs[input].data()));
  for (size_t output = 0; output < outputs.size(); ++output)
    out.push_back(seen_by_kernel(graph.value(op.outputs[output]).type, outputs[output].data()));
  const pt_scalars scalars{1, 0, 0};
  pt_call call{};
  call.inputs = in.data();
  call.outputs = out.data();
  call.input_count = static_cast<uint16_t>(in.size());
  call.output_count = static_cast<uint16_t>(out.size());
  call.ints = op.attrs.ints.data();
  call.reals = op.attrs.reals.data();
  call.int_count = static_cast<uint16_t>(op.attrs.ints.size());
  call.real_count = static_cast<uint16_t>(op.attrs.reals.size());
  call.scalars = &scalars;
  std::vector<std::max_align_t> workspace;
  if (kernel->workspace_bytes != nullptr) {
    workspace.resize(kernel->workspace_bytes(&call) / sizeof(std::max_align_t) + 1);
    call.workspace = workspace.data();
  }
  pt_status status = kernel->submit(&call);
  if (status == PT_OK && kernel->wait != nullptr) status = kernel->wait(&call);
  return status == PT_OK;
}

}  // namespace

bool fold_op(Graph& graph, OpId id, bool parameters_too) {
  const Op& op = graph.op(id);
  if (!is_ordinary(op) || op.inputs.empty() || op.outputs.empty()) return false;
  for (const ValueId input : op.inputs)
    if (!is_constant(graph, input, parameters_too)) return false;
  for (const ValueId output : op.outputs)
    if (graph.value(output).type.bytes() > kMostBytes || is_kept(graph, output)) return false;
  std::vector<Contents> inputs, outputs;
  for (const ValueId input : op.inputs) inputs.push_back(contents_of(graph.value(input)));
  for (const ValueId output : op.outputs)
    outputs.emplace_back(static_cast<size_t>(graph.value(output).type.bytes()), std::byte{0});
  if (op.kind == Kind::k_alias) {
    outputs[0] = std::move(inputs[0]);
  } else if (!run(graph, op, inputs, outputs)) {
    return false;
  }
  for (size_t output = 0; output < outputs.size(); ++output) {
    ir::Value& value = graph.value(op.outputs[output]);
    value.role = ir::Role::kConstant;
    value.producer = kNone;
    value.data = std::make_shared<const Contents>(std::move(outputs[output]));
  }
  graph.ops[static_cast<size_t>(id)].inputs.clear();
  graph.ops[static_cast<size_t>(id)].outputs.clear();
  return true;
}

void fold_new_ops(Graph& graph, ValueId first, bool parameters_too) {
  for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
    const auto& outputs = graph.op(op).outputs;
    const bool is_new = !outputs.empty() &&
                        std::all_of(outputs.begin(), outputs.end(), [first](ValueId value) { return value >= first; });
    if (is_new) static_cast<void>(fold_op(graph, op, parameters_too));
  }
  ir::drop_dead_ops(graph);
}

}  // namespace pantoum::rewrite
